"""The history of one Iceberg table as far as commits need it: refs, parents and summaries.

`MetadataReader` and `SparkReader` are the two ways to it; all else works on values.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from grebe.formats.files import Files
from grebe.formats.iceberg.locators import Locator
from grebe.formats.iceberg.metadata import IcebergSnapshot, parse_metadata
from grebe.model import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAIN = "main"
STABLE_READS = 5


def count(snapshot: IcebergSnapshot, key: str) -> int:
    """A number of a snapshot's summary, 0 when it is not there."""
    return int(snapshot.summary.get(key, 0))


def changed_rows(snapshot: IcebergSnapshot) -> bool:
    """True when the commit added, removed or masked any row."""
    kinds = ("records", "position-deletes", "equality-deletes")
    verbs = ("added", "deleted", "removed")
    return any(count(snapshot, f"{verb}-{kind}") for verb in verbs for kind in kinds)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A metadata file of the table, and when it was written."""

    written_at: datetime
    file: str


@dataclass(frozen=True, slots=True)
class History:
    """What one metadata file says: where every ref points, and the snapshots still listed."""

    refs: Mapping[str, int]
    snapshots: Mapping[int, IcebergSnapshot]
    schema_id: int | None = None
    """Of the columns that the table has now, where that is known."""

    @property
    def head(self) -> int | None:
        """The snapshot of main, None while nothing was ever published."""
        return self.refs.get(MAIN)

    def tip(self, ref: str) -> IcebergSnapshot | None:
        """The snapshot that a ref points to."""
        return self.snapshots.get(self.refs.get(ref, -1))


class HistoryReader(Protocol):
    """A way to a table's metadata."""

    def read(self) -> History:
        """The history now."""

    def log(self) -> tuple[LogEntry, ...]:
        """The current metadata file and the earlier ones that it lists, newest first."""

    def read_file(self, file: str) -> History:
        """The history that an earlier metadata file holds."""


@dataclass(frozen=True, slots=True)
class MetadataReader:
    """Reads the metadata files themselves: no Spark, a few milliseconds."""

    locator: Locator
    files: Files
    name: TableName

    def read(self) -> History:
        """The history now."""
        return self.read_file(self.locator.metadata_location(self.name))

    def log(self) -> tuple[LogEntry, ...]:
        """The current metadata file and the earlier ones that it lists, newest first."""
        location = self.locator.metadata_location(self.name)
        document: dict[str, Any] = json.loads(self._bytes(location))
        earlier = (
            LogEntry(_instant(int(entry["timestamp-ms"])), entry["metadata-file"])
            for entry in reversed(document.get("metadata-log") or ())
        )
        return LogEntry(_instant(int(document["last-updated-ms"])), location), *earlier

    def read_file(self, file: str) -> History:
        """The history that an earlier metadata file holds."""
        metadata = parse_metadata(file, self._bytes(file))
        return History(metadata.refs, metadata.snapshots, metadata.current_schema_id)

    def _bytes(self, file: str) -> bytes:
        data = self.files.read([file])[0]
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


@dataclass(frozen=True, slots=True)
class SparkReader:
    """Reads Spark's metadata tables, for drivers that cannot reach catalog or storage."""

    session: SparkSession
    name: TableName

    def read(self) -> History:
        """The history now. Refs and snapshots are two reads, so refs must agree around them."""
        refs = self._refs()
        for _ in range(STABLE_READS):
            snapshots = self._snapshots()
            again = self._refs()
            if again == refs:
                break
            refs = again
        return History(refs, snapshots)

    def log(self) -> tuple[LogEntry, ...]:
        """The current metadata file and the earlier ones that it lists, newest first."""
        rows = self.session.sql(
            "SELECT unix_millis(timestamp) AS at, file "
            f"FROM {self.name.quoted()}.metadata_log_entries ORDER BY timestamp, file"
        ).collect()
        return tuple(LogEntry(_instant(row["at"]), row["file"]) for row in reversed(rows))

    def read_file(self, file: str) -> History:
        """The history that an earlier metadata file holds."""
        row = self.session.read.format("binaryFile").load(file).select("content").collect()[0]
        metadata = parse_metadata(file, bytes(row[0]))
        return History(metadata.refs, metadata.snapshots)

    def _refs(self) -> dict[str, int]:
        rows = self.session.sql(
            f"SELECT name, snapshot_id FROM {self.name.quoted()}.refs"
        ).collect()
        return {row["name"]: int(row["snapshot_id"]) for row in rows}

    def _snapshots(self) -> dict[int, IcebergSnapshot]:
        rows = self.session.sql(
            "SELECT snapshot_id, parent_id, operation, unix_millis(committed_at) AS at, summary "
            f"FROM {self.name.quoted()}.snapshots"
        ).collect()
        return {row["snapshot_id"]: _from_row(row.asDict()) for row in rows}


def _from_row(row: Mapping[str, Any]) -> IcebergSnapshot:
    return IcebergSnapshot(
        id=row["snapshot_id"],
        parent=row["parent_id"],
        sequence=0,
        committed_at=_instant(row["at"]),
        schema_id=None,
        manifest_list=None,
        manifests=(),
        summary={**(row["summary"] or {}), "operation": row["operation"]},
    )


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


class BrokenChainError(Exception):
    """A parent that neither the metadata nor its log of earlier files knows."""

    def __init__(self, missing: int) -> None:
        super().__init__(f"snapshot {missing} is in no metadata file that is left")


@dataclass(slots=True)
class Lineage:
    """Parents from a ref down, also through snapshots that were expired since.

    Expiry removes snapshots in the middle of a chain of compactions; the table's own earlier
    metadata files, listed in its metadata log, still say what they were.
    """

    reader: HistoryReader
    now: History
    _earlier: Iterator[History] | None = field(default=None, init=False)
    _found: dict[int, IcebergSnapshot] = field(default_factory=dict, init=False)

    def walk(self, start: int | None) -> Iterator[IcebergSnapshot]:
        """The snapshots from one down to the root, newest first.

        Raises:
            BrokenChainError: when a parent cannot be found anywhere.
        """
        at = start
        while at is not None:
            snapshot = self.find(at)
            if snapshot is None:
                raise BrokenChainError(at)
            yield snapshot
            at = snapshot.parent

    def find(self, snapshot_id: int) -> IcebergSnapshot | None:
        """One snapshot, from the metadata or from its log of earlier files."""
        known = self.now.snapshots.get(snapshot_id) or self._found.get(snapshot_id)
        if known is not None:
            return known
        if self._earlier is None:
            self._earlier = _readable(self.reader)
        for history in self._earlier:
            self._found.update(history.snapshots)
            if snapshot_id in history.snapshots:
                return history.snapshots[snapshot_id]
        return None

    def since(self, base: int | None) -> list[IcebergSnapshot] | None:
        """What main gained after a snapshot, newest first; None when it is not below main."""
        gained: list[IcebergSnapshot] = []
        for snapshot in self.walk(self.now.head):
            if snapshot.id == base:
                return gained
            gained.append(snapshot)
        return gained if base is None else None


def _readable(reader: HistoryReader) -> Iterator[History]:
    for entry in reader.log()[1:]:
        try:
            yield reader.read_file(entry.file)
        except Exception:  # any file of the log may be gone; the next may not be
            continue


def first_seen(reader: HistoryReader, ref: str) -> datetime:
    """When a ref that exists now appeared.

    It was made once and is there since, so the log can be bisected. A log that begins later than
    the ref gives the log's beginning: the ref is at least that old.
    """
    log = reader.log()
    low, high = 1, len(log)
    while low < high:
        middle = (low + high) // 2
        try:
            present = ref in reader.read_file(log[middle].file).refs
        except Exception:  # a file that is gone is older than what is asked for
            present = False
        low, high = (middle + 1, high) if present else (low, middle)
    return log[low - 1].written_at
