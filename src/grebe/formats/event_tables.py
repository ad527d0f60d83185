"""The table of a stream view, reached without Spark: what a format offers to whoever stores events.

It is the same storage table as every view's, and moves by the same commit. What is added here is what
a driver without Spark needs besides: to make the table, and to read its own rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from grebe.formats.base import Committed, Write
from grebe.model import Frontier, Position, Schema, TableName, Version
from grebe.sql_text import made

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = made("batch")
"""The column that says which batch a row came with."""
EVENT = made("event")
"""The column with the place of the event in its batch."""
AT = made("at")
"""The column that says when the event was received."""
DEAD = made("dead")
"""The column that is NULL for rows, and says of a dead letter why it is one."""
RAW = made("raw")
"""The column with the text of a dead letter."""
HIDDEN = (
    (BATCH, "STRING"),
    (EVENT, "BIGINT"),
    (AT, "TIMESTAMP"),
    (DEAD, "STRING"),
    (RAW, "BINARY"),
)


class EventTable(Protocol):
    """The storage table of one stream view."""

    @property
    def name(self) -> TableName: ...

    def create(self, schema: Schema, properties: Mapping[str, str]) -> None:
        """Make the empty table; one that is there is left alone."""

    def widen(self, schema: Schema) -> None:
        """Add the columns that the table does not have yet."""

    def position(self) -> Position:
        """The last published frontier and the version it was read at."""

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """Move the table once, rows and frontier together; see `grebe.formats.base.Storage.commit`."""

    def rows(
        self,
        columns: Sequence[str],
        since: datetime | None = None,
        beyond: tuple[str, int] | None = None,
    ) -> pa.Table:
        """Some columns of the rows that are stored.

        Of those received since then at least, and of those at least whose column is as large.
        """

    def added(self, after: Version, columns: Sequence[str]) -> pa.Table | None:
        """The same of the rows that came after a version; None where that cannot be told."""

    def columns(self) -> Mapping[str, str]:
        """The columns that the table has, with their types in Spark SQL."""

    def publish(self, name: TableName, select: str) -> None:
        """Make a public name show what a SELECT says."""

    def keep(self, properties: Mapping[str, str]) -> None:
        """Put these beside the other properties of the table."""

    def compact(self) -> None:
        """Make few files of many, where there are many."""

    def expire(self, before: datetime) -> None:
        """Give the disk back that versions from before a moment take."""
