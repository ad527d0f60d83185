"""Storage tables in folders, moved by delta-rs: no Spark anywhere."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from deltalake import DeltaTable

from formats.commit.client import Writer, serve
from formats.commit.lake import Row
from grebe.formats.delta.log import Log
from grebe.formats.delta.storage import SETTINGS, DeltaStorage
from grebe.formats.files import DriverFiles
from grebe.model import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMESPACE = "views"


@dataclass(slots=True)
class Folders:
    """Storage tables under one root."""

    root: Path
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def path(self, name: TableName) -> Path:
        return self.root / name.schema / name.name

    def storage(self, name: TableName) -> DeltaStorage:
        """Storage that has no session: whatever would need Spark fails."""
        path = str(self.path(name))
        session = cast("SparkSession", None)
        return DeltaStorage(session, name, f"delta.`{path}`", lambda: Log(path, DriverFiles()))

    def create(self, name: str | None = None) -> StorageFolder:
        """A new empty storage table."""
        import pyarrow as pa

        full = TableName("folder", NAMESPACE, name or f"t{next(self._numbers)}")
        shape = pa.schema([("k", pa.int64()), ("v", pa.string()), ("n", pa.int64())])
        DeltaTable.create(str(self.path(full)), shape, configuration=dict(SETTINGS))
        return StorageFolder(self, full, self.storage(full))


@dataclass(frozen=True, slots=True)
class StorageFolder:
    """One storage table under test."""

    folders: Folders
    name: TableName
    storage: DeltaStorage

    @property
    def path(self) -> Path:
        return self.folders.path(self.name)

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(str(self.path))

    def left_behind(self) -> set[str]:
        """What unfinished runs left: nothing that anybody could see."""
        return {orphan.run_id for orphan in self.storage.orphans()}

    def rows(self) -> list[Row]:
        """All rows, sorted, NULLs first."""
        found = [tuple(row.values()) for row in self.table.to_pyarrow_table().to_pylist()]
        return sorted(found, key=lambda row: [(v is not None, str(v)) for v in row])  # type: ignore[arg-type,return-value]


def main() -> None:
    serve(Writer(Folders(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
