"""A small commit without Spark: its files are written by the driver, and the catalog is pointed to them once.

The fence is the catalog's row: it is set to the new metadata file only while it holds the one that the
snapshot was made from. One move carries rows, frontier and tag; a run that does not land leaves nothing
that anybody reads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grebe import thresholds
from grebe.formats.base import Append, Overwrite, Write
from grebe.formats.files import DriverFiles, local_path
from grebe.formats.iceberg.avro_editing import Container, decoded, plain
from grebe.formats.iceberg.driver_snapshot import (
    DATA,
    MOST_MANIFESTS,
    NewFile,
    NewSnapshot,
    OldManifest,
    SnapshotBase,
    SnapshotPlan,
    snapshot,
    unsuited,
)
from grebe.formats.iceberg.history import HistoryReader, MetadataReader
from grebe.formats.iceberg.locators import SqlLocator
from grebe.model import TableName

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SnapshotWriter:
    """Writes snapshots of one table whose catalog and files this process reaches itself."""

    name: TableName
    locator: SqlLocator
    files: DriverFiles

    @staticmethod
    def of(name: TableName, reader: HistoryReader | None) -> SnapshotWriter | None:
        """The writer of a table; None where only Spark can commit."""
        if not isinstance(reader, MetadataReader) or not isinstance(reader.locator, SqlLocator):
            return None
        return (
            SnapshotWriter(name, reader.locator, reader.files)
            if (isinstance(reader.files, DriverFiles))
            else None
        )

    def base(self, head: int | None) -> SnapshotBase | None:
        """The table while main is at a snapshot; None where Spark has to write it."""
        location = self.locator.metadata_location(self.name)
        (content,) = self.files.read([location])
        if content[:1] != b"{" or local_path(location) is None:
            return None
        document: dict[str, Any] = json.loads(content)
        if unsuited(document) or local_path(str(document["location"])) is None:
            return None
        main = int(document["refs"]["main"]["snapshot-id"])
        current = next((s for s in document["snapshots"] if s["snapshot-id"] == main), None)
        if main != head or current is None or not current.get("manifest-list"):
            return None
        (listing,) = self.files.read([current["manifest-list"]])
        found = decoded(listing)
        ids = [plain(item.get("first_row_id")) for item in found.records]
        numbered = [plain(item["content"]) != DATA for item in found.records]
        if document["format-version"] >= 3 and any(
            number is None and not is_delete
            for number, is_delete in zip(ids, numbered, strict=True)
        ):
            return None
        return SnapshotBase(location, document, found)

    def prepared(
        self, base: SnapshotBase, writes: Sequence[Write], labels: dict[str, str], run_id: str
    ) -> NewSnapshot | None:
        """The snapshot that makes some writes, with its files written; None where Spark has to."""
        if not can_write(writes) or not 0 < len(base.listing.records) < MOST_MANIFESTS:
            return None
        write = writes[0] if writes else None
        replaces = isinstance(write, Overwrite)
        old = [OldManifest(item, self._manifest(item)) for item in self._read_of(base, replaces)]
        template = next(
            (item.content for item in old if item.is_data and item.content.records), None
        )
        rows = None if write is None else write.rows.arrow
        if template is None:
            return None
        file = None
        if rows is not None and rows.num_rows:
            path = f"{base.root}/data/{run_id}-{time.time_ns():x}.parquet"
            file = write_file(rows, base.schema["fields"], path, _compression(base))
            if file is None:
                return None
        operation = "overwrite" if replaces else "append"
        plan = SnapshotPlan(operation, labels, file, replaces, time.time_ns() // 1_000_000)
        made = snapshot(base, old, plan, template)
        for path, data in made.files:
            _put(path, lambda place, data=data: place.write_bytes(data))  # type: ignore[misc]
        return made

    def publish(self, base: SnapshotBase, made: NewSnapshot) -> bool:
        """True when the catalog was pointed to the new snapshot; False when it had moved."""
        return self.locator.swap(self.name, base.location, made.metadata)

    def clean(self, made: NewSnapshot) -> None:
        """Remove metadata files that are no longer listed."""
        for path in made.dropped:
            _remove(path)

    def discard(self, base: SnapshotBase, made: NewSnapshot, run_id: str) -> None:
        """Remove the files of a snapshot that did not land."""
        for path, _ in made.files:
            _remove(path)
        discard_data(base.root, run_id)

    def _read_of(self, base: SnapshotBase, replaces: bool) -> list[dict[str, Any]]:
        """The manifests to read: all whose files go, else one to take the form from."""
        if replaces:
            return base.listing.records
        data = [item for item in base.listing.records if plain(item["content"]) == DATA]
        return data[:1]

    def _manifest(self, item: dict[str, Any]) -> Container:
        (content,) = self.files.read([str(plain(item["manifest_path"]))])
        return decoded(content)


def can_write(writes: Sequence[Write]) -> bool:
    """Whether writes are rows of the driver's that are added, or put in the place of all."""
    if len(writes) > 1:
        return False
    return all(
        isinstance(write, (Append, Overwrite))
        and write.rows.arrow is not None
        and write.rows.arrow.nbytes <= thresholds.COMMITTED_BYTES
        for write in writes
    )


def write_file(
    rows: pa.Table, fields: Sequence[dict[str, Any]], path: str, compression: str
) -> NewFile | None:
    """A Parquet file with the rows and what a manifest says of it; None where columns do not fit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from grebe.formats.iceberg.conform import arrow_type
    from grebe.formats.iceberg.schema import parse_field

    known = [parse_field(field) for field in fields]
    if [field.name for field in known] != list(rows.column_names):
        return None
    schema = pa.schema(
        [
            pa.field(
                field.name,
                arrow_type(field.type),
                metadata={b"PARQUET:field_id": str(field.id).encode()},
            )
            for field in known
        ]
    )
    try:
        table = rows.cast(schema).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None

    def write(place: Path) -> None:
        pq.write_table(
            table,
            place,
            compression=compression,
            store_decimal_as_integer=True,
            write_statistics=True,
            coerce_timestamps="us",
        )

    _put(path, write)
    metadata = pq.read_metadata(local_path(path))
    sizes: dict[int, int] = {}
    for group in range(metadata.num_row_groups):
        for place, field in enumerate(known):
            size = metadata.row_group(group).column(place).total_compressed_size
            sizes[field.id] = sizes.get(field.id, 0) + size
    bounds = {field.id: _bounds(table[field.name]) for field in known}
    return NewFile(
        path,
        table.num_rows,
        Path(local_path(path) or path).stat().st_size,
        sizes,
        {field.id: table[field.name].null_count for field in known},
        {number: ends[0] for number, ends in bounds.items() if ends},
        {number: ends[1] for number, ends in bounds.items() if ends},
    )


def _bounds(column: pa.ChunkedArray) -> tuple[bytes, bytes] | None:
    """The smallest and the largest value as manifests spell them, of whole numbers and times."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_date32(kind):
        column, size = column.cast(pa.int32()), 4
    elif pa.types.is_timestamp(kind):
        column, size = column.cast(pa.int64()), 8
    elif pa.types.is_int32(kind) or pa.types.is_int64(kind):
        size = kind.bit_width // 8
    else:
        return None
    ends = pc.min_max(column).as_py()
    if ends["min"] is None:
        return None
    low, high = (int(ends[name]).to_bytes(size, "little", signed=True) for name in ("min", "max"))
    return low, high


def discard_data(root: str, run_id: str) -> None:
    """Remove data files that a run wrote and never published."""
    folder = Path(local_path(root) or root) / "data"
    for path in folder.glob(f"{run_id}-*.parquet"):
        with suppress(OSError):
            path.unlink()


def _compression(base: SnapshotBase) -> str:
    """The table's own codec, where it is one that every reader has."""
    codec = str(base.document.get("properties", {}).get("write.parquet.compression-codec", "zstd"))
    return codec if codec in ("zstd", "snappy", "gzip") else "zstd"


def _put(path: str, write: Callable[[Path], object]) -> None:
    place = Path(local_path(path) or path)
    place.parent.mkdir(parents=True, exist_ok=True)
    write(place)


def _remove(path: str) -> None:
    with suppress(OSError):
        Path(local_path(path) or path).unlink()
