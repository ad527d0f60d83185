"""One atomic move of an Iceberg table: write on a branch, prove it, fast-forward main to it.

The fence is `fast_forward` alone: it moves main only if main is still below the branch, and the
branch starts at the snapshot that the run was *planned* from. What a failed statement did is never
guessed from its error: the table's own history is read again, and that decides.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe.errors import (
    CheckFailedError,
    ConflictError,
    GrebeError,
    InternalError,
    StepFailedError,
    UnknownOutcomeError,
)
from grebe.formats.base import Append, Committed, Merge, Overwrite, Rows, Write
from grebe.formats.failpoints import reach
from grebe.formats.iceberg import statements
from grebe.formats.iceberg.history import (
    BrokenChainError,
    HistoryReader,
    Lineage,
    changed_rows,
    count,
)
from grebe.formats.iceberg.metadata import Snapshot
from grebe.formats.iceberg.position import (
    PART,
    RUN,
    THIS,
    Label,
    branch_of,
    is_maintenance,
)
from grebe.formats.iceberg.session import snapshot_properties
from grebe.model import Frontier, Position, RunId, TableName, Version

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
TRIES = 5
BRANCH_DAYS = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """One statement on the branch, and what it must find in the table."""

    sql: str
    merge: Merge | None = None


@dataclass(frozen=True, slots=True)
class Run:
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
class Committer:
    """Publishes runs to one table through one session that nobody else writes with meanwhile."""

    session: SparkSession
    name: TableName
    reader: HistoryReader

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """The published run. See `grebe.formats.base.Storage.commit`."""
        refuse_untrusted(self.name, writes, frontier.run_id, expected)
        base = None if expected.version is None else int(expected.version)
        run = Run(frontier.run_id, tuple(writes), frontier, base, expected.row_version)
        reach("iceberg.begun")
        lineage = self._read()
        if (landed := self._landed(lineage, run)) is not None:
            return self._finish(run, landed)
        if run.branch in lineage.now.refs:
            raise ConflictError(
                f'run "{run.id}" has begun on table "{self.name}" before',
                hint="start again under a new run id",
                run_id=run.id,
            )
        for _ in range(REAPPLIES + 1):
            run = self._rebased(run, self._read())
            landed = self._attempt(run)
            if landed is not None:
                return self._finish(run, landed)
        raise ConflictError(
            f'table "{self.name}" was compacted {REAPPLIES + 1} times during one commit',
            run_id=run.id,
        )

    def _attempt(self, run: Run) -> list[Snapshot] | None:
        """The run's published snapshots, or None when main moved and the run must start again."""
        reach("iceberg.planned")
        root = self._open_branch(run)
        if root is None:
            return None
        try:
            reach("iceberg.branched")
            written = self._write(run, root)
            reach("iceberg.proved")
            landed = self._publish(run, written[-1].id)
        except UnknownOutcomeError:
            raise
        except Exception as error:
            self.drop_branch(run.id)
            raise self._explained(run, error) from error
        if landed:
            return written
        self.drop_branch(run.id)
        return None

    def _open_branch(self, run: Run) -> int | None:
        """The snapshot under the new branch, or None when main is no longer where it was planned.

        On an empty table the branch cannot be pinned to a version: it forks whatever main is then.
        So its root must be a snapshot of its own, or somebody published first.
        """
        cause: Exception | None = None
        for _ in range(TRIES):
            try:
                self._sql(
                    statements.create_branch(self.name, run.branch, run.base, self._days(run))
                )
            except Exception as error:  # the history decides what it means
                cause = error
            lineage = self._read()
            root = lineage.now.refs.get(run.branch)
            if root is not None:
                own = root == run.base if run.base is not None else _is_own_root(lineage, root)
                if own:
                    return root
                self.drop_branch(run.id)
                return None
            if lineage.now.head != run.base:
                return None
        raise StepFailedError(
            f'no branch can be made on table "{self.name}"',
            detail=_first_line(cause),
            run_id=run.id,
            step="branch",
        ) from cause

    def _days(self, run: Run) -> int:
        """Days to keep the branch: expiry counts from the age of the snapshot it points to."""
        base = None if run.base is None else self._read().now.snapshots.get(run.base)
        age = 0 if base is None else (datetime.now(UTC) - base.committed_at).days
        return BRANCH_DAYS + max(0, age)

    def _write(self, run: Run, root: int) -> list[Snapshot]:
        """The snapshots of the run's parts, in order, each proved to stand on the one before."""
        written: list[Snapshot] = []
        with self._parts(run) as parts:
            for number, part in enumerate(parts, start=1):
                label = Label(run.id, number, len(parts))
                if number == len(parts):
                    label = replace(
                        label,
                        frontier=run.frontier.to_json(),
                        row_version=_row_version_before(run, written),
                    )
                with snapshot_properties(self.session, label.properties):
                    self._sql(part.sql)
                below = written[-1].id if written else root
                snapshot = self._tip(run, label, below)
                check_expected(self.name, run.id, part.merge, snapshot)
                written.append(snapshot)
                reach("iceberg.written")
        return written

    @contextmanager
    def _parts(self, run: Run) -> Iterator[list[Part]]:
        schema = self.session.table(self.name.quoted()).schema
        target = statements.Target(self.name, run.branch, schema)
        views: list[str] = []
        try:
            parts: list[Part] = []
            for write in run.writes:
                view = f"__grebe_rows_{run.id}_{len(views)}"
                rows = self._query(write.rows, view) or target.no_rows()
                views.append(view)
                parts += statements_of(target, write, rows)
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
        self.session.createDataFrame(rows.arrow).createOrReplaceTempView(view)
        return f"SELECT * FROM {statements.quote(view)}"

    def _tip(self, run: Run, label: Label, below: int) -> Snapshot:
        """The snapshot that a part just made: exactly one, right above the one before.

        A branch that vanished while its write ran comes back on top of whatever main is then.
        """
        lineage = self._read()
        tip = lineage.now.tip(run.branch)
        if tip is not None and tip.parent == below:
            written = {key: tip.summary.get(key) for key in (RUN, PART)}
            if written == {key: label.properties[key] for key in (RUN, PART)}:
                return tip
        raise ConflictError(
            f'branch "{run.branch}" of table "{self.name}" was changed by somebody else',
            run_id=run.id,
        )

    def _publish(self, run: Run, tip: int) -> bool:
        """True when main reached the run, False when it moved elsewhere."""
        cause: Exception | None = None
        for _ in range(TRIES):
            try:
                reach("iceberg.publish.request")
                self._sql(statements.fast_forward(self.name, run.branch))
                reach("iceberg.publish.reply")
            except Exception as error:  # the history decides what it means
                cause = error
            else:
                return True
            landed = self._outcome(run, tip, cause)
            if landed is not None:
                return landed
        # A request may still be under way: without its branch it can no longer land.
        self.drop_branch(run.id)
        if self._outcome(run, tip, cause):
            return True
        raise StepFailedError(
            f'run "{run.id}" cannot be published to table "{self.name}"',
            detail=_first_line(cause),
            run_id=run.id,
            step="publish",
        ) from cause

    def _outcome(self, run: Run, tip: int, cause: Exception | None) -> bool | None:
        """Whether the run landed, read from the table; None when main did not move at all."""
        try:
            reach("iceberg.outcome")
            lineage = self._read()
            if lineage.now.head == run.base:
                return None
            return any(snapshot.id == tip for snapshot in lineage.walk(lineage.now.head))
        except Exception as error:
            raise UnknownOutcomeError(
                f'it is unknown whether run "{run.id}" landed in table "{self.name}"',
                detail=f"{_first_line(cause)}; then: {_first_line(error)}",
                hint="nothing was deleted; the next refresh reads the table and knows",
                run_id=run.id,
                step="publish",
            ) from error

    def _finish(self, run: Run, landed: list[Snapshot]) -> Committed:
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

    def drop_branch(self, run_id: RunId) -> None:
        """Drop the run's branch; a failure is only told."""
        self._quietly(statements.drop_branch(self.name, branch_of(run_id)), "a branch is left")

    def _quietly(self, sql: str, harm: str) -> None:
        cause: Exception | None = None
        for _ in range(TRIES):
            try:
                self._sql(sql)
            except Exception as error:  # a later run or recovery makes up for it
                cause = error
            else:
                return
        log.warning('table "%s": %s: %s', self.name, harm, _first_line(cause))

    def _rebased(self, run: Run, lineage: Lineage) -> Run:
        """The run on top of maintenance that happened since; ConflictError for anything else."""
        if lineage.now.head == run.base:
            return run
        try:
            gained = lineage.since(run.base)
        except BrokenChainError as broken:
            raise self._conflict(run, str(broken)) from broken
        if gained is None or run.base is None or not all(map(is_maintenance, gained)):
            raise self._conflict(run, f"main is at {lineage.now.head}, planned from {run.base}")
        return replace(run, base=lineage.now.head)

    def _conflict(self, run: Run, detail: str) -> ConflictError:
        return ConflictError(
            f'somebody else moved table "{self.name}" first',
            detail=detail,
            hint="refresh again",
            run_id=run.id,
        )

    def _explained(self, run: Run, error: Exception) -> Exception:
        """The typed error for a statement that failed on the branch."""
        if isinstance(error, GrebeError):
            return error
        if "MERGE_CARDINALITY_VIOLATION" in str(error):
            return CheckFailedError(
                f'several changes claim one stored row of table "{self.name}"', run_id=run.id
            )
        try:
            self._rebased(run, self._read())
        except GrebeError as moved:
            return moved
        except Exception:  # the first error says more
            log.debug("the table cannot be read again either", exc_info=True)
        return StepFailedError(
            f'run "{run.id}" cannot write to table "{self.name}"',
            detail=_first_line(error),
            run_id=run.id,
            step="write",
        )

    def _landed(self, lineage: Lineage, run: Run) -> list[Snapshot] | None:
        """The run's own snapshots, when it was published before under the same id."""
        try:
            gained = lineage.since(run.base) or []
        except BrokenChainError:
            return None
        own = [snapshot for snapshot in gained if snapshot.summary.get(RUN) == str(run.id)]
        return list(reversed(own)) or None

    def _read(self) -> Lineage:
        return Lineage(self.reader, self.reader.read())

    def _sql(self, text: str) -> None:
        self.session.sql(text).collect()


def refuse_untrusted(
    name: TableName, writes: Sequence[Write], run_id: RunId, expected: Position
) -> None:
    """Nothing, or CheckFailedError when a change would be applied to rows that are not ours."""
    trusted = not expected.foreign and expected.unproven is None
    if trusted or (writes and isinstance(writes[0], Overwrite)):
        return
    raise CheckFailedError(
        f'rows of table "{name}" cannot be trusted, so no change can be applied to them',
        detail=expected.unproven or "written by somebody else: " + ", ".join(expected.foreign),
        hint="rebuild the view",
        code="frontier-unproven" if expected.unproven else "foreign-write",
        run_id=run_id,
    )


def statements_of(target: statements.Target, write: Write, rows: str) -> list[Part]:
    """The statements that make one write."""
    match write:
        case Append():
            return [Part(target.append(rows))]
        case Overwrite():
            return [Part(target.overwrite(rows))]
        case Merge() if write.unique and write.expect_deleted is None:
            raise InternalError.broken("a merge on a unique key needs its expected deletes")
        case Merge() if write.target_is_large:
            matched = Part(target.merge(write, rows, inserts=False), write)
            return [matched, Part(target.append(rows, only="insert"))]
        case Merge():
            return [Part(target.merge(write, rows, inserts=True), write)]


METRIC = "spark.merge-into.num-target-rows-"


def check_expected(name: TableName, run_id: RunId, merge: Merge | None, snapshot: Snapshot) -> None:
    """Nothing, or CheckFailedError when stored rows contradict the change that was merged."""
    if merge is None:
        return
    for kind, wanted in (("updated", merge.expect_updated), ("deleted", merge.expect_deleted)):
        found = _merged(snapshot, kind)
        if wanted is not None and found != wanted:
            raise CheckFailedError(
                f'stored rows of table "{name}" contradict the change',
                detail=f"{wanted} stored rows should be {kind}, {found} were found",
                hint="rebuild the view, and report this with its definition",
                run_id=run_id,
                step="write",
            )


def _merged(snapshot: Snapshot, kind: str) -> int | None:
    """Stored rows updated or deleted by a MERGE; None when Spark did not say and rows changed."""
    text = snapshot.summary.get(METRIC + kind)
    if text is not None:
        return int(text)
    return None if changed_rows(snapshot) else 0


def committed(landed: Sequence[Snapshot]) -> Committed:
    """The storage version of a published run and what its parts wrote."""
    inserted = updated = deleted = 0
    for snapshot in landed:
        if METRIC + "inserted" in snapshot.summary:
            inserted += count(snapshot, METRIC + "inserted")
            updated += count(snapshot, METRIC + "updated")
            deleted += count(snapshot, METRIC + "deleted")
        else:
            inserted += count(snapshot, "added-records")
            masked = count(snapshot, "removed-position-deletes")
            deleted += count(snapshot, "deleted-records") - masked
    return Committed(Version(str(landed[-1].id)), inserted, updated, deleted)


def _row_version_before(run: Run, written: Sequence[Snapshot]) -> str:
    """What the last part says of rows: moved by an earlier part, or still those of before."""
    if run.row_version is None or any(changed_rows(snapshot) for snapshot in written):
        return THIS
    return str(run.row_version)


def _is_own_root(lineage: Lineage, root: int) -> bool:
    snapshot = lineage.now.snapshots.get(root)
    return snapshot is not None and snapshot.parent is None and lineage.now.head != root


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().partition("\n")[0] if error is not None else "no cause known"
