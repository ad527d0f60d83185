"""One atomic move of a DuckLake table: rows and the row of its frontier in one transaction.

The fence is the UPDATE of the frontier's row: it compares the frontier that the run was planned
from, and two transactions that update one row cannot both commit. What a failed statement did is
never guessed from its error: the row is read again, and that decides.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from grebe.errors import (
    ConflictError,
    GrebeError,
    StepFailedError,
    UnknownOutcomeError,
)
from grebe.formats.base import Committed, Write
from grebe.formats.ducklake.catalog_rows import CatalogRows, Table, refuse_plain
from grebe.formats.ducklake.connections import (
    TRIES,
    Address,
    Session,
    is_refusal,
    pause,
    session,
)
from grebe.formats.ducklake.position import (
    AUTHOR,
    FrontierRow,
    cursor_name,
    cursor_statements,
    extra_info,
    fence_statement,
    is_foreign,
    own_snapshot,
    read_cursor,
    read_position,
)
from grebe.formats.ducklake.schema import LakeField
from grebe.formats.ducklake.staged_rows import Staged, registered, remove_unregistered, stage
from grebe.formats.ducklake.state import read_state
from grebe.formats.ducklake.versions import VersionPoint, current
from grebe.formats.ducklake.writes import DuckLakeWriter
from grebe.formats.failpoints import reach
from grebe.formats.storage_errors import conflict, failed, refuse_untrusted, unknown
from grebe.model import Frontier, Position, RunId, TableName
from grebe.program.duckdb_text import ident, literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACES = (
    "ducklake.begun",
    "ducklake.planned",
    "ducklake.staged",
    "ducklake.opened",
    "ducklake.written",
    "ducklake.commit.request",
    "ducklake.commit.reply",
    "ducklake.published",
    "ducklake.cleaned",
)
"""The places between the steps of a commit, in order, where tests can interfere."""

_KINDS = {
    "tables_inserted_into": "inserted_into_table",
    "tables_deleted_from": "deleted_from_table",
    "tables_altered": "altered_table",
    "flushed_inlined": "inline_flush",
}
"""What DuckLake's list of snapshots calls the changes that its catalog calls otherwise."""
PATIENCE_SECONDS = 60

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DuckLakeRun:
    """One commit under way: what to write, and the position that it is planned from."""

    id: RunId
    writes: tuple[Write, ...]
    frontier: Frontier
    expected: Position


class _Busy(Exception):  # noqa: N818 - it never leaves this file
    """The catalog was busy with somebody else's commit: nothing happened, and it can be tried again."""


@dataclass(frozen=True, slots=True)
class DuckLakeCommitter:
    """Publishes runs to one table."""

    spark: SparkSession | None
    name: TableName
    address: Address

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """The published run. See `grebe.formats.base.Storage.commit`."""
        refuse_untrusted(self.name, writes, frontier.run_id, expected)
        run = DuckLakeRun(frontier.run_id, tuple(writes), frontier, expected)
        reach("ducklake.begun")
        with session(self.address) as lake:
            table = CatalogRows(lake).table(self.name)
            if (landed := self._landed(lake, run)) is not None:
                return self._finish(run, landed)
            self._refuse_moved(lake, run)
            fields = CatalogRows(lake).columns(table, CatalogRows(lake).newest().id)
            if any(write.rows.arrow is None for write in run.writes):
                refuse_plain(lake, f'table "{self.name}"')
        reach("ducklake.planned")
        try:
            staged = stage(self.spark, table, fields, run.writes, run.id)
        except GrebeError:
            raise
        except Exception as error:
            self._clean(run.id)
            raise self._failed(run, "write", error) from error
        reach("ducklake.staged")
        return self._publish(run, fields, staged)

    def _publish(
        self, run: DuckLakeRun, fields: Sequence[LakeField], staged: Sequence[Staged]
    ) -> Committed:
        begun = time.monotonic()
        cause: Exception | None = None
        for number in range(TRIES):
            if number:
                if time.monotonic() - begun > PATIENCE_SECONDS:
                    break
                pause(number)
            try:
                return self._finish(run, self._attempt(run, fields, staged))
            except _Busy as busy:
                cause = busy.__cause__ if isinstance(busy.__cause__, Exception) else busy
            except UnknownOutcomeError:
                raise
            except GrebeError:
                self._clean(run.id)
                raise
        self._clean(run.id)
        raise self._failed(run, "publish", cause) from cause

    def _attempt(
        self, run: DuckLakeRun, fields: Sequence[LakeField], staged: Sequence[Staged]
    ) -> Committed:
        """What one transaction published.

        Raises:
            _Busy: somebody else's commit was in the way, and the table is still where it was.
        """
        sent = False
        try:
            with session(self.address) as opened:
                lake = opened.raw  # whether somebody was in the way, DuckDB's own words say
                table = CatalogRows(lake).table(self.name)
                lake.connection.execute("BEGIN")
                try:
                    reach("ducklake.opened")
                    self._refuse_touched(lake, table, run)
                    writer = DuckLakeWriter(lake, self.name, table, fields, run.id)
                    for write in staged:
                        writer.apply(write)
                    reach("ducklake.written")
                    self._move(lake, run, writer)
                    sent = True
                    reach("ducklake.commit.request")
                    lake.connection.execute("COMMIT")
                except BaseException:
                    lake.rollback()
                    raise
                reach("ducklake.commit.reply")
        except GrebeError:
            raise
        except Exception as error:
            return self._decide(run, error, sent=sent)
        landed = self._outcome(run, None, sent=True)
        if landed is None:
            raise self._unknown(run, None)
        return landed

    def _decide(self, run: DuckLakeRun, error: Exception, *, sent: bool) -> Committed:
        """What a failed transaction did, by what the table says."""
        if (landed := self._outcome(run, error, sent=sent)) is not None:
            return landed
        try:
            with session(self.address) as lake:
                self._refuse_moved(lake, run)
                if sent and not is_refusal(error):
                    # The request may still be under way: behind a moved fence it cannot land.
                    fence(lake, self.name)
        except ConflictError:
            raise
        except Exception as broken:
            if sent:
                raise self._unknown(run, error) from broken
            raise self._failed(run, "write", error) from error
        if sent and (landed := self._outcome(run, error, sent=sent)) is not None:
            return landed
        if is_refusal(error) or sent:
            raise _Busy from error
        raise self._failed(run, "write", error) from error

    def _outcome(
        self, run: DuckLakeRun, cause: Exception | None, *, sent: bool
    ) -> Committed | None:
        """What the run published, None when it did not land.

        What was not sent cannot have landed: then it is only the reason that is not known.
        """
        try:
            reach("ducklake.outcome")
            with session(self.address) as lake:
                return self._landed(lake, run)
        except Exception as error:
            if not sent and cause is not None and is_refusal(cause):
                raise _Busy from cause
            if not sent:
                raise self._failed(run, "write", cause or error) from error
            raise self._unknown(run, cause or error) from error

    def _landed(self, lake: Session, run: DuckLakeRun) -> Committed | None:
        """What the run published, also when others published after it."""
        with lake.transaction():
            catalog = CatalogRows(lake)
            table = catalog.table(self.name)
            cursor = read_cursor(lake, self.name)
            own = own_snapshot(lake, table, run.id)
            if isinstance(cursor, FrontierRow) and cursor.run == run.id:
                known = cursor.written_at if own is None else own
                if cursor.row_version is not None or known is None:
                    place = current(catalog, table, catalog.newest().id).place
                else:
                    place = VersionPoint(known, cursor.rows)
                return Committed(place.version, *cursor.counts)
            if own is None:
                return None
            rows = read_state(catalog, table, own).rows
            return None if rows is None else Committed(VersionPoint(own, rows).version)

    def _refuse_moved(self, lake: Session, run: DuckLakeRun) -> None:
        """Nothing, or ConflictError when the table is no longer where the run was planned."""
        with lake.transaction():
            now = read_position(lake, self.name)
        expected = run.expected
        if now.unproven != expected.unproven or now.foreign != expected.foreign:
            raise self._conflict(run, now.unproven or "; ".join(now.foreign) or "it was rebuilt")
        if now.frontier != expected.frontier:
            other = now.frontier.run_id if now.frontier else "nobody"
            raise self._conflict(run, f"its frontier is that of run {other}")

    def _refuse_touched(self, lake: Session, table: Table, run: DuckLakeRun) -> None:
        """The same inside the transaction, asked of the transaction itself.

        The catalog's own tables are not read here: on SQLite a reader stops the writer.
        """
        if run.expected.version is None or run.expected.foreign or run.expected.unproven:
            return
        after = VersionPoint.of(run.expected.version).snapshot
        found = lake.rows(
            "SELECT snapshot_id, map_keys(changes), map_values(changes)"
            f" FROM ducklake_snapshots({literal(lake.alias)}) WHERE snapshot_id > {after}"
        )
        for number, kinds, values in found:
            pairs = zip(kinds, values, strict=True)
            mine = frozenset(_KINDS.get(k, k) for k, ids in pairs if str(table.id) in ids)
            if mine and is_foreign(mine):
                raise self._conflict(run, f"{', '.join(sorted(mine))} in snapshot {number}")

    def _move(self, lake: Session, run: DuckLakeRun, writer: DuckLakeWriter) -> None:
        """Move the frontier's row, if it is still the one that the run was planned from."""
        before = read_cursor(lake, self.name)
        if isinstance(before, str):
            before = self._made_anew(lake, run, before)
        rows = before.rows
        if run.expected.foreign or run.expected.unproven:
            rows = writer.deleted  # an overwrite counted what there was
        row_version = None if writer.changed else self._row_version(run, before)
        values: dict[str, object] = {
            "run": run.id,
            "frontier": run.frontier.to_json(),
            "base": run.expected.version,
            "seen": lake.row(
                f"SELECT max(snapshot_id) FROM ducklake_snapshots({literal(lake.alias)})"
            )[0],
            "row_version": row_version,
            "rows": rows + writer.gained,
            "inserted": writer.inserted,
            "updated": writer.updated,
            "deleted": writer.deleted,
            "fence": None,
        }
        table = ident(lake.alias, self.name.schema, cursor_name(self.name.name))
        setting = ", ".join(f"{ident(column)} = ?" for column in values)
        old = run.expected.frontier
        wanted = before.frontier if run.expected.unproven else old and old.to_json()
        moved = lake.row(
            f"UPDATE {table} SET {setting} WHERE frontier IS NOT DISTINCT FROM ?",
            [*values.values(), wanted],
        )[0]
        if moved != 1:
            raise self._conflict(run, f"{moved} rows have the frontier that it was planned from")
        lake.rows(
            f"CALL ducklake_set_commit_message({literal(lake.alias)}, {literal(AUTHOR)},"
            f" {literal(f'run {run.id}')}, extra_info => {literal(extra_info(run.id, writer.table))})"
        )

    def _made_anew(self, lake: Session, run: DuckLakeRun, problem: str) -> FrontierRow:
        """A new row for a frontier that somebody damaged, when the run rebuilds the table anyway."""
        if run.expected.unproven is None:
            raise self._conflict(run, problem)
        for statement in cursor_statements(lake, self.name):
            lake.rows(statement)
        made = read_cursor(lake, self.name)
        if isinstance(made, str):
            raise self._conflict(run, made)
        return made

    @staticmethod
    def _row_version(run: DuckLakeRun, before: FrontierRow) -> str | None:
        """The version that changed a row last, told on by a commit that changes none."""
        return before.row_version or run.expected.row_version or run.expected.version

    def _finish(self, run: DuckLakeRun, landed: Committed) -> Committed:
        reach("ducklake.published")
        self._clean(run.id)
        reach("ducklake.cleaned")
        return landed

    def _clean(self, run_id: RunId) -> None:
        """Remove what of the run's files does not belong to the table; a failure is only told."""
        try:
            with session(self.address) as lake:
                table = CatalogRows(lake).table(self.name)
                remove_unregistered(registered(lake, table), table, run_id)
        except Exception as error:
            log.warning('table "%s": files of run %s stay: %s', self.name, run_id, error)

    def _conflict(self, run: DuckLakeRun, detail: str) -> ConflictError:
        return conflict(self.name, run.id, detail)

    def _failed(self, run: DuckLakeRun, step: str, cause: Exception | None) -> StepFailedError:
        return failed(self.name, run.id, step, cause)

    def _unknown(self, run: DuckLakeRun, cause: Exception | None) -> UnknownOutcomeError:
        return unknown(self.name, run.id, "publish", cause)


def fence(lake: Session, name: TableName) -> None:
    """Touch the frontier's row: a transaction that is still under way can no longer commit."""
    lake.insist(fence_statement(lake, name, uuid4().hex))
