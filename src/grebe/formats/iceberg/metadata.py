"""What a metadata file says: schemas, snapshots, refs, partition specs. Standard library only."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from grebe.errors import HistoryExpiredError, SourceError
from grebe.formats.files import torn
from grebe.formats.iceberg.schema import IcebergSchema
from grebe.model import Version, Window

NEWEST_FORMAT = 3
EMPTY = 0
"""The number that stands for "no snapshot yet"; real ones are positive."""


@dataclass(frozen=True, slots=True)
class IcebergSnapshot:
    """One commit of a table."""

    id: int
    parent: int | None
    sequence: int
    committed_at: datetime
    schema_id: int | None
    manifest_list: str | None
    manifests: tuple[str, ...]
    summary: Mapping[str, str]

    @property
    def operation(self) -> str:
        """append, overwrite, delete, or replace: the last one moves rows and changes none."""
        return self.summary.get("operation", "overwrite")


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One part of a partition spec."""

    id: int
    source_id: int
    transform: str


@dataclass(frozen=True, slots=True)
class SnapshotPoint:
    """What a version means inside Iceberg: a snapshot, and the schema that it is read with."""

    snapshot_id: int
    schema_id: int

    def version(self, own_schema: int | None) -> Version:
        """The version as text; the schema is named only when it is not the snapshot's own.

        A schema can change without a new snapshot. The version must move with it, or the same
        version would be read with two schemas.
        """
        if self.schema_id == own_schema:
            return Version(str(self.snapshot_id))
        return Version(f"{self.snapshot_id}@{self.schema_id}")


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """One metadata file."""

    location: str
    uuid: str
    format_version: int
    current_schema_id: int
    schemas: Mapping[int, IcebergSchema]
    snapshots: Mapping[int, IcebergSnapshot]
    refs: Mapping[str, int]
    specs: Mapping[int, tuple[PartitionField, ...]]
    properties: Mapping[str, str]

    def current(self, branch: str = "main") -> SnapshotPoint:
        """The snapshot that a branch points to, and the schema that the table has now."""
        return SnapshotPoint(self.refs.get(branch, EMPTY), self.current_schema_id)

    def version_of(self, place: SnapshotPoint) -> Version:
        """The text of a place."""
        return place.version(self._own_schema(place.snapshot_id))

    def place_of(self, version: Version) -> SnapshotPoint:
        """The place that a version names; raises HistoryExpiredError when it is gone."""
        snapshot_text, _, schema_text = version.partition("@")
        snapshot_id = int(snapshot_text)
        if snapshot_id != EMPTY and snapshot_id not in self.snapshots:
            raise HistoryExpiredError(
                f"version {version} no longer exists",
                detail=f"the oldest one of {len(self.snapshots)} is {self._oldest()}",
                hint="refresh in full, and keep versions longer than the time between refreshes",
            )
        own = self._own_schema(snapshot_id)
        schema_id = int(schema_text) if schema_text else own
        return SnapshotPoint(
            snapshot_id, self.current_schema_id if schema_id is None else schema_id
        )

    def places_of(self, window: Window) -> tuple[SnapshotPoint, SnapshotPoint]:
        """Both ends of a window; one from nothing begins at the empty table."""
        upto = self.place_of(window.upto)
        if window.after is None:
            return SnapshotPoint(EMPTY, upto.schema_id), upto
        return self.place_of(window.after), upto

    def schema_of(self, place: SnapshotPoint) -> IcebergSchema:
        """The schema that a place is read with."""
        try:
            return self.schemas[place.schema_id]
        except KeyError:
            raise HistoryExpiredError(
                f"schema {place.schema_id} of the table no longer exists"
            ) from None

    def ancestors(self, snapshot_id: int) -> Iterator[IcebergSnapshot]:
        """The snapshot and its parents, newest first, as far as they still exist."""
        current: int | None = snapshot_id
        while current is not None and (snapshot := self.snapshots.get(current)):
            yield snapshot
            current = snapshot.parent

    def chain(self, after: int, upto: int) -> list[IcebergSnapshot] | None:
        """The snapshots of ``(after, upto]``, oldest first, or None when one is missing."""
        found: list[IcebergSnapshot] = []
        for snapshot in self.ancestors(upto):
            if snapshot.id == after:
                return found[::-1]
            found.append(snapshot)
        whole = after == EMPTY and (not found or found[-1].parent is None)
        return found[::-1] if whole else None

    def was_replaced(self, after: int, upto: int) -> bool:
        """Whether both places are provably of different lives of the table.

        CREATE OR REPLACE TABLE keeps the uuid and begins a new chain of snapshots. A chain that was
        cut by expiry proves nothing.
        """
        if EMPTY in (after, upto):
            return False
        ours, theirs = list(self.ancestors(after)), list(self.ancestors(upto))
        if ours[-1].parent is not None or theirs[-1].parent is not None:
            return False
        return ours[-1].id != theirs[-1].id

    def _own_schema(self, snapshot_id: int) -> int | None:
        snapshot = self.snapshots.get(snapshot_id)
        return snapshot.schema_id if snapshot else None

    def _oldest(self) -> str:
        newest_last = sorted(self.snapshots.values(), key=lambda snapshot: snapshot.sequence)
        return str(newest_last[0].id) if newest_last else "none"


def parse_metadata(location: str, data: bytes) -> TableMetadata:
    """The metadata in a file's bytes; raises CorruptFileError when they are not whole."""
    try:
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        document = json.loads(text)
        version = int(document["format-version"])
        if version > NEWEST_FORMAT:
            raise SourceError(
                f"the table has Iceberg format version {version}",
                detail=f"known are versions up to {NEWEST_FORMAT}",
                code="format-unknown",
            )
        return _table(location, version, document)
    except (ValueError, KeyError, TypeError, EOFError, OSError) as error:
        raise torn(location, error) from error


def _table(location: str, version: int, document: Mapping[str, Any]) -> TableMetadata:
    schemas = [IcebergSchema.parse(schema) for schema in document.get("schemas", ())]
    if not schemas:
        schemas = [IcebergSchema.parse(document["schema"])]
    current = int(document.get("current-schema-id", schemas[-1].id))
    refs = {name: int(ref["snapshot-id"]) for name, ref in document.get("refs", {}).items()}
    head = document.get("current-snapshot-id")
    if "main" not in refs and head is not None and int(head) > 0:
        refs["main"] = int(head)
    return TableMetadata(
        location=location,
        uuid=str(document.get("table-uuid") or document["location"]),
        format_version=version,
        current_schema_id=current,
        schemas={schema.id: schema for schema in schemas},
        snapshots={s.id: s for s in map(_snapshot, document.get("snapshots", ()))},
        refs=refs,
        specs=_specs(document),
        properties=document.get("properties", {}),
    )


def _snapshot(document: Mapping[str, Any]) -> IcebergSnapshot:
    parent = document.get("parent-snapshot-id")
    schema = document.get("schema-id")
    return IcebergSnapshot(
        id=int(document["snapshot-id"]),
        parent=int(parent) if parent is not None and int(parent) > 0 else None,
        sequence=int(document.get("sequence-number", 0)),
        committed_at=datetime.fromtimestamp(int(document["timestamp-ms"]) / 1000, tz=UTC),
        schema_id=None if schema is None else int(schema),
        manifest_list=document.get("manifest-list"),
        manifests=tuple(document.get("manifests", ())),
        summary=document.get("summary", {}),
    )


def _specs(document: Mapping[str, Any]) -> dict[int, tuple[PartitionField, ...]]:
    specs = document.get("partition-specs")
    if specs is None:
        specs = [{"spec-id": 0, "fields": document.get("partition-spec", [])}]
    return {
        int(spec["spec-id"]): tuple(
            PartitionField(
                int(field.get("field-id", 1000 + index)),
                int(field["source-id"] if "source-id" in field else field["source-ids"][0]),
                str(field["transform"]),
            )
            for index, field in enumerate(spec["fields"])
        )
        for spec in specs
    }
