"""One atomic move of a Delta table: one commit that carries rows and frontier together.

Who made a commit is never guessed from what a writer returned: the log is read from the planned
version on, and exactly one commit with the run's id means that the run landed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from grebe.errors import (
    CheckFailedError,
    GrebeError,
    HistoryExpiredError,
)
from grebe.formats.base import Committed, Write
from grebe.formats.delta.actions import Commit
from grebe.formats.delta.driver_writes import DriverWriter, suits
from grebe.formats.delta.labels import DeltaLabel
from grebe.formats.delta.log import Log
from grebe.formats.delta.outcome import committed
from grebe.formats.delta.partitions import failed_on
from grebe.formats.delta.plain_append import PlainAppendWriter, is_plain
from grebe.formats.delta.position import find_run, is_maintenance, named
from grebe.formats.delta.spark_writes import SparkWriter
from grebe.formats.delta.statements import MUST_EXIST
from grebe.formats.delta.writes import folded
from grebe.formats.failpoints import reach
from grebe.formats.storage_errors import conflict, failed, first_line, refuse_untrusted, unknown
from grebe.model import Frontier, Position, RunId, TableName, Version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACES = (
    "delta.begun",
    "delta.planned",
    "delta.checked",
    "delta.commit.request",
    "delta.commit.reply",
    "delta.committed",
    "delta.checkpointed",
)
"""The places between the steps of a commit, in order, where tests can interfere."""

REAPPLIES = 3
TRIES = 5
CHECKPOINT_EVERY = 10

log = logging.getLogger(__name__)


class DeltaWriter(Protocol):
    """Makes one commit, or raises."""

    def write(self, write: Write | None, label: DeltaLabel) -> None: ...


@dataclass(frozen=True, slots=True)
class DeltaRun:
    """One commit under way: what to write, and the version that it is planned from."""

    id: RunId
    write: Write | None
    frontier: Frontier
    base: int
    row_version: Version | None

    @property
    def label(self) -> DeltaLabel:
        """What the commit will carry."""
        return DeltaLabel(self.id, self.base, self.frontier.to_json(), self.row_version)


@dataclass(frozen=True, slots=True)
class DeltaCommitter:
    """Publishes runs to one table."""

    session: SparkSession | None
    """None where no commit may need Spark."""
    name: TableName
    table: str
    log: Log
    by_driver: bool = True
    checkpoint_every: int = CHECKPOINT_EVERY
    plain: bool = False
    """Appends go without delta-rs where the table is a plain one."""

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """The published run. See `grebe.formats.base.Storage.commit`."""
        refuse_untrusted(self.name, writes, frontier.run_id, expected)
        base = -1 if expected.version is None else int(expected.version)
        run = DeltaRun(frontier.run_id, folded(writes), frontier, base, expected.row_version)
        reach("delta.begun")
        landed = self._landed(run)
        for _ in range(REAPPLIES + 1):
            if landed is not None:
                return self._finish(run, landed)
            run = self._rebased(run)
            landed = self._attempt(run)
        if landed is not None:
            return self._finish(run, landed)
        raise conflict(
            self.name, run.id, f"it was compacted {REAPPLIES + 1} times during one commit"
        )

    def _attempt(self, run: DeltaRun) -> Commit | None:
        """The run's commit, or None when the table moved and the run must start again."""
        reach("delta.planned")
        writer = self._writer(run)
        cause: Exception | None = None
        for _ in range(TRIES):
            try:
                writer.write(run.write, run.label)
            except GrebeError:
                raise
            except Exception as error:  # the log decides what it means
                cause = error
            landed = self._outcome(run, cause)
            if landed is not None or self.log.listing().head != run.base:
                return landed
            if cause is None or not _is_lost(cause):
                break
            if isinstance(writer, SparkWriter):  # the statement may still be under way
                raise unknown(self.name, run.id, "write", cause)
        raise self._failed(run, cause) from cause

    def _writer(self, run: DeltaRun) -> DeltaWriter:
        state = self.log.state(run.base)
        if self.plain and is_plain(run.write, state, self.log.root):
            return PlainAppendWriter(self.log)
        if self.by_driver and suits(run.write, state, self.log.files, self.log.root):
            return DriverWriter(self.name, self.log, self.log.files)
        if self.session is None:
            raise failed(self.name, run.id, "write without Spark", None)
        return SparkWriter(self.session, self.name, self.table, self.log)

    def _outcome(self, run: DeltaRun, cause: Exception | None) -> Commit | None:
        """The run's commit, read from the log; None when it did not land."""
        try:
            reach("delta.outcome")
            return self._landed(run)
        except CheckFailedError:
            raise
        except Exception as error:
            raise unknown(self.name, run.id, "write", cause or error) from error

    def _landed(self, run: DeltaRun) -> Commit | None:
        found = find_run(self.log, run.id, run.base)
        if len(found) > 1:
            raise CheckFailedError(
                f'run "{run.id}" is in table "{self.name}" more than once',
                detail=", ".join(named(commit) for commit in found),
                hint="rebuild the view",
                run_id=run.id,
            )
        return found[0] if found else None

    def _rebased(self, run: DeltaRun) -> DeltaRun:
        """The run on top of maintenance that happened since; ConflictError for anything else."""
        head = self.log.listing().head
        if head == run.base:
            return run
        if head < run.base or run.base < 0:
            raise conflict(self.name, run.id, f"planned from version {run.base}, found {head}")
        try:
            gained = list(self.log.commits(run.base, head))
        except HistoryExpiredError as broken:
            raise conflict(self.name, run.id, str(broken)) from broken
        others = [commit for commit in gained if not is_maintenance(self.log, commit)]
        if others:
            raise conflict(self.name, run.id, ", ".join(named(commit) for commit in others))
        return replace(run, base=head)

    def _finish(self, run: DeltaRun, landed: Commit) -> Committed:
        """What was committed; a checkpoint now and then, so that the log stays quick to read."""
        reach("delta.committed")
        if landed.version % self.checkpoint_every == 0 and self.log.files.on_driver:
            try:
                DriverWriter(self.name, self.log, self.log.files).checkpoint(landed.version)
            except Exception as error:  # the log without it says the same
                log.warning('table "%s": no checkpoint: %s', self.name, first_line(error))
        reach("delta.checkpointed")
        before = self.log.state(landed.version - 1) if landed.version else None
        return committed(landed, before.rows() if before else 0)

    def _failed(self, run: DeltaRun, cause: Exception | None) -> GrebeError:
        text = str(cause)
        if MUST_EXIST in text or "MULTIPLE_SOURCE_ROW_MATCHING" in text:
            return CheckFailedError(
                f'stored rows of table "{self.name}" contradict the change',
                detail=first_line(cause),
                hint="rebuild the view, and report this with its definition",
                run_id=run.id,
                step="write",
            )
        return failed_on(self.name, run.id, text) or failed(self.name, run.id, "write", cause)


_LOST = ("grpc", "UNAVAILABLE", "Py4JNetwork", "Connection refused", "Connection reset")


def _is_lost(error: Exception) -> bool:
    """Whether the connection broke, so that nobody heard what became of a request."""
    text = f"{type(error).__name__} {error}"
    return isinstance(error, ConnectionError) or any(word in text for word in _LOST)
