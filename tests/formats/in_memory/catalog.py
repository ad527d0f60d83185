"""Opens tables in memory, as sources only."""

from __future__ import annotations

from formats.memory import MemoryTable
from grebe.errors import UnknownTableError
from grebe.formats.base import Session, Source
from grebe.formats.read_only import ReadOnlyCatalog
from grebe.model import Column, TableName

_tables: dict[tuple[str | None, TableName], MemoryTable] = {}


def create(root: str, name: TableName, *columns: Column) -> MemoryTable:
    """A new table at a root, which stands for a folder."""
    table = _tables[root, name] = MemoryTable(name, columns)
    return table


class MemoryCatalog(ReadOnlyCatalog):
    """The tables that were created at one root."""

    def relation(self, name: TableName) -> str:
        """A name that no engine knows."""
        return name.quoted()

    def source(self, name: TableName, spark: Session) -> Source:
        """The table as a source."""
        table = _tables.get((self.place.root, name))
        if table is None:
            raise UnknownTableError(f'table "{name}" does not exist')
        table.spark = spark
        return table
