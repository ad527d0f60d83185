"""One atomic move of an Iceberg table: write on a branch, prove it, fast-forward main to it.

The fence is `fast_forward` alone: it moves main only if main is still below the branch, and the
branch starts at the snapshot that the run was *planned* from. What a failed statement did is never
guessed from its error: the table's own history is read again, and that decides.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from grebe.errors import (
    CheckFailedError,
    ConflictError,
    GrebeError,
    InternalError,
    UnknownOutcomeError,
)
from grebe.formats.base import Committed, Rows, Write
from grebe.formats.failpoints import reach
from grebe.formats.frames import same_types
from grebe.formats.iceberg import statements
from grebe.formats.iceberg.driver_commit import SnapshotWriter, can_write
from grebe.formats.iceberg.driver_snapshot import NewSnapshot, SnapshotBase
from grebe.formats.iceberg.history import BrokenChainError, HistoryReader, Lineage, changed_rows
from grebe.formats.iceberg.metadata import IcebergSnapshot
from grebe.formats.iceberg.position import THIS, CommitLabel, branch_of, is_maintenance
from grebe.formats.iceberg.snapshot_properties import snapshot_properties
from grebe.formats.iceberg.write_parts import (
    Part,
    check_expected,
    committed,
    parts_of,
)
from grebe.formats.storage_errors import conflict, failed, first_line, refuse_untrusted, unknown
from grebe.model import Frontier, Position, RunId, TableName, Version
from grebe.sql_text import quote
from grebe.stored_properties import PART, RUN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACES = (
    "iceberg.begun",
    "iceberg.planned",
    "iceberg.branched",
    "iceberg.written",
    "iceberg.proved",
    "iceberg.publish.request",
    "iceberg.publish.reply",
    "iceberg.published",
    "iceberg.tagged",
    "iceberg.dropped",
)
"""The places between the steps of a commit, in order, where tests can interfere."""

REAPPLIES = 3
PATIENCE_SECONDS = 30
PAUSES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0)
"""Before each attempt at a statement: a catalog that is down for a moment is not hurried."""
BRANCH_DAYS = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IcebergRun:
    """One commit under way: what to write, and the snapshot that it is planned from."""

    id: RunId
    writes: tuple[Write, ...]
    frontier: Frontier
    base: int | None
    row_version: Version | None

    @property
    def branch(self) -> str:
        """The branch of the run."""
        return branch_of(self.id)


@dataclass(frozen=True, slots=True)
class IcebergCommitter:
    """Publishes runs to one table through one session that nobody else writes with meanwhile."""

    session: SparkSession
    name: TableName
    reader: HistoryReader
    driver: SnapshotWriter | None = None
    """Makes small commits without Spark, where that can be."""

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """The published run. See `grebe.formats.base.Storage.commit`."""
        refuse_untrusted(self.name, writes, frontier.run_id, expected)
        base = None if expected.version is None else int(expected.version)
        run = IcebergRun(frontier.run_id, tuple(writes), frontier, base, expected.row_version)
        reach("iceberg.begun")
        lineage = self._read()
        if (landed := _landed(lineage, run)) is not None:
            return self._finish(run, landed)
        if run.branch in lineage.now.refs:
            raise ConflictError(
                f'run "{run.id}" has begun on table "{self.name}" before',
                hint="start again under a new run id",
                run_id=run.id,
            )
        for _ in range(REAPPLIES + 1):
            run = self._rebased(run, lineage)
            landed = self._on_driver(run)
            if landed is _BY_SPARK:
                landed = self._attempt(run, _age_in_days(lineage, run.base))
            elif landed is not None:
                reach("iceberg.published")
                return committed(landed)
            if landed is not None:
                return self._finish(run, landed)
            lineage = self._read()
        raise conflict(
            self.name, run.id, f"it was compacted {REAPPLIES + 1} times during one commit"
        )

    def _on_driver(self, run: IcebergRun) -> list[IcebergSnapshot] | None:
        """The run's snapshot, published without Spark; None when main moved, `_BY_SPARK` where Spark has to.

        The catalog's row is the fence: it is set only while it holds the metadata that the run was
        planned from.
        """
        if self.driver is None or run.base is None or not can_write(run.writes):
            return _BY_SPARK
        reach("iceberg.planned")
        base = self.driver.base(run.base)
        if base is None:
            return _BY_SPARK
        label = CommitLabel(run.id, 1, 1, run.frontier.to_json(), _row_version(run, []))
        try:
            made = self.driver.prepared(base, run.writes, dict(label.properties), run.id)
        except OSError as error:
            raise failed(self.name, run.id, "write", error) from error
        if made is None:
            return _BY_SPARK
        reach("iceberg.written")
        reach("iceberg.proved")
        if not self._pointed(run, base, made):
            self.driver.discard(base, made, run.id)
            return None
        self.driver.clean(made)
        return [self._read().now.snapshots[made.id]]

    def _pointed(self, run: IcebergRun, base: SnapshotBase, made: NewSnapshot) -> bool:
        """True when the catalog points to the run's snapshot, False when somebody was faster."""
        assert self.driver is not None
        cause: Exception | None = None
        for _ in self._tries():
            try:
                reach("iceberg.publish.request")
                swapped = self.driver.publish(base, made)
                reach("iceberg.publish.reply")
            except Exception as error:  # the history decides what it means
                cause = error
            else:
                if swapped:
                    return True
            landed = self._outcome(run, made.id, cause)
            if landed is not None:
                return landed
            if cause is None:
                return False  # main is where it was, and something else of the table moved
        raise unknown(self.name, run.id, "publish", cause) from cause

    def _attempt(self, run: IcebergRun, age: int) -> list[IcebergSnapshot] | None:
        """The run's published snapshots, or None when main moved and the run must start again."""
        reach("iceberg.planned")
        # Expiry counts the days of a branch from the age of the snapshot that it points to.
        root = self._open_branch(run, BRANCH_DAYS + age)
        if root is None:
            return None
        try:
            reach("iceberg.branched")
            written = self._write(run, root)
            reach("iceberg.proved")
            landed = self._publish(run, written[-1].id)
        except UnknownOutcomeError:
            raise
        except GrebeError:
            self.drop_branch(run.id)
            raise
        except Exception as error:
            self.drop_branch(run.id)
            raise self._explained(run, error) from error
        if landed:
            return written
        self.drop_branch(run.id)
        return None

    def _open_branch(self, run: IcebergRun, days: int) -> int | None:
        """The snapshot under the new branch, or None when main is no longer where it was planned.

        On an empty table the branch cannot be pinned to a version: it forks whatever main is then.
        So its root must be a snapshot of its own, or somebody published first.
        """
        sql = statements.create_branch(self.name, run.branch, run.base, days)
        cause: Exception | None = None
        for _ in self._tries():
            try:
                self._sql(sql)
            except Exception as error:  # the history decides what it means
                cause = error
            else:
                if run.base is not None:
                    return run.base
            lineage = self._read()
            root = lineage.now.refs.get(run.branch)
            if root is not None:
                if root == run.base or (run.base is None and _is_own_root(lineage, root)):
                    return root
                self.drop_branch(run.id)
                return None
            if lineage.now.head != run.base:
                return None
        raise failed(self.name, run.id, "branch", cause) from cause

    def _write(self, run: IcebergRun, root: int) -> list[IcebergSnapshot]:
        """The snapshots of the run's parts, in order, each proved to stand on the one before."""
        written: list[IcebergSnapshot] = []
        with self._parts(run) as parts:
            for number, part in enumerate(parts, start=1):
                label = CommitLabel(run.id, number, len(parts))
                if number == len(parts):
                    rows = _row_version(run, written)
                    label = replace(label, frontier=run.frontier.to_json(), row_version=rows)
                with snapshot_properties(self.session, label.properties):
                    self._sql(part.sql)
                snapshot = self._tip(run, label, written[-1].id if written else root)
                check_expected(self.name, run.id, part.merge, snapshot)
                written.append(snapshot)
                reach("iceberg.written")
        return written

    @contextmanager
    def _parts(self, run: IcebergRun) -> Iterator[list[Part]]:
        schema = self.session.table(self.name.quoted()).schema
        target = statements.IcebergTarget(self.name, run.branch, schema)
        views: list[str] = []
        try:
            parts: list[Part] = []
            for write in run.writes:
                views.append(re.sub(r"\W", "_", f"__grebe_rows_{run.id}_{len(views)}"))
                rows = self._query(write.rows, views[-1]) or target.no_rows()
                parts += parts_of(target, write, rows)
            yield parts or [Part(target.nothing())]
        finally:
            for view in views:
                self.session.catalog.dropTempView(view)

    def _query(self, rows: Rows, view: str) -> str | None:
        """The rows as a query, those of the driver through a view; None for an empty table."""
        if rows.sql is not None:
            return rows.sql
        if rows.arrow is None:
            raise InternalError.broken("rows to write are neither a query nor a table")
        if rows.arrow.num_rows == 0:
            return None
        same_types(self.session, rows.arrow).createOrReplaceTempView(view)
        return f"SELECT * FROM {quote(view)}"

    def _tip(self, run: IcebergRun, label: CommitLabel, below: int) -> IcebergSnapshot:
        """The snapshot that a part just made: exactly one, right above the one before.

        A branch that vanished while its write ran comes back on top of whatever main is then.
        """
        tip = self._read().now.tip(run.branch)
        wanted = {key: label.properties[key] for key in (RUN, PART)}
        if tip is None or tip.parent != below or wanted.items() - tip.summary.items():
            raise conflict(self.name, run.id, f'branch "{run.branch}" was changed by somebody else')
        return tip

    def _publish(self, run: IcebergRun, tip: int) -> bool:
        """True when main reached the run, False when it moved elsewhere."""
        sql = statements.fast_forward(self.name, run.branch)
        cause: Exception | None = None
        for _ in self._tries():
            try:
                reach("iceberg.publish.request")
                self._sql(sql)
                reach("iceberg.publish.reply")
            except Exception as error:  # the history decides what it means
                cause = error
            else:
                return True
            landed = self._outcome(run, tip, cause)
            if landed is not None:
                return landed
        # A request may still be under way: without its branch it can no longer land.
        if not self.drop_branch(run.id):
            raise unknown(self.name, run.id, "publish", cause)
        if self._outcome(run, tip, cause):
            return True
        raise failed(self.name, run.id, "publish", cause) from cause

    def _outcome(self, run: IcebergRun, tip: int, cause: Exception | None) -> bool | None:
        """Whether the run landed, read from the table; None when main did not move at all.

        A catalog that is down when it should publish is down a moment later, too: it is asked again
        before anybody calls the outcome unknown.
        """
        unread: Exception | None = None
        for _ in self._tries():
            try:
                reach("iceberg.outcome")
                lineage = self._read()
                if lineage.now.head == run.base:
                    return None
                return any(snapshot.id == tip for snapshot in lineage.walk(lineage.now.head))
            except Exception as error:
                unread = error
        raise unknown(self.name, run.id, "publish", cause) from unread

    def _finish(self, run: IcebergRun, landed: list[IcebergSnapshot]) -> Committed:
        """What was committed, after its tag is set and its branch is gone, or left to recovery."""
        reach("iceberg.published")
        self.settle(run.id, landed[-1].id)
        return committed(landed)

    def settle(self, run_id: RunId, tip: int) -> None:
        """Move the tag to a published snapshot and drop the run's branch; failures are only told."""
        self._quietly(statements.move_tag(self.name, tip), "the tag is behind")
        reach("iceberg.tagged")
        self.drop_branch(run_id)
        reach("iceberg.dropped")

    def drop_branch(self, run_id: RunId) -> bool:
        """True when the run's branch is gone; a failure is only told."""
        return self._quietly(statements.drop_branch(self.name, branch_of(run_id)), "a branch stays")

    def _quietly(self, sql: str, harm: str) -> bool:
        cause: Exception | None = None
        for _ in self._tries():
            try:
                self._sql(sql)
            except Exception as error:  # a later run or recovery makes up for it
                cause = error
            else:
                return True
        log.warning('table "%s": %s: %s', self.name, harm, first_line(cause))
        return False

    def _rebased(self, run: IcebergRun, lineage: Lineage) -> IcebergRun:
        """The run on top of maintenance that happened since; ConflictError for anything else."""
        if lineage.now.head == run.base:
            return run
        try:
            gained = lineage.since(run.base)
        except BrokenChainError as broken:
            raise conflict(self.name, run.id, str(broken)) from broken
        if gained is None or run.base is None or not all(map(is_maintenance, gained)):
            raise conflict(
                self.name, run.id, f"main is at {lineage.now.head}, planned from {run.base}"
            )
        return replace(run, base=lineage.now.head)

    def _explained(self, run: IcebergRun, error: Exception) -> GrebeError:
        """The typed error for a statement that failed on the branch."""
        if "MERGE_CARDINALITY_VIOLATION" in str(error):
            return CheckFailedError(
                f'several changes claim one stored row of table "{self.name}"', run_id=run.id
            )
        try:
            self._rebased(run, self._read())
        except ConflictError as moved:
            return moved
        except Exception:  # the first error says more
            log.debug("the table cannot be read again either", exc_info=True)
        return failed(self.name, run.id, "write", error)

    def _tries(self) -> Iterator[int]:
        """Attempts at a statement, as long as they fail quickly: a dead server is not asked again."""
        begun = monotonic()
        for number, pause in enumerate(PAUSES):
            if monotonic() - begun < PATIENCE_SECONDS:
                sleep(pause)
                yield number

    def _read(self) -> Lineage:
        return Lineage(self.reader, self.reader.read())

    def _sql(self, text: str) -> None:
        self.session.sql(text).collect()


_BY_SPARK: Final[list[IcebergSnapshot]] = []
"""Says that a commit is not one that the driver makes."""


def _landed(lineage: Lineage, run: IcebergRun) -> list[IcebergSnapshot] | None:
    """The run's own snapshots, when it was published before under the same id."""
    try:
        gained = lineage.since(run.base) or []
    except BrokenChainError:
        return None
    own = [snapshot for snapshot in gained if snapshot.summary.get(RUN) == run.id]
    return own[::-1] or None


def _age_in_days(lineage: Lineage, snapshot_id: int | None) -> int:
    snapshot = None if snapshot_id is None else lineage.now.snapshots.get(snapshot_id)
    return 0 if snapshot is None else max(0, (datetime.now(UTC) - snapshot.committed_at).days)


def _row_version(run: IcebergRun, written: Sequence[IcebergSnapshot]) -> str:
    """What the last part says of rows: moved by an earlier part, or still those of before."""
    if run.row_version is None or any(changed_rows(snapshot) for snapshot in written):
        return THIS
    return str(run.row_version)


def _is_own_root(lineage: Lineage, root: int) -> bool:
    snapshot = lineage.now.snapshots.get(root)
    return snapshot is not None and snapshot.parent is None and lineage.now.head != root
