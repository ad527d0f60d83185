"""A Delta table that holds a view: made, read and moved by grebe alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grebe.formats.base import Committed, Orphan, Write
from grebe.formats.delta import statements, stats
from grebe.formats.delta.commit import CHECKPOINT_EVERY, DeltaCommitter
from grebe.formats.delta.log import Log
from grebe.formats.delta.position import read_position
from grebe.formats.delta.schema import DeltaSchema
from grebe.formats.storage_errors import refuse_other_columns, refused_partitions
from grebe.model import Frontier, Partition, Position, RunId, Schema, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    # Views over this view read its feed and not the files that a merge rewrote.
    "delta.enableChangeDataFeed": "true",
    "delta.checkpointInterval": str(CHECKPOINT_EVERY),
}
_ODD = re.compile(r"[ ,;{}()\n\t=]")


@dataclass(frozen=True, slots=True)
class DeltaStorage:
    """The storage table of one view.

    ``table`` is its name in SQL, ``log`` gives its log as it is now. ``session`` must be one that
    nobody else writes with during a commit.
    """

    session: SparkSession
    name: TableName
    table: str
    log: Callable[[], Log]
    by_driver: bool = True
    """Let delta-rs make small commits; without it every commit is a Spark statement."""

    @property
    def commits_on_driver(self) -> bool:
        """False: a merge costs no more here than all rows anew."""
        return False

    def create(
        self,
        schema: Schema,
        properties: Mapping[str, str],
        partitions: Sequence[Partition] = (),
    ) -> None:
        """Make the empty table; an existing one with the same columns is left alone."""
        columns = {column.name: column.type for column in schema.columns}
        divided = [part.column for part in partitions]
        settings = {**SETTINGS, **stats.settings(columns, divided), **properties}
        if any(_ODD.search(name) for name in columns):
            settings["delta.columnMapping.mode"] = "name"
        items = statements.partition_items(partitions)
        try:
            self.session.sql(
                statements.create_table(self.table, columns, settings, items)
            ).collect()
        except Exception as error:
            if partitions:
                raise refused_partitions(partitions, error) from error
            raise
        log = self.log()
        metadata, _ = log.described(log.refreshed().head)
        stored = [field.name for field in DeltaSchema.of(metadata).fields]
        refuse_other_columns(self.name, stored, list(columns))

    def position(self) -> Position:
        """The last published frontier and the version it was read at."""
        return read_position(self.log())

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """Move the table once, rows and frontier together, if it is still at ``expected``."""
        committer = DeltaCommitter(self.session, self.name, self.table, self.log(), self.by_driver)
        return committer.commit(writes, frontier, expected)

    def orphans(self) -> tuple[Orphan, ...]:
        """Nothing: what an unfinished run wrote is in no commit, and VACUUM removes it."""
        return ()

    def abandon(self, run_id: RunId) -> None:
        """Nothing: an unpublished run left nothing that anybody could see."""

    def compact(self) -> None:
        """OPTIMIZE: a commit whose files say that no row changed."""
        self.session.sql(f"OPTIMIZE {self.table}").collect()
