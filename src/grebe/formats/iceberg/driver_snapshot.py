"""A snapshot made by the driver itself: one data file, its manifests, and the metadata that names them.

Pure: metadata and manifests in, bytes out. The files are written as Spark writes them: a manifest takes its
schema and its header from one that is in the table already, so that every field means what it means there.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from grebe.formats.iceberg.avro_editing import Container, encoded, plain, some
from grebe.formats.iceberg.history import MAIN
from grebe.formats.iceberg.position import TAG

Json = dict[str, Any]
Record = dict[str, Any]

DATA: Final = 0
ADDED, REMOVED = 1, 2
ROW_IDS: Final = 3
"""The first format version whose rows have ids."""
MOST_MANIFESTS: Final = 100
"""Manifests from which Spark writes the commit, which puts them together."""
PREVIOUS_FILES: Final = "write.metadata.previous-versions-max"
_TYPES: Final = frozenset({"boolean", "int", "long", "float", "double", "date", "string", "binary", "timestamp", "timestamptz"})  # fmt: skip
_FOREIGN: Final = (
    *("write.data.path", "write.metadata.path", "write.folder-storage.path"),
    *("write.object-storage.path", "write.location-provider.impl", "encryption.key-id"),
)
"""Properties that say that files lie elsewhere, or are not what they seem."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """The data file of a snapshot, as a manifest describes it."""

    path: str
    rows: int
    size: int
    column_sizes: Mapping[int, int]
    nulls: Mapping[int, int]
    lower: Mapping[int, bytes]
    upper: Mapping[int, bytes]

    @property
    def entry(self) -> Record:
        """What a manifest says of it, but for what the format leaves to its default."""
        counts = dict.fromkeys(self.nulls, self.rows)
        return {
            "content": DATA,
            "file_path": self.path,
            "file_format": "PARQUET",
            "partition": {},
            "record_count": self.rows,
            "file_size_in_bytes": self.size,
            "column_sizes": some(_pairs(self.column_sizes)),
            "value_counts": some(_pairs(counts)),
            "null_value_counts": some(_pairs(self.nulls)),
            "nan_value_counts": some([]),
            "lower_bounds": some(_pairs(self.lower)),
            "upper_bounds": some(_pairs(self.upper)),
            "split_offsets": some([4]),
            "sort_order_id": some(0),
        }


@dataclass(frozen=True, slots=True)
class OldManifest:
    """A manifest of the snapshot before: its place in the list, and what is in it."""

    listed: Record
    content: Container

    @property
    def is_data(self) -> bool:
        """Whether it lists data files; else it lists deletes."""
        return bool(plain(self.listed["content"]) == DATA)

    @property
    def live(self) -> list[Record]:
        """The entries of files that are in the table."""
        return [record for record in self.content.records if record["status"] != REMOVED]


@dataclass(frozen=True, slots=True)
class SnapshotBase:
    """The table as a snapshot finds it."""

    location: str
    """Of the metadata file."""
    document: Json
    listing: Container
    """The list of manifests of the snapshot on main."""

    @property
    def version(self) -> int:
        return int(self.document["format-version"])

    @property
    def root(self) -> str:
        return str(self.document["location"]).rstrip("/")

    @property
    def head(self) -> int:
        return int(self.document["refs"][MAIN]["snapshot-id"])

    @property
    def schema(self) -> Json:
        """The columns that the table has now."""
        current = self.document["current-schema-id"]
        found: Json = next(s for s in self.document["schemas"] if s["schema-id"] == current)
        return found


def unsuited(document: Json) -> str | None:
    """Why a table is written by Spark alone; None where the driver may."""
    properties = document.get("properties", {})
    spec = next(
        item
        for item in document.get("partition-specs", [])
        if item["spec-id"] == document["default-spec-id"]
    )
    current = document["current-schema-id"]
    schema = next(item for item in document["schemas"] if item["schema-id"] == current)
    kinds = [field["type"] for field in schema["fields"]]
    plain_types = all(
        isinstance(kind, str) and (kind in _TYPES or kind.startswith("decimal")) for kind in kinds
    )
    elsewhere = any(name in properties for name in _FOREIGN) or document.get("encryption-keys")
    packed = properties.get("write.metadata.compression-codec", "none") != "none"
    scattered = properties.get("write.object-storage.enabled", "false") != "false"
    found = {
        "of another format version": int(document["format-version"]) not in (2, ROW_IDS),
        "empty": MAIN not in document.get("refs", {}),
        "partitioned": bool(spec["fields"]),
        "sorted": bool(document.get("default-sort-order-id")),
        "kept in another place": bool(elsewhere) or scattered,
        "described in packed files": packed,
        "of columns without NULL": any(field.get("required") for field in schema["fields"]),
        "of nested columns": not plain_types,
    }
    return next((word for word, is_so in found.items() if is_so), None)


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """What is written, in order: the metadata last, which the catalog is then pointed to."""

    id: int
    files: tuple[tuple[str, bytes], ...]
    metadata: str
    dropped: tuple[str, ...]
    """Metadata files that are no longer listed, and may go."""


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """A commit: what comes, and whether all that is there goes."""

    operation: str
    labels: Mapping[str, str]
    file: NewFile | None
    replaces: bool
    now_ms: int


def fresh_id() -> int:
    """The id of a snapshot, drawn as Iceberg draws it."""
    return secrets.randbits(62) + 1


def snapshot(
    base: SnapshotBase, old: Sequence[OldManifest], plan: SnapshotPlan, template: Container
) -> NewSnapshot:
    """The files of a new snapshot on main.

    Args:
        base: the table.
        old: the manifests of main; read only where their files go.
        plan: what comes and goes.
        template: a manifest of data files of the table.
    """
    number = int(base.document["last-sequence-number"]) + 1
    made = _Made(base, number, fresh_id(), secrets.token_hex(16))
    if plan.file is not None:
        made.add_file(plan.file, template)
    if plan.replaces:
        for manifest in old:
            made.remove(manifest)
    else:
        made.keep(base.listing.records)
    files = [*made.files, made.listed()]
    document, dropped = _metadata(base, plan, made)
    text = json.dumps(document, separators=(",", ":")).encode()
    name = f"{base.root}/metadata/{_next_number(base.location):05d}-{made.token}.metadata.json"
    return NewSnapshot(made.id, (*files, (name, text)), name, dropped)


class _Made:
    """Manifests under way."""

    def __init__(self, base: SnapshotBase, sequence: int, number: int, token: str) -> None:
        self.base, self.sequence, self.id, self.token = base, sequence, number, token
        self.files: list[tuple[str, bytes]] = []
        self.records: list[Record] = []
        self.added = self.removed_rows = self.removed_files = self.removed_deletes = 0
        self.created = self.kept = 0

    @property
    def first_row(self) -> int:
        return int(self.base.document.get("next-row-id", 0))

    def add_file(self, file: NewFile, template: Container) -> None:
        entry = {
            "status": ADDED,
            "snapshot_id": some(self.id),
            "sequence_number": some(None),
            "file_sequence_number": some(None),
            "data_file": _filled(file.entry, _fields_of(template)),
        }
        header = {
            **template.header,
            "schema": json.dumps(self.base.schema, separators=(",", ":")).encode(),
            "content": b"data",
        }
        self.added = file.rows
        self._write(Container(header, [entry]), DATA, self.sequence, added=(1, file.rows))

    def remove(self, manifest: OldManifest) -> None:
        live = manifest.live
        if not live:
            return
        inherited = int(plain(manifest.listed["sequence_number"]))
        gone = [_removed(record, self.id, inherited) for record in _numbered(manifest)]
        rows = sum(int(record["data_file"]["record_count"]) for record in gone)
        if manifest.is_data:
            self.removed_files += len(gone)
            self.removed_rows += rows
        else:
            self.removed_deletes += rows
        oldest = min(int(plain(record["sequence_number"])) for record in gone)
        content = int(plain(manifest.listed["content"]))
        self._write(
            Container(manifest.content.header, gone), content, oldest, removed=(len(gone), rows)
        )

    def keep(self, records: Sequence[Record]) -> None:
        """Manifests as they are; those without a live file go."""
        for record in records:
            if plain(record["added_files_count"]) or plain(record["existing_files_count"]):
                self.records.append(dict(record))
                self.kept += 1

    def _write(
        self,
        manifest: Container,
        content: int,
        oldest: int,
        *,
        added: tuple[int, int] = (0, 0),
        removed: tuple[int, int] = (0, 0),
    ) -> None:
        path = f"{self.base.root}/metadata/{self.token}-m{len(self.files)}.avro"
        data = encoded(manifest)
        self.files.append((path, data))
        self.created += 1
        template = self.base.listing.records[0]
        record: Record = {
            "manifest_path": path,
            "manifest_length": len(data),
            "partition_spec_id": 0,
            "content": content,
            "sequence_number": self.sequence,
            "min_sequence_number": oldest,
            "added_snapshot_id": self.id,
            "added_files_count": added[0],
            "existing_files_count": 0,
            "deleted_files_count": removed[0],
            "added_rows_count": added[1],
            "existing_rows_count": 0,
            "deleted_rows_count": removed[1],
            "partitions": some([]),
        }
        if "first_row_id" in template and content == DATA:
            # Rows are numbered from here on; those that go have their numbers.
            record["first_row_id"] = some(self.first_row)
        self.records.append(_filled(record, template))

    def listed(self) -> tuple[str, bytes]:
        """The list of manifests, and where it lies."""
        header = {
            **self.base.listing.header,
            "snapshot-id": str(self.id).encode(),
            "parent-snapshot-id": str(self.base.head).encode(),
            "sequence-number": str(self.sequence).encode(),
        }
        if self.base.version >= ROW_IDS:
            header["first-row-id"] = str(self.first_row).encode()
        return self.listing_path, encoded(Container(header, self.records))

    @property
    def listing_path(self) -> str:
        return f"{self.base.root}/metadata/snap-{self.id}-1-{self.token}.avro"


def _metadata(base: SnapshotBase, plan: SnapshotPlan, made: _Made) -> tuple[Json, tuple[str, ...]]:
    document = dict(base.document)
    before = next(s for s in document["snapshots"] if s["snapshot-id"] == base.head)
    now = max(plan.now_ms, int(document["last-updated-ms"]), int(before["timestamp-ms"]) + 1)
    entry: Json = {
        "sequence-number": made.sequence,
        "snapshot-id": made.id,
        "parent-snapshot-id": base.head,
        "timestamp-ms": now,
        "summary": {"operation": plan.operation, **_summary(before["summary"], plan, made)},
        "manifest-list": made.listing_path,
        "schema-id": document["current-schema-id"],
    }
    if base.version >= ROW_IDS:
        entry |= {"first-row-id": made.first_row, "added-rows": made.added}
        document["next-row-id"] = made.first_row + made.added
    main = {**document["refs"][MAIN], "snapshot-id": made.id}
    tag = {"snapshot-id": made.id, "type": "tag"}
    log = [
        *document.get("metadata-log", []),
        {"timestamp-ms": document["last-updated-ms"], "metadata-file": base.location},
    ]
    most = int(document.get("properties", {}).get(PREVIOUS_FILES, 100))
    kept = log[max(0, len(log) - most) :]
    document |= {
        "last-sequence-number": made.sequence,
        "last-updated-ms": now,
        "current-snapshot-id": made.id,
        "refs": {**document["refs"], MAIN: main, TAG: tag},
        "snapshots": [*document["snapshots"], entry],
        "snapshot-log": [
            *document.get("snapshot-log", []),
            {"timestamp-ms": now, "snapshot-id": made.id},
        ],
        "metadata-log": kept,
    }
    dropped = tuple(str(item["metadata-file"]) for item in log[: len(log) - len(kept)])
    return document, dropped


def _summary(before: Mapping[str, str], plan: SnapshotPlan, made: _Made) -> dict[str, str]:
    """The counts that Spark writes, those that are zero left out where it leaves them out."""
    file = plan.file
    changed = {
        "added-data-files": 0 if file is None else 1,
        "added-records": 0 if file is None else file.rows,
        "added-files-size": 0 if file is None else file.size,
        "deleted-data-files": made.removed_files,
        "deleted-records": made.removed_rows,
        "removed-position-deletes": made.removed_deletes,
    }
    totals = {
        "total-records": (changed["added-records"], changed["deleted-records"]),
        "total-data-files": (changed["added-data-files"], changed["deleted-data-files"]),
        "total-position-deletes": (0, changed["removed-position-deletes"]),
    }
    found = {key: str(count) for key, count in changed.items() if count}
    for key, (more, fewer) in totals.items():
        if key in before:
            found[key] = str(max(0, int(before[key]) + more - fewer))
    if "total-files-size" in before:
        size = 0 if plan.replaces else int(before["total-files-size"])
        found["total-files-size"] = str(size + changed["added-files-size"])
    for key in ("total-delete-files", "total-equality-deletes"):
        if key in before:
            found[key] = "0" if plan.replaces else before[key]
    found |= {"manifests-created": str(made.created), "manifests-kept": str(made.kept)}
    return {**found, "engine-name": "grebe", **plan.labels}


def _numbered(manifest: OldManifest) -> list[Record]:
    """The live entries; a file without a first row id of its own has the next one of the manifest."""
    following = plain(manifest.listed.get("first_row_id"))
    found: list[Record] = []
    for record in manifest.live:
        file = record["data_file"]
        if following is not None and "first_row_id" in file and plain(file["first_row_id"]) is None:
            record = {**record, "data_file": {**file, "first_row_id": some(following)}}
            following += int(file["record_count"])
        found.append(record)
    return found


def _removed(record: Record, number: int, inherited: int) -> Record:
    gone = dict(record, status=REMOVED, snapshot_id=some(number))
    for name in ("sequence_number", "file_sequence_number"):
        if name in gone and plain(gone[name]) is None:
            gone[name] = some(inherited)
    return gone


def _fields_of(template: Container) -> Record:
    """A data file of a manifest, of which every field that is not said is null."""
    found: Record = template.records[0]["data_file"]
    return found


def _filled(record: Record, template: Record) -> Record:
    """The record with every field of another one: null where it says nothing."""
    return {name: record[name] if name in record else some(None) for name in template}


def _pairs(values: Mapping[int, Any]) -> list[Record]:
    return [{"key": key, "value": value} for key, value in sorted(values.items())]


def _next_number(location: str) -> int:
    """The number of a metadata file after another one."""
    head = location.rpartition("/")[2].partition("-")[0].lstrip("v")
    return int(head) + 1 if head.isdigit() else 0
