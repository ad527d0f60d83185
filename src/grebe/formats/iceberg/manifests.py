"""The files that are live at a snapshot: data files, and the delete files that apply to them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grebe.formats.files import Files, torn
from grebe.formats.iceberg.avro import records
from grebe.formats.iceberg.metadata import EMPTY, IcebergSnapshot, TableMetadata

DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
_REMOVED = 2
_PATH_FIELD = 2147483546
"""The id of the column that names the data file inside a position delete file."""

PartitionKey = tuple[int, str]


@dataclass(frozen=True, slots=True)
class DataFile:
    """One live data file, as its manifest describes it."""

    path: str
    format: str
    spec_id: int
    partition: Mapping[int, Any]
    records: int
    size: int
    sequence: int
    column_sizes: Mapping[int, int]
    encrypted: bool
    nulls: Mapping[int, int] = field(default_factory=dict)
    lower: Mapping[int, bytes] = field(default_factory=dict)
    upper: Mapping[int, bytes] = field(default_factory=dict)

    @property
    def partition_key(self) -> PartitionKey:
        """Spec and values as text: equal for equal partitions, NaN included."""
        return self.spec_id, repr(sorted(self.partition.items()))


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """One live delete file; a deletion vector is a stretch of bytes inside one."""

    content: int
    path: str
    format: str
    partition_key: PartitionKey
    records: int
    size: int
    sequence: int
    referenced: str | None
    offset: int | None
    length: int | None
    encrypted: bool

    @property
    def is_vector(self) -> bool:
        """Whether this is a deletion vector."""
        return self.offset is not None

    @property
    def key(self) -> tuple[str, int]:
        """What identifies the deletes: the file, and the place in it."""
        return self.path, self.offset or 0


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """Everything that is live at one snapshot."""

    data: tuple[DataFile, ...] = ()
    deletes: tuple[DeleteFile, ...] = ()
    _by_path: dict[str, list[DeleteFile]] = field(default_factory=dict)
    _by_partition: dict[PartitionKey, list[DeleteFile]] = field(default_factory=dict)

    @staticmethod
    def of(data: Sequence[DataFile], deletes: Sequence[DeleteFile]) -> LiveFiles:
        """The live files with their deletes sorted by what they apply to."""
        live = LiveFiles(tuple(data), tuple(deletes))
        for delete in deletes:
            if delete.referenced is not None:
                live._by_path.setdefault(delete.referenced, []).append(delete)
            else:
                live._by_partition.setdefault(delete.partition_key, []).append(delete)
        return live

    @property
    def has_equality_deletes(self) -> bool:
        """Whether some deletes name values and not positions."""
        return any(delete.content == EQUALITY_DELETES for delete in self.deletes)

    def deletes_of(self, file: DataFile) -> tuple[DeleteFile, ...]:
        """The position deletes that may hold positions of a data file.

        Deletes apply to files that are not newer than they are. A deletion vector holds all of a
        file's deletes, so older position delete files no longer count.
        """
        own = [d for d in self._by_path.get(file.path, ()) if d.sequence >= file.sequence]
        vectors = tuple(delete for delete in own if delete.is_vector)
        if vectors:
            return vectors
        wide = self._by_partition.get(file.partition_key, ()) if self._by_partition else ()
        own += [d for d in wide if d.sequence >= file.sequence and d.content == POSITION_DELETES]
        return tuple(own)

    def rows(self) -> int | None:
        """The number of rows when metadata alone gives it exactly, else None.

        A vector's cardinality is exact; the count of a position delete file may hold positions
        twice, or of files that are long gone.
        """
        total = sum(file.records for file in self.data)
        if not self.deletes:
            return total
        for file in self.data:
            found = self.deletes_of(file)
            if not all(delete.is_vector for delete in found):
                return None
            total -= sum(delete.records for delete in found)
        return None if self.has_equality_deletes else total


_LIST_FIELDS = frozenset(
    {
        "manifest_path",
        "manifest_length",
        "partition_spec_id",
        "sequence_number",
        "added_files_count",
        "existing_files_count",
        "content",
    }
)
_ENTRY_FIELDS = frozenset(
    {
        "status",
        "sequence_number",
        "data_file",
        "content",
        "file_path",
        "file_format",
        "partition",
        "record_count",
        "file_size_in_bytes",
        "column_sizes",
        "null_value_counts",
        "lower_bounds",
        "upper_bounds",
        "key_metadata",
        "referenced_data_file",
        "content_offset",
        "content_size_in_bytes",
    }
)


@dataclass(frozen=True, slots=True)
class _Manifest:
    path: str
    length: int
    spec_id: int
    sequence: int
    live: int | None


Entry = DataFile | DeleteFile


class Manifests:
    """Live files of snapshots; what was parsed once is kept, since these files never change."""

    def __init__(self, files: Files, keep: int = 2000) -> None:
        self._files = files
        self._keep = keep
        self._entries: OrderedDict[str, tuple[Entry, ...]] = OrderedDict()
        self._lists: OrderedDict[int, tuple[_Manifest, ...]] = OrderedDict()

    def live(self, table: TableMetadata, snapshot_ids: Iterable[int]) -> dict[int, LiveFiles]:
        """The live files of each snapshot, read in as few round trips as there are levels."""
        wanted = list(dict.fromkeys(snapshot_ids))
        snapshots = [table.snapshots[number] for number in wanted if number != EMPTY]
        self._load_lists(snapshots)
        self._load_entries([m for s in snapshots for m in self._lists[s.id]])
        states = {number: self._state(number) for number in wanted if number != EMPTY}
        self._forget()
        return states | ({EMPTY: LiveFiles()} if EMPTY in wanted else {})

    def _state(self, snapshot_id: int) -> LiveFiles:
        data: list[DataFile] = []
        deletes: list[DeleteFile] = []
        for manifest in self._lists[snapshot_id]:
            for entry in self._entries[manifest.path]:
                if isinstance(entry, DataFile):
                    data.append(entry)
                else:
                    deletes.append(entry)
        return LiveFiles.of(data, deletes)

    def _load_lists(self, snapshots: Sequence[IcebergSnapshot]) -> None:
        missing = [snapshot for snapshot in snapshots if snapshot.id not in self._lists]
        paths = [snapshot.manifest_list for snapshot in missing if snapshot.manifest_list]
        found = dict(zip(paths, self._files.read(paths), strict=True))
        for snapshot in missing:
            path = snapshot.manifest_list
            if path:
                self._lists[snapshot.id] = _parse_list(path, found[path])
            else:
                self._lists[snapshot.id] = tuple(
                    _Manifest(manifest, -1, 0, 0, None) for manifest in snapshot.manifests
                )

    def _load_entries(self, manifests: Sequence[_Manifest]) -> None:
        missing = list({m.path: m for m in manifests if m.path not in self._entries}.values())
        contents = self._files.read([manifest.path for manifest in missing])
        for manifest, content in zip(missing, contents, strict=True):
            self._entries[manifest.path] = _parse_manifest(manifest, content)

    def _forget(self) -> None:
        for kept in (self._entries, self._lists):
            while len(kept) > self._keep:
                kept.popitem(last=False)


def _parse_list(path: str, content: bytes) -> tuple[_Manifest, ...]:
    try:
        return tuple(
            _Manifest(
                path=row["manifest_path"],
                length=row["manifest_length"],
                spec_id=row["partition_spec_id"],
                sequence=row.get("sequence_number") or 0,
                live=_live_count(row),
            )
            for row in records(content, _LIST_FIELDS)
        )
    except (ValueError, KeyError, EOFError, IndexError, TypeError) as error:
        raise torn(path, error) from error


def _live_count(row: Mapping[str, Any]) -> int | None:
    added, existing = row.get("added_files_count"), row.get("existing_files_count")
    return None if added is None or existing is None else added + existing


def _parse_manifest(manifest: _Manifest, content: bytes) -> tuple[Entry, ...]:
    if manifest.length not in (-1, len(content)):
        raise torn(manifest.path, f"{len(content)} bytes instead of {manifest.length}")
    try:
        entries = tuple(
            _entry(manifest, row)
            for row in records(content, _ENTRY_FIELDS)
            if row["status"] != _REMOVED
        )
    except (ValueError, KeyError, EOFError, IndexError, TypeError) as error:
        raise torn(manifest.path, error) from error
    if manifest.live not in (None, len(entries)):
        raise torn(manifest.path, f"{len(entries)} live entries instead of {manifest.live}")
    return entries


def _entry(manifest: _Manifest, row: Mapping[str, Any]) -> Entry:
    file = row["data_file"]
    sequence = row.get("sequence_number")
    sequence = manifest.sequence if sequence is None else sequence
    content = file.get("content") or DATA
    if content == DATA:
        return DataFile(
            path=file["file_path"],
            format=file["file_format"].lower(),
            spec_id=manifest.spec_id,
            partition=file.get("partition") or {},
            records=file["record_count"],
            size=file["file_size_in_bytes"],
            sequence=sequence,
            column_sizes=file.get("column_sizes") or {},
            encrypted=file.get("key_metadata") is not None,
            nulls=file.get("null_value_counts") or {},
            lower=file.get("lower_bounds") or {},
            upper=file.get("upper_bounds") or {},
        )
    return _delete(manifest, file, content, sequence)


def _delete(
    manifest: _Manifest, file: Mapping[str, Any], content: int, sequence: int
) -> DeleteFile:
    return DeleteFile(
        content=content,
        path=file["file_path"],
        format=file["file_format"].lower(),
        partition_key=(manifest.spec_id, repr(sorted((file.get("partition") or {}).items()))),
        records=file["record_count"],
        size=file["file_size_in_bytes"],
        sequence=sequence,
        referenced=_referenced(file, content),
        offset=file.get("content_offset"),
        length=file.get("content_size_in_bytes"),
        encrypted=file.get("key_metadata") is not None,
    )


def _referenced(file: Mapping[str, Any], content: int) -> str | None:
    """The one data file that all deletes are about, when they are about one."""
    if content != POSITION_DELETES:
        return None
    if file.get("referenced_data_file"):
        return str(file["referenced_data_file"])
    low = (file.get("lower_bounds") or {}).get(_PATH_FIELD)
    high = (file.get("upper_bounds") or {}).get(_PATH_FIELD)
    return low.decode() if low is not None and low == high else None
