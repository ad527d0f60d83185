"""An Iceberg table that holds a view: made, read and moved by grebe alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grebe.formats.base import Committed, Orphan, Write
from grebe.formats.iceberg import statements
from grebe.formats.iceberg.commit import IcebergCommitter
from grebe.formats.iceberg.driver_commit import SnapshotWriter
from grebe.formats.iceberg.history import HistoryReader, Lineage, SparkReader, first_seen
from grebe.formats.iceberg.position import find_run, read_position, run_of
from grebe.formats.storage_errors import refuse_other_columns, refused_partitions
from grebe.model import Frontier, Partition, Position, RunId, Schema, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # Changes are small: a shuffle before the write costs more than a few files too many.
    "write.delete.distribution-mode": "none",
    "write.update.distribution-mode": "none",
    "write.merge.distribution-mode": "none",
    "commit.retry.num-retries": "10",
    "write.metadata.previous-versions-max": "200",
    "write.metadata.delete-after-commit.enabled": "true",
}


@dataclass(frozen=True, slots=True)
class IcebergStorage:
    """The storage table of one view.

    ``session`` must be one that nobody else writes with during a commit, with the cache of its
    catalog off. ``reader`` reads the metadata without Spark where the driver can reach it; without
    one Spark's metadata tables are asked.
    """

    session: SparkSession
    name: TableName
    reader: HistoryReader | None = None
    format_version: int = 3
    small_commits: bool = False
    """Whether the driver makes small commits itself, where it can."""

    @property
    def commits_on_driver(self) -> bool:
        """Whether the driver can commit to this table, if it is of a form that it writes."""
        return self.small_commits and SnapshotWriter.of(self.name, self.reader) is not None

    def create(
        self,
        schema: Schema,
        properties: Mapping[str, str],
        partitions: Sequence[Partition] = (),
    ) -> None:
        """Make the empty table; an existing one with the same columns is left alone."""
        columns = {column.name: column.type for column in schema.columns}
        settings = {"format-version": str(self.format_version), **SETTINGS, **properties}
        items = statements.partition_items(partitions)
        try:
            self.session.sql(statements.create_table(self.name, columns, settings, items)).collect()
        except Exception as error:
            if partitions:
                raise refused_partitions(partitions, error) from error
            raise
        stored = [field.name for field in self.session.table(self.name.quoted()).schema.fields]
        refuse_other_columns(self.name, stored, list(columns))

    def position(self) -> Position:
        """The last published frontier and the version it was read at."""
        return read_position(self._read())

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """Move main once, rows and frontier together, if it is still at ``expected``."""
        return self._committer().commit(writes, frontier, expected)

    def orphans(self) -> tuple[Orphan, ...]:
        """The branches of runs that did not finish, running ones included, oldest first."""
        reader = self._reader()
        found = [
            Orphan(run_id, first_seen(reader, ref))
            for ref in reader.read().refs
            if (run_id := run_of(ref)) is not None
        ]
        return tuple(sorted(found, key=lambda orphan: (orphan.since, orphan.run_id)))

    def abandon(self, run_id: RunId) -> None:
        """Drop the run's branch; a run that was published last gets the tag that it may lack."""
        published = find_run(self._read(), run_id)
        if published is None:
            self._committer().drop_branch(run_id)
        else:
            self._committer().settle(run_id, published)

    def compact(self) -> None:
        """Rewrite small files into few, in a commit that says it replaced rows by themselves."""
        self.session.sql(statements.compact(self.name)).collect()

    def _committer(self) -> IcebergCommitter:
        driver = SnapshotWriter.of(self.name, self.reader) if self.small_commits else None
        return IcebergCommitter(self.session, self.name, self._reader(), driver)

    def _reader(self) -> HistoryReader:
        return self.reader or SparkReader(self.session, self.name)

    def _read(self) -> Lineage:
        reader = self._reader()
        return Lineage(reader, reader.read())
