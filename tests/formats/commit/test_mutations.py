"""Tests of the tests: break one rule of the commit, and see that a scenario notices."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from formats.commit.client import arrow
from formats.commit.lake import Lake, Server, Table, frontier
from formats.commit.test_position import compact, expire
from grebe.errors import CheckFailedError, ConflictError, GrebeError
from grebe.formats.base import Append, Merge, Rows
from grebe.formats.iceberg import commit, history, position, statements

pytestmark = [pytest.mark.spark, pytest.mark.races]

ONE: list[Any] = [1, "a", 1]
TWO: list[Any] = [2, "b", 2]


def append(table: Table, run: str, row: list[Any]) -> None:
    writes = [Append(Rows(arrow=arrow([row])))]
    table.storage.commit(writes, frontier(run), table.storage.position())


def interrupted(
    patch: pytest.MonkeyPatch, place: str, table: Table, meanwhile: Callable[[], None]
) -> None:
    """A run of the row TWO in the middle of which something happens once."""
    left = [meanwhile]

    def reach(reached: str) -> None:
        if reached == place and left:
            left.pop()()

    patch.setattr(commit, "reach", reach)
    with contextlib.suppress(ConflictError):
        append(table, "late", TWO)


def late_plan(table: Table, patch: pytest.MonkeyPatch) -> None:
    append(table, "r1", ONE)
    interrupted(patch, "iceberg.planned", table, lambda: append(table, "won", TWO))
    assert table.rows() == [(1, "a", 1), (2, "b", 2)]


def late_first_build(table: Table, patch: pytest.MonkeyPatch) -> None:
    interrupted(patch, "iceberg.planned", table, lambda: append(table, "won", TWO))
    assert table.rows() == [(2, "b", 2)]


def moved_branch(table: Table, patch: pytest.MonkeyPatch) -> None:
    """The branch vanishes during its write and comes back on top of another run."""

    def meanwhile() -> None:
        table.sql("ALTER TABLE {t} DROP BRANCH grebe_late")
        append(table, "won", TWO)
        table.sql("ALTER TABLE {t} CREATE BRANCH grebe_late")

    append(table, "r1", ONE)
    interrupted(patch, "iceberg.branched", table, meanwhile)
    assert table.rows() == [(1, "a", 1), (2, "b", 2)]


def foreign_write(table: Table, patch: pytest.MonkeyPatch) -> None:
    append(table, "r1", ONE)
    table.sql("INSERT INTO {t} VALUES (7, 'theirs', 7)")
    assert table.storage.position().foreign


def contradiction(table: Table, patch: pytest.MonkeyPatch) -> None:
    append(table, "r1", ONE)
    rows = arrow([[5, "x", 5, "delete"]], actions=True)
    merge = Merge(Rows(arrow=rows), ("k",), expect_updated=0, expect_deleted=1)
    try:
        table.storage.commit([merge], frontier("r2"), table.storage.position())
    except CheckFailedError:
        return
    raise AssertionError("a delete of nothing was published")


def null_key(table: Table, patch: pytest.MonkeyPatch) -> None:
    append(table, "r1", [None, "a", 1])
    rows = arrow([[None, "x", 2, "update"]], actions=True)
    merge = Merge(Rows(arrow=rows), ("k",), expect_updated=1, expect_deleted=0)
    table.storage.commit([merge], frontier("r2"), table.storage.position())
    assert table.rows() == [(None, "x", 2)]


def maintained(table: Table, patch: pytest.MonkeyPatch) -> None:
    append(table, "r1", ONE)
    before = table.storage.position()
    compact(table)
    compact(table)
    expire(table)
    assert table.storage.position().unproven is None
    assert table.storage.position().frontier == before.frontier


def rows_then_frontier(table: Table, patch: pytest.MonkeyPatch) -> None:
    append(table, "r1", ONE)
    before = table.storage.position()
    table.storage.commit([], frontier("r2"), before)
    assert table.storage.position().row_version == before.row_version


def unpinned_branch(patch: pytest.MonkeyPatch) -> None:
    pinned = statements.create_branch
    patch.setattr(
        statements, "create_branch", lambda name, branch, _, days: pinned(name, branch, None, days)
    )
    patch.setattr(
        commit.IcebergCommitter, "_tip", lambda self, run, *_: self._read().now.tip(run.branch)
    )


def trusted_root(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commit, "_is_own_root", lambda *_: True)


def unchecked_tip(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        commit.IcebergCommitter, "_tip", lambda self, run, *_: self._read().now.tip(run.branch)
    )


def everything_is_maintenance(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(position, "is_maintenance", lambda _: True)


def leaking_properties(patch: pytest.MonkeyPatch) -> None:
    from pyspark.sql.connect.conf import RuntimeConf

    patch.setattr(RuntimeConf, "unset", lambda *_: None)


def unchecked_counts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commit, "check_expected", lambda *_: None)


def plain_equality(patch: pytest.MonkeyPatch) -> None:
    condition = statements.IcebergTarget._condition
    patch.setattr(
        statements.IcebergTarget, "_condition", lambda *a: condition(*a).replace(" <=> ", " = ")
    )


def forgotten_log(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(history, "_readable", lambda _: iter(()))


def always_row_changing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(position, "changed_rows", lambda _: True)


Scenario = Callable[[Table, pytest.MonkeyPatch], None]
Mutation = Callable[[pytest.MonkeyPatch], None]

PAIRS: list[tuple[Scenario, Mutation]] = [
    (late_plan, unpinned_branch),
    (late_first_build, trusted_root),
    (moved_branch, unchecked_tip),
    (foreign_write, everything_is_maintenance),
    (foreign_write, leaking_properties),
    (contradiction, unchecked_counts),
    (null_key, plain_equality),
    (maintained, forgotten_log),
    (rows_then_frontier, always_row_changing),
]


@pytest.mark.parametrize(
    ("scenario", "mutation"), PAIRS, ids=[mutation.__name__ for _, mutation in PAIRS]
)
def test_a_broken_rule_is_noticed(
    server: Server, lake: Lake, scenario: Scenario, mutation: Mutation
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        scenario(lake.create(), patch)
    session = server.connect()
    apart = Lake(lake.folder, session, lake._numbers)
    with pytest.MonkeyPatch.context() as patch:
        mutation(patch)
        with pytest.raises((AssertionError, GrebeError)):
            scenario(apart.create(), patch)
    session.stop()
