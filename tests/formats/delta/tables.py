"""Delta tables by delta-rs, without Spark: a commit takes milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from formats.contract.oracle import Bag, bag, difference
from grebe.formats.base import Source
from grebe.formats.delta.source import DeltaSource
from grebe.formats.files import DriverFiles
from grebe.model import TableName, Version, Window

SHAPE = pa.schema([("id", pa.int32()), ("grp", pa.string()), ("x", pa.float64())])
NAME = TableName("folder", "shop", "orders")
Row = tuple[int | None, str | None, float | None]


def arrow(rows: Sequence[Sequence[Any]], shape: pa.Schema = SHAPE) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [[] for _ in shape]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, shape, strict=True)]
    return pa.Table.from_arrays(arrays, schema=shape)


@dataclass(frozen=True, slots=True)
class Folder:
    """One table in a folder."""

    path: Path

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        shape: pa.Schema = SHAPE,
        partitioned: list[str] | None = None,
        **settings: str,
    ) -> Folder:
        DeltaTable.create(
            str(path),
            shape,
            partition_by=partitioned,
            configuration={f"delta.{key}": value for key, value in settings.items()},
        )
        return cls(path)

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(str(self.path))

    @property
    def version(self) -> Version:
        return Version(str(self.table.version()))

    def source(self) -> DeltaSource:
        """A source that knows nothing yet."""
        return DeltaSource(NAME, str(self.path), DriverFiles())

    def append(self, *rows: Sequence[Any]) -> Version:
        write_deltalake(self.table, arrow(rows, self._shape()), mode="append")
        return self.version

    def overwrite(self, *rows: Sequence[Any]) -> Version:
        write_deltalake(self.table, arrow(rows, self._shape()), mode="overwrite")
        return self.version

    def delete(self, where: str | None = None) -> Version:
        self.table.delete(where)
        return self.version

    def update(self, where: str, **updates: str) -> Version:
        self.table.update(updates, predicate=where)
        return self.version

    def upsert(self, *rows: Sequence[Any]) -> Version:
        merger = self.table.merge(
            arrow(rows, self._shape()), "t.id = s.id", source_alias="s", target_alias="t"
        )
        merger.when_matched_update_all().when_not_matched_insert_all().execute()
        return self.version

    def compact(self) -> Version:
        self.table.optimize.compact()
        return self.version

    def restore(self, version: Version) -> Version:
        self.table.restore(int(version))
        return self.version

    def checkpoint(self) -> None:
        self.table.create_checkpoint()

    def vacuum(self) -> None:
        """Remove everything that the newest version does not need."""
        self.table.vacuum(
            retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True
        )

    def rows(self, version: Version) -> Bag:
        return bag(DeltaTable(str(self.path), version=int(version)).to_pyarrow_table())

    def _shape(self) -> pa.Schema:
        return pa.schema(self.table.schema().to_arrow())


def ids(source: Source, version: Version) -> list[int]:
    return [column.id for column in source.schema_at(version).columns]


def check(
    folder: Folder, after: Version | None, upto: Version, source: Source | None = None
) -> str:
    """The way by which a window was read, after its changes were compared with both versions."""
    source = source or folder.source()
    changes = source.changes(Window(after, upto), ids(source, upto))
    assert changes.arrow is not None
    found = bag(changes.arrow)
    assert len(found) == changes.arrow.num_rows
    expected = folder.rows(upto)
    if after is not None:
        expected = difference(expected, folder.rows(after))
    assert found == expected, (after, upto, changes.way)
    return changes.way
