"""What one commit by delta-rs does to rows, frontier and log; and what position() says of others."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from formats.commit.client import arrow
from formats.commit.lake import frontier
from formats.delta.commit.folders import StorageFolder
from grebe.errors import CheckFailedError, ConflictError, InternalError
from grebe.formats.base import Append, Committed, Merge, Overwrite, Rows, Write
from grebe.formats.delta.commit import CHECKPOINT_EVERY
from grebe.model import Position

ONE = [[1, "a", 10]]
THREE = [[1, "a", 10], [2, "b", 20], [3, "c", 30]]
MIXED = [[1, "a", 11, "update"], [2, None, None, "delete"], [None, "z", 5, "insert"]]


def append(rows: list[list[object]]) -> Append:
    return Append(Rows(arrow=arrow(rows)))


def merge(rows: list[list[object]], **options: object) -> Merge:
    wanted = {"on": ("k",), "expect_updated": 1, "expect_deleted": 1, **options}
    return Merge(Rows(arrow=arrow(rows, actions=True)), **wanted)  # type: ignore[arg-type]


def commit(table: StorageFolder, run: str, *writes: Write) -> Committed:
    return table.storage.commit(writes, frontier(run), table.storage.position())


def test_a_table_that_was_never_filled_has_no_frontier(table: StorageFolder) -> None:
    assert table.storage.position() == Position(None, "0")  # type: ignore[arg-type]


def test_a_first_build_moves_rows_and_frontier_together(table: StorageFolder) -> None:
    before = table.storage.position()
    done = table.storage.commit([append(ONE)], frontier("r1", note="ü ' \\ ${x}"), before)
    found = table.storage.position()
    assert found.frontier == frontier("r1", note="ü ' \\ ${x}")
    assert found.version == found.row_version == done.version == "1"
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (1, 0, 0)
    assert table.rows() == [(1, "a", 10)]


def test_a_merge_updates_deletes_and_inserts(table: StorageFolder) -> None:
    commit(table, "r1", append(THREE))
    done = commit(table, "r2", merge(MIXED))
    assert table.rows() == [(None, "z", 5), (1, "a", 11), (3, "c", 30)]
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (1, 1, 1)
    found = table.storage.position()
    assert found.frontier == frontier("r2")
    assert found.row_version == found.version == done.version


def test_null_keys_are_matched(table: StorageFolder) -> None:
    commit(table, "r1", append([[None, "a", 1], [1, "b", 1]]))
    commit(table, "r2", merge([[None, "x", 2, "update"], [1, None, None, "delete"]]))
    assert table.rows() == [(None, "x", 2)]


def test_a_view_of_one_row_has_no_key(table: StorageFolder) -> None:
    commit(table, "r1", append(ONE))
    write = merge([[1, "b", 2, "update"]], on=(), expect_updated=1, expect_deleted=0)
    commit(table, "r2", write)
    assert table.rows() == [(1, "b", 2)]
    commit(table, "r3", append(ONE))
    with pytest.raises(CheckFailedError):
        commit(table, "r4", write)


def test_a_bag_takes_all_copies_and_puts_back_what_remains(table: StorageFolder) -> None:
    commit(table, "r1", append([[1, "a", 1]] * 3 + [[2, None, 2]]))
    rows: list[list[object]] = [
        [1, "a", 1, "delete"],
        [1, "a", 1, "insert"],
        [1, "a", 1, "insert"],
        [2, None, 2, "delete"],
        [3, "c", 3, "insert"],
    ]
    commit(table, "r2", merge(rows, on=("k", "v", "n"), expect_updated=0, expect_deleted=4))
    assert table.rows() == [(1, "a", 1), (1, "a", 1), (3, "c", 3)]


def test_an_overwrite_replaces_everything(table: StorageFolder) -> None:
    commit(table, "r1", append(THREE))
    done = commit(table, "r2", Overwrite(Rows(arrow=arrow([[9, "z", 9]]))))
    assert table.rows() == [(9, "z", 9)]
    assert (done.rows_inserted, done.rows_deleted) == (1, 3)


def test_several_writes_are_one_commit(table: StorageFolder) -> None:
    commit(table, "r1", append(THREE))
    done = commit(table, "r2", merge(MIXED), append([[7, "q", 7], [1, "copy", 0]]))
    assert done.version == "2"
    assert table.rows() == [(None, "z", 5), (1, "a", 11), (1, "copy", 0), (3, "c", 30), (7, "q", 7)]
    done = commit(table, "r3", Overwrite(Rows(arrow=arrow(ONE))), append([[2, "b", 2]]))
    assert (done.version, table.rows()) == ("3", [(1, "a", 10), (2, "b", 2)])


def test_writes_that_are_no_one_commit_are_refused(table: StorageFolder) -> None:
    commit(table, "r1", append(THREE))
    with pytest.raises(InternalError):
        commit(table, "r2", merge(MIXED), merge(MIXED))
    assert table.storage.position().frontier == frontier("r1")


@pytest.mark.parametrize(
    "writes",
    [[], [merge([], expect_updated=0, expect_deleted=0)], [append([])]],
    ids=["nothing", "empty merge", "empty append"],
)
def test_a_frontier_alone_changes_no_row(table: StorageFolder, writes: list[Write]) -> None:
    filled = commit(table, "r1", append(ONE))
    done = commit(table, "r2", *writes)
    found = table.storage.position()
    assert found.frontier == frontier("r2")
    assert (found.version, found.row_version) == (done.version, filled.version)
    commit(table, "r3")
    assert table.storage.position().row_version == filled.version


def test_a_merge_that_finds_nothing_still_moves_the_frontier(table: StorageFolder) -> None:
    commit(table, "r1", append(ONE))
    commit(
        table, "r2", merge([[5, None, None, "delete"]], expect_updated=None, expect_deleted=None)
    )
    found = table.storage.position()
    assert (found.frontier, found.row_version) == (frontier("r2"), "1")


@pytest.mark.parametrize(
    "write",
    [
        merge([[9, "x", 9, "update"]], expect_deleted=0),
        merge([[9, None, None, "delete"]], expect_updated=0),
        merge([[1, "a", 10, "delete"]], on=("k", "v", "n"), expect_updated=0, expect_deleted=2),
        merge([[1, "b", 1, "insert"]], expect_updated=0, expect_deleted=0, unique=True),
        merge([[1, "b", 1, "update"], [1, "c", 1, "update"]], expect_updated=1, expect_deleted=0),
    ],
    ids=["missing update", "missing delete", "copies", "key exists", "claimed twice"],
)
def test_stored_rows_that_contradict_stop_the_commit(table: StorageFolder, write: Merge) -> None:
    commit(table, "r1", append(ONE))
    with pytest.raises(CheckFailedError) as caught:
        commit(table, "r2", write)
    assert caught.value.code == "integrity"
    assert table.storage.position().frontier == frontier("r1")
    assert table.rows() == [(1, "a", 10)]


def test_a_run_that_landed_is_answered_again(table: StorageFolder) -> None:
    before = table.storage.position()
    first = table.storage.commit([append(ONE)], frontier("r1"), before)
    again = table.storage.commit([append(ONE)], frontier("r1"), before)
    assert again == first
    assert table.rows() == [(1, "a", 10)]


def test_a_stale_plan_is_a_conflict(table: StorageFolder) -> None:
    before = table.storage.position()
    table.storage.commit([append(ONE)], frontier("r1"), before)
    with pytest.raises(ConflictError):
        table.storage.commit([append([[2, "b", 2]])], frontier("late"), before)
    with pytest.raises(ConflictError):
        table.storage.commit([Overwrite(Rows(arrow=arrow(THREE)))], frontier("later"), before)
    assert table.rows() == [(1, "a", 10)]


def test_a_run_goes_on_top_of_maintenance(table: StorageFolder) -> None:
    commit(table, "r1", append(ONE))
    commit(table, "r2", append([[2, "b", 20]]))
    planned = table.storage.position()
    table.table.optimize.compact()
    table.table.alter.set_table_properties({"owner.note": "x"}, raise_if_not_exists=False)
    table.storage.commit(
        [merge([[1, "x", 1, "update"], [2, "", 0, "delete"]])], frontier("r3"), planned
    )
    assert table.rows() == [(1, "x", 1)]
    found = table.storage.position()
    assert (found.frontier, found.foreign) == (frontier("r3"), ())


def test_maintenance_does_not_move_the_rows(table: StorageFolder) -> None:
    for number in (1, 2):
        commit(table, f"r{number}", append(ONE))
    table.table.optimize.compact()
    table.table.create_checkpoint()
    found = table.storage.position()
    assert (found.frontier, found.version, found.row_version) == (frontier("r2"), "3", "2")
    assert found.foreign == ()


def test_foreign_writes_are_named_and_not_built_upon(table: StorageFolder) -> None:
    commit(table, "r1", append(ONE))
    write_deltalake(table.table, arrow([[7, "theirs", 7]]), mode="append")
    table.table.delete("k = 1")
    found = table.storage.position()
    assert found.frontier == frontier("r1")
    assert [text.split(" by ")[0] for text in found.foreign] == ["DELETE 3", "WRITE 2"]
    with pytest.raises(CheckFailedError) as caught:
        table.storage.commit([append(ONE)], frontier("r2"), found)
    assert caught.value.code == "foreign-write"
    table.storage.commit([Overwrite(Rows(arrow=arrow(ONE)))], frontier("r3"), found)
    assert (table.rows(), table.storage.position().foreign) == ([(1, "a", 10)], ())


def test_a_column_that_somebody_adds_is_foreign(table: StorageFolder) -> None:
    from deltalake.schema import Field, PrimitiveType

    commit(table, "r1", append(ONE))
    table.table.alter.add_columns([Field("extra", PrimitiveType("string"))])
    assert table.storage.position().foreign


def test_a_foreign_write_between_plan_and_commit_is_found_later(table: StorageFolder) -> None:
    """By Spark a foreign commit can slip in below ours: the plan's version in the label tells."""
    commit(table, "r1", append(ONE))
    write_deltalake(table.table, arrow([[7, "theirs", 7]]), mode="append")
    label = json.dumps(
        {"grebe": 1, "run": "r2", "planned": 1, "rows": "1", "frontier": frontier("r2").to_json()}
    )
    write_deltalake(
        table.table,
        arrow([[2, "b", 2]]),
        mode="append",
        commit_properties=CommitProperties(custom_metadata={"userMetadata": label}),
    )
    found = table.storage.position()
    assert found.frontier == frontier("r2")
    assert [text.split(" by ")[0] for text in found.foreign] == ["WRITE 2"]


def test_a_log_that_was_cleaned_up_proves_nothing(table: StorageFolder) -> None:
    commit(table, "r1", append(ONE))
    for _ in range(2):
        table.table.alter.set_table_properties({"owner.note": "x"}, raise_if_not_exists=False)
    table.table.create_checkpoint()
    for version in (0, 1, 2):
        Path(table.path, "_delta_log", f"{version:020d}.json").unlink()
    found = table.storage.position()
    assert found.frontier is None
    assert found.unproven


def test_checkpoints_are_written(table: StorageFolder) -> None:
    for number in range(CHECKPOINT_EVERY + 2):
        commit(table, f"r{number}", append([[number, "a", 1]]))
    names = [path.name for path in Path(table.path, "_delta_log").glob("*.checkpoint.parquet")]
    assert names == [f"{CHECKPOINT_EVERY:020d}.checkpoint.parquet"]
    assert len(table.rows()) == CHECKPOINT_EVERY + 2
    assert table.storage.position().frontier == frontier(f"r{CHECKPOINT_EVERY + 1}")


def test_rows_are_cast_to_the_types_of_the_table(table: StorageFolder) -> None:
    rows = pa.table({"n": pa.array([1], pa.int32()), "v": ["a"], "k": pa.array([2], pa.int16())})
    commit(table, "r1", Append(Rows(arrow=rows)))
    assert table.rows() == [(2, "a", 1)]
