"""What one commit does to rows and frontier, and what others can do to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from formats.commit.client import arrow
from formats.commit.lake import frontier
from formats.ducklake.lakes import Lake
from formats.ducklake.views import View, merge
from grebe.errors import CheckFailedError, ConflictError, StepFailedError
from grebe.formats.base import Append, Overwrite, Rows
from grebe.formats.ducklake.position import cursor_name
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.formats.ducklake.staged_rows import run_folder
from grebe.formats.failpoints import VARIABLE
from grebe.model import Column, RunId, Schema, Window

Lakes = Callable[..., Lake]
ONE = [[1, "a", 10]]
MIXED = [[1, "a", 11, "update"], [2, None, None, "delete"], [None, "z", 5, "insert"]]


@pytest.fixture
def view(lake: Lake) -> View:
    return View(lake).create()


@pytest.fixture
def any_view(any_lake: Lake) -> View:
    return View(any_lake).create()


def test_a_table_that_was_never_filled_has_no_frontier(any_view: View) -> None:
    found = any_view.storage.position()
    assert (found.frontier, found.row_version, found.foreign) == (None, None, ())
    assert found.unproven is None
    assert any_view.storage.properties() == {"grebe.view": "test"}


def test_rows_and_frontier_move_together(any_view: View) -> None:
    note = 'ü \' \\ ${x} "q"'
    storage = any_view.storage
    write = Append(Rows(arrow=arrow([[1, "a", 10], [2, "b", 20], [3, "c", 30], [None] * 3])))
    first = storage.commit([write], frontier("r1", note=note), storage.position())
    found = storage.position()
    assert found.frontier == frontier("r1", note=note)
    assert found.version == found.row_version == first.version
    assert (first.rows_inserted, first.rows_updated, first.rows_deleted) == (4, 0, 0)
    done = storage.commit([merge(MIXED)], frontier("r2"), found)
    assert any_view.rows() == [(None, None, None), (None, "z", 5), (1, "a", 11), (3, "c", 30)]
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (1, 1, 1)
    found = storage.position()
    assert found.frontier == frontier("r2")
    assert found.version == found.row_version == done.version
    info = any_view.lake.rows(
        "SELECT commit_extra_info FROM ducklake_snapshots('lake') ORDER BY snapshot_id DESC LIMIT 1"
    )
    assert json.loads(info[0][0])["grebe.run"] == "r2"


def test_a_child_reads_what_was_committed(view: View) -> None:
    """Versions of a storage table are those of a source."""
    first = view.build(ONE)
    storage = view.storage
    done = storage.commit(
        [merge([[1, "a", 11, "update"]], expect_deleted=0)], frontier("r2"), storage.position()
    )
    source = DuckLakeSource(view.name, view.lake.address)
    assert source.head().version == done.version
    changes = source.changes(Window(first.version, done.version), [1, 3]).arrow
    assert changes is not None
    assert sorted(changes.to_pylist(), key=str) == [
        {"k": 1, "n": 10, "__grebe_weight": -1},
        {"k": 1, "n": 11, "__grebe_weight": 1},
    ]


def test_null_keys_are_matched(view: View) -> None:
    view.build([[None, "a", 1], [1, "b", 1]])
    write = merge([[None, "x", 2, "update"], [1, None, None, "delete"]])
    view.storage.commit([write], frontier("r2"), view.storage.position())
    assert view.rows() == [(None, "x", 2)]


def test_a_bag_takes_all_copies_and_puts_back_what_remains(view: View) -> None:
    view.build([[1, "a", 1]] * 3 + [[2, None, 2]])
    rows = [
        [1, "a", 1, "delete"],
        [1, "a", 1, "insert"],
        [1, "a", 1, "insert"],
        [2, None, 2, "delete"],
        [3, "c", 3, "insert"],
    ]
    write = merge(rows, on=("k", "v", "n"), expect_updated=0, expect_deleted=4)
    view.storage.commit([write], frontier("r2"), view.storage.position())
    assert view.rows() == [(1, "a", 1), (1, "a", 1), (3, "c", 3)]


def test_an_overwrite_replaces_everything(view: View) -> None:
    view.build([[1, "a", 1], [2, "b", 2]])
    write = Overwrite(Rows(arrow=arrow([[9, "z", 9]])))
    done = view.storage.commit([write], frontier("r2"), view.storage.position())
    assert view.rows() == [(9, "z", 9)]
    assert (done.rows_inserted, done.rows_deleted) == (1, 2)


def test_several_writes_are_one_snapshot(view: View) -> None:
    view.build([[1, "a", 10], [2, "b", 20]])
    before = view.lake.rows("SELECT count(*) FROM ducklake_snapshots('lake')")[0][0]
    writes = [merge(MIXED), Append(Rows(arrow=arrow([[7, "g", 7]])))]
    view.storage.commit(writes, frontier("r2"), view.storage.position())
    assert view.rows() == [(None, "z", 5), (1, "a", 11), (7, "g", 7)]
    assert view.lake.rows("SELECT count(*) FROM ducklake_snapshots('lake')") == [(before + 1,)]


def test_commits_without_a_changed_row_move_no_row_version(view: View) -> None:
    view.build(ONE)
    before = view.storage.position()
    done = view.storage.commit([], frontier("r2"), before)
    found = view.storage.position()
    assert found.frontier == frontier("r2")
    assert (found.version, found.row_version) == (done.version, before.row_version)
    write = merge([], expect_updated=0, expect_deleted=0)
    view.storage.commit([write], frontier("r3"), found)
    assert view.storage.position().row_version == before.row_version
    source = DuckLakeSource(view.name, view.lake.address)
    assert source.head().version == before.row_version


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([[1, "a", 11, "update"], [9, None, None, "delete"]], id="no delete"),
        pytest.param([[9, "a", 11, "update"], [2, None, None, "delete"]], id="no update"),
        pytest.param([[2, None, None, "delete"], [3, "a", 1, "update"]], id="two updates"),
    ],
)
def test_a_contradiction_is_not_published(view: View, rows: list[list[Any]]) -> None:
    view.build([[1, "a", 10], [2, "b", 20], [3, "c", 1], [3, "c", 1]])
    before, stored = view.storage.position(), view.rows()
    with pytest.raises(CheckFailedError, match="contradict"):
        view.storage.commit([merge(rows)], frontier("r2"), before)
    assert view.storage.position() == before
    assert view.rows() == stored


def test_an_insert_of_a_stored_key_contradicts_when_keys_are_unique(view: View) -> None:
    view.build([[1, "a", 10], [2, "b", 20]])
    before = view.storage.position()
    write = merge([[1, "x", 0, "insert"]], expect_updated=0, expect_deleted=0, unique=True)
    with pytest.raises(CheckFailedError):
        view.storage.commit([write], frontier("r2"), before)
    assert view.storage.position() == before


def test_two_changes_of_one_stored_row_contradict(view: View) -> None:
    view.build(ONE)
    rows = [[1, "x", 1, "update"], [1, "y", 1, "update"]]
    with pytest.raises(CheckFailedError, match="several changes"):
        view.storage.commit([merge(rows)], frontier("r2"), view.storage.position())


def test_values_that_do_not_fit_the_stored_type_are_refused(view: View) -> None:
    view.build(ONE)
    before = view.storage.position()
    rows = pa.table({"k": ["no number"], "v": ["x"], "n": [1]})
    with pytest.raises(StepFailedError):
        view.storage.commit([Append(Rows(arrow=rows))], frontier("r2"), before)
    assert view.storage.position() == before


def test_a_type_that_cannot_be_stored_is_refused(lake: Lake) -> None:
    with pytest.raises(StepFailedError, match="interval"):
        View(lake, columns=[Column(1, "i", "interval day to second")]).create()


def test_an_equal_table_is_left_alone_and_another_refused(view: View) -> None:
    view.build(ONE)
    view.create()
    assert view.rows() == [(1, "a", 10)]
    with pytest.raises(ConflictError, match="other columns"):
        view.storage.create(Schema("0", (Column(1, "x", "INT"),)), {})


def test_a_run_that_landed_is_answered_again_and_not_applied_again(any_view: View) -> None:
    any_view.build(ONE)
    before = any_view.storage.position()
    writes = [Append(Rows(arrow=arrow([[2, "b", 2]])))]
    first = any_view.storage.commit(writes, frontier("r2"), before)
    again = any_view.storage.commit(writes, frontier("r2"), before)
    assert again == first
    any_view.build([[3, "c", 3]], "r3")
    late = any_view.storage.commit(writes, frontier("r2"), before)
    assert late.version == first.version
    assert any_view.rows() == [(1, "a", 10), (2, "b", 2), (3, "c", 3)]


def test_a_run_id_means_nothing_on_another_table(lake: Lake) -> None:
    first, second = View(lake).create(), View(lake).create()
    first.build(ONE, "same")
    second.build([[2, "b", 2]], "same")
    assert (first.rows(), second.rows()) == ([(1, "a", 10)], [(2, "b", 2)])


def test_a_plan_made_before_another_publish_is_refused(any_view: View) -> None:
    empty = any_view.storage.position()
    any_view.build(ONE)
    with pytest.raises(ConflictError):
        any_view.storage.commit([Append(Rows(arrow=arrow(ONE)))], frontier("late"), empty)
    planned = any_view.storage.position()
    any_view.build([[2, "b", 2]], "r2")
    with pytest.raises(ConflictError):
        any_view.storage.commit([Append(Rows(arrow=arrow(ONE)))], frontier("r3"), planned)
    assert any_view.rows() == [(1, "a", 10), (2, "b", 2)]


def test_two_views_of_one_catalog_do_not_stop_each_other(any_lake: Lake) -> None:
    views = [View(any_lake).create(), View(any_lake).create()]

    def work(number: int) -> None:
        for step in range(4):
            views[number].build([[step, "abcd"[step], number]], f"t{number}s{step}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (0, 1)))
    for number, view in enumerate(views):
        found = view.storage.position()
        assert found.frontier == frontier(f"t{number}s3")
        assert (found.foreign, found.unproven) == ((), None)
        assert view.rows() == [(step, "abcd"[step], number) for step in range(4)]


# --- others --------------------------------------------------------------------------------------


def expired(view: View, upto: int | None = None) -> None:
    """Everything before a snapshot is gone, or everything but the newest."""
    newest = view.lake.rows("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")[0][0]
    listed = ", ".join(str(number) for number in range(newest if upto is None else upto))
    view.lake.run(
        f"CALL ducklake_expire_snapshots('lake', versions => [{listed}])",
        "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    )


def test_maintenance_and_expiry_leave_the_position_intact(any_view: View) -> None:
    any_view.build([[k, "a", k] for k in range(30)])
    storage = any_view.storage
    for step in range(3):
        write = merge([[step, "x", 9, "update"]], expect_deleted=0)
        storage.commit([write], frontier(f"r{step}"), storage.position())
    before = storage.position()
    assert before.row_version is not None
    any_view.upkeep()
    for upto in (None, int(before.row_version.partition(":")[0])):
        if upto is not None:
            expired(any_view, upto)
        found = storage.position()
        assert (found.frontier, found.row_version) == (before.frontier, before.row_version)
        assert (found.foreign, found.unproven) == ((), None)
    storage.commit([merge([[0, "y", 9, "update"]], expect_deleted=0)], frontier("next"), found)
    assert (0, "y", 9) in any_view.rows()
    assert storage.position().foreign == ()


def test_a_commit_that_was_expired_is_still_proved(any_view: View) -> None:
    any_view.build([[k, "a", k] for k in range(30)])
    storage = any_view.storage
    write = merge([[1, "x", 9, "update"]], expect_deleted=0)
    storage.commit([write], frontier("r1"), storage.position())
    before = storage.position()
    any_view.lake.run("CREATE TABLE lake.other (id INTEGER)", "INSERT INTO lake.other VALUES (1)")
    any_view.lake.run("CALL ducklake_merge_adjacent_files('lake')")
    expired(any_view)
    found = storage.position()
    assert (found.frontier, found.row_version) == (before.frontier, before.row_version)
    assert (found.foreign, found.unproven) == ((), None)


def test_a_plan_survives_maintenance(any_view: View) -> None:
    any_view.build([[1, "a", 1], [2, "b", 2]])
    planned = any_view.storage.position()
    any_view.upkeep()
    any_view.storage.commit([merge(MIXED)], frontier("r2"), planned)
    assert any_view.rows() == [(None, "z", 5), (1, "a", 11)]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {t} VALUES (7, 'theirs', 7)",
        "DELETE FROM {t} WHERE k = 1",
        "UPDATE {t} SET v = 'theirs' WHERE k = 1",
        "ALTER TABLE {t} ADD COLUMN theirs INTEGER",
    ],
)
def test_a_write_by_somebody_else_is_foreign(view: View, statement: str) -> None:
    view.build([[1, "a", 1], [2, "b", 2]])
    planned = view.storage.position()
    view.sql(statement)
    found = view.storage.position()
    assert found.frontier == planned.frontier
    assert len(found.foreign) >= 1
    write = Append(Rows(arrow=arrow(ONE)))
    with pytest.raises(ConflictError):
        view.storage.commit([write], frontier("r2"), planned)
    with pytest.raises(CheckFailedError) as caught:
        view.storage.commit([write], frontier("r3"), found)
    assert caught.value.code == "foreign-write"
    if "ALTER" not in statement:
        rebuild = Overwrite(Rows(arrow=arrow([[5, "e", 5]])))
        view.storage.commit([rebuild], frontier("r4"), found)
        assert view.rows() == [(5, "e", 5)]
        assert view.storage.position().foreign == ()


@pytest.mark.parametrize("foreign", [True, False])
def test_a_rewrite_whose_commits_were_expired_proves_nothing(view: View, foreign: bool) -> None:
    """Nothing that is left tells a rewritten table from one that somebody updated before."""
    view.build([[k, "a", k] for k in range(20)])
    storage = view.storage
    write = merge([[1, "x", 9, "update"]], expect_deleted=0)
    storage.commit([write], frontier("r1"), storage.position())
    if foreign:
        view.sql("UPDATE {t} SET v = 'theirs' WHERE k = 1")
    view.upkeep()
    assert bool(storage.position().foreign) == foreign
    expired(view)
    assert storage.position().unproven is not None


def test_rows_that_only_others_wrote_are_foreign(view: View) -> None:
    view.sql("INSERT INTO {t} VALUES (7, 'theirs', 7)")
    found = view.storage.position()
    assert found.frontier is None
    assert found.foreign != ()


def test_a_damaged_frontier_is_unproven_and_a_rebuild_mends_it(view: View) -> None:
    cursor = f'lake.views."{cursor_name(view.name.name)}"'
    rebuild = Overwrite(Rows(arrow=arrow([[5, "e", 5]])))
    for number, damage in enumerate(
        (
            f"DROP TABLE {cursor}",
            f"DELETE FROM {cursor}",
            f"INSERT INTO {cursor} FROM {cursor}",
            f"UPDATE {cursor} SET frontier = 'no json'",
        )
    ):
        view.build([[number, "a", 1]], f"a{number}")
        view.lake.run(damage)
        found = view.storage.position()
        assert found.unproven is not None, damage
        with pytest.raises(CheckFailedError):
            view.storage.commit([], frontier("no"), found)
        view.storage.commit([rebuild], frontier(f"b{number}"), found)
        assert view.rows() == [(5, "e", 5)]
        found = view.storage.position()
        assert (found.frontier, found.unproven) == (frontier(f"b{number}"), None)


def test_a_table_that_was_replaced_is_not_ours(view: View) -> None:
    view.build(ONE)
    planned = view.storage.position()
    view.sql("CREATE OR REPLACE TABLE {t} AS SELECT 1::BIGINT AS k, 'a' AS v, 10::BIGINT AS n")
    found = view.storage.position()
    assert found.foreign != () or found.unproven is not None
    with pytest.raises(ConflictError):
        view.storage.commit([], frontier("r2"), planned)


def test_what_a_dead_run_left_is_listed_and_removed(view: View) -> None:
    view.build(ONE)
    with_files = view.lake.rows("SELECT 1")
    assert with_files
    assert view.storage.orphans() == ()
    folder = Path(_folder(view, "dead")) / "0"
    folder.mkdir(parents=True)
    (folder / "part-0.parquet").write_bytes(b"half a file")
    [orphan] = view.storage.orphans()
    assert orphan.run_id == "dead"
    view.storage.abandon(RunId("dead"))
    assert view.storage.orphans() == ()
    assert not folder.exists()
    view.storage.abandon(RunId("base"))
    assert view.rows() == [(1, "a", 10)]


def _folder(view: View, run: str) -> str:
    from grebe.formats.ducklake.catalog_rows import CatalogRows
    from grebe.formats.ducklake.connections import session

    with session(view.lake.address) as lake:
        return run_folder(CatalogRows(lake).table(view.name), RunId(run))


@pytest.mark.parametrize("place", ["ducklake.commit.request", "ducklake.commit.reply"])
def test_a_lost_reply_is_resolved_by_reading(
    any_view: View, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    any_view.build([[1, "a", 10], [2, "b", 20]])
    monkeypatch.setenv(VARIABLE, f"{place}=raise:once")
    done = any_view.storage.commit([merge(MIXED)], frontier("r"), any_view.storage.position())
    found = any_view.storage.position()
    assert (found.version, found.frontier) == (done.version, frontier("r"))
    assert any_view.rows() == [(None, "z", 5), (1, "a", 11)]
