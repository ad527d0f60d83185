"""The contract in memory: what a source and a storage table must do, in its smallest form."""

from __future__ import annotations

import doctest
import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import memory
from formats.contract.oracle import bag, difference
from formats.memory import MemoryTable
from grebe.errors import CheckFailedError, ConflictError, HistoryExpiredError, SchemaChangedError
from grebe.formats.base import ACTION, Append, Merge, Overwrite, Rows
from grebe.model import Column, Frontier, RunId, TableName, Window

NAME = TableName("mem", "shop", "orders")
COLUMNS = [Column(1, "id", "bigint"), Column(2, "x", "double")]


def orders(*rows: tuple[int | None, float | None]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.int64()),
            "x": pa.array([row[1] for row in rows], pa.float64()),
        }
    )


def frontier(run: str) -> Frontier:
    return Frontier((), "fingerprint", RunId(run), "test", 1)


def test_the_example_in_its_docstring() -> None:
    assert doctest.testmod(memory).failed == 0
    assert doctest.testmod(memory).attempted > 0


values = st.tuples(
    st.none() | st.integers(0, 3), st.sampled_from([None, 0.0, -0.0, float("nan"), 1.5])
)


@given(st.lists(st.lists(values, max_size=5), min_size=2, max_size=4))
def test_changes_are_the_difference_of_the_versions(
    contents: list[list[tuple[int | None, float | None]]],
) -> None:
    table = MemoryTable(NAME, COLUMNS)
    versions = [table.write(orders(*rows)) for rows in contents]
    for after, upto in itertools.permutations(versions, 2):
        delta = table.changes(Window(after, upto), [1, 2]).arrow
        expected = difference(bag(table.rows_at(upto)), bag(table.rows_at(after)))
        assert delta is not None
        assert bag(delta) == expected


def test_a_window_over_a_changed_column_is_refused_and_others_are_not() -> None:
    table = MemoryTable(NAME, COLUMNS)
    first = table.write(orders((1, 1.0)))
    wider = [Column(1, "id", "bigint"), Column(3, "x", "double")]
    second = table.write(orders((1, 2.0)), columns=wider)
    assert table.changes(Window(first, second), [1]).arrow.num_rows == 0
    with pytest.raises(SchemaChangedError):
        table.changes(Window(first, second), [3])


def test_an_expired_version_is_named() -> None:
    table = MemoryTable(NAME, COLUMNS)
    first = table.write(orders((1, 1.0)))
    second = table.write(orders((2, 1.0)))
    table.expire(first)
    reason = table.unreadable(Window(first, second), [1])
    assert reason is not None
    assert reason.code == "history-expired"
    with pytest.raises(HistoryExpiredError):
        table.changes(Window(first, second), [1])


def test_statistics_and_rollback() -> None:
    table = MemoryTable(NAME, COLUMNS)
    first = table.write(orders((1, 1.0), (7, None)))
    second = table.write(orders((1, 1.0), (2, 1.0), (3, 1.0)))
    stats = table.window_stats(Window(first, second))
    assert (stats.rows_added, stats.rows_removed, stats.only_maintenance) == (2, 1, False)
    (bounds,) = table.version_stats(first, [1]).bounds["id"]
    assert (bounds.low, bounds.high, bounds.has_null) == (1, 7, False)
    table.rollback(first)
    assert table.head().version == first


def test_a_commit_moves_rows_and_frontier_together_or_not_at_all() -> None:
    storage = MemoryTable(NAME)
    storage.create(MemoryTable(NAME, COLUMNS).head().schema, {})
    start = storage.position()
    assert start.frontier is None
    storage.commit([Append(Rows(arrow=orders((1, 1.0))))], frontier("one"), start)
    with pytest.raises(ConflictError):
        storage.commit([Append(Rows(arrow=orders((1, 1.0))))], frontier("late"), start)
    position = storage.position()
    assert position.frontier == frontier("one")
    assert storage.rows_at(storage.head().version).num_rows == 1
    only_frontier = storage.commit([], frontier("two"), position)
    assert storage.position().row_version == position.row_version != only_frontier.version


def test_a_merge_that_contradicts_stored_rows_publishes_nothing() -> None:
    storage = MemoryTable(NAME, COLUMNS)
    storage.commit(
        [Overwrite(Rows(arrow=orders((1, 1.0), (None, 2.0))))], frontier("one"), storage.position()
    )
    before = storage.position()
    change = orders((1, 5.0), (None, None), (4, 4.0)).append_column(
        ACTION, pa.array(["update", "delete", "insert"])
    )
    wrong = Merge(Rows(arrow=change), ("id",), expect_updated=2)
    with pytest.raises(CheckFailedError):
        storage.commit([wrong], frontier("two"), before)
    assert storage.position() == before
    right = Merge(Rows(arrow=change), ("id",), expect_updated=1, expect_deleted=1)
    done = storage.commit([right], frontier("two"), before)
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (1, 1, 1)
    assert bag(storage.rows_at(done.version)) == bag(orders((1, 5.0), (4, 4.0)))


def test_a_write_of_somebody_else_is_foreign_and_maintenance_is_not() -> None:
    storage = MemoryTable(NAME, COLUMNS)
    storage.commit([Append(Rows(arrow=orders((1, 1.0))))], frontier("one"), storage.position())
    storage.write(orders((1, 1.0)), maintenance=True)
    assert storage.position().foreign == ()
    storage.write(orders((2, 1.0)))
    assert storage.position().foreign != ()
