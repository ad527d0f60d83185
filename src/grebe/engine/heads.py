"""One look at the tables: every head and position is read once, whoever asks."""

from __future__ import annotations

from datetime import UTC, datetime

from grebe.engine.public_name import PUBLIC, STORED, shown_storage, shows
from grebe.engine.standing import Pinned
from grebe.engine.tables import Tables
from grebe.formats.base import OWN, Head, Session, Source
from grebe.model import Position, SourcePoint, TableName

NEVER = datetime.min.replace(tzinfo=UTC)
"""Before every version."""


class Heads:
    """Where tables and views are, as they were found when first asked for."""

    def __init__(self, tables: Tables, session: Session) -> None:
        self.tables = tables
        self.session = session
        self._heads: dict[TableName, Head] = {}
        self._positions: dict[TableName, Position | None] = {}

    def shown(self, name: TableName) -> TableName | None:
        """The storage table that a public name shows."""
        return shown_storage(name, self.tables.shown(name, self.session))

    def shows(self, name: TableName, storage: TableName) -> bool:
        """Whether a public name shows a storage table, by the SELECT that this one keeps."""
        text = self.tables.shown(name, self.session)
        if shown_storage(name, text) != storage:
            return False
        if not self.source(storage).capabilities.head_without_spark:
            return True  # to look closer would cost a job for every view
        kept = (self.tables.properties(storage, self.session) or {}).get(PUBLIC)
        if kept is None or '"' in self.tables.relation(storage):  # a text in other words
            return True
        return shows(text, kept.replace(STORED, self.tables.relation(storage)))

    def head(self, name: TableName) -> Head:
        """Where a table stands."""
        if name not in self._heads:
            self._heads[name] = self.source(name).head()
        return self._heads[name]

    def position(self, name: TableName) -> Position | None:
        """What a storage table shows."""
        if name not in self._positions:
            self._positions[name] = self.tables.position(name, self.session)
        return self._positions[name]

    def pin(self, name: TableName) -> Pinned:
        """A source as it is; of a view's storage table, with the last version that changed a row."""
        position = self.position(name) if name.name.startswith(OWN) else None
        rows = position.row_version if position else None
        return Pinned(self.source(name), self.head(name), rows=rows)

    def moment(self, name: TableName, point: SourcePoint | Position) -> datetime:
        """When a version of a table was committed; before everything if nobody knows."""
        known = point.committed_at if isinstance(point, SourcePoint) else None
        if known is None and point.version is not None:
            known = self.tables.moment(name, point.version, self.session)
        return known or NEVER

    def source(self, name: TableName) -> Source:
        """The table as a source; Spark is asked for only when rows are read through it."""
        return self.tables.source(name, self.session)
