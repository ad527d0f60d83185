"""What one commit does to rows, frontier and refs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from formats.commit.client import arrow
from formats.commit.lake import Lake, Table, frontier
from grebe.errors import CheckFailedError, ConflictError, StepFailedError
from grebe.formats.base import ACTION, Append, Merge, Overwrite, Rows
from grebe.formats.iceberg.history import SparkReader
from grebe.formats.iceberg.storage import IcebergStorage
from grebe.model import Column, RunId

pytestmark = [pytest.mark.spark, pytest.mark.connect]

ONE = [[1, "a", 10]]
MIXED = [[1, "a", 11, "update"], [2, None, None, "delete"], [None, "z", 5, "insert"]]


def build(table: Table, rows: list[list[object]], run: str = "018f-7a.b") -> None:
    storage = table.storage
    storage.commit([Append(Rows(arrow=arrow(rows)))], frontier(run), storage.position())


def merge(rows: list[list[object]], **options: object) -> Merge:
    wanted = {"on": ("k",), "expect_updated": 1, "expect_deleted": 1, **options}
    return Merge(Rows(arrow=arrow(rows, actions=True)), **wanted)  # type: ignore[arg-type]


def test_a_table_that_was_never_filled_has_no_frontier(table: Table) -> None:
    found = table.storage.position()
    assert (found.frontier, found.version, found.row_version, found.foreign) == (
        None,
        None,
        None,
        (),
    )


def test_a_first_build_moves_rows_and_frontier_together(table: Table) -> None:
    done = table.storage.commit(
        [Append(Rows(sql="SELECT 1 AS n, 'a' AS v, 2 AS k UNION ALL SELECT NULL, NULL, NULL"))],
        frontier("r1", note="ü ' \\ ${x}"),
        table.storage.position(),
    )
    found = table.storage.position()
    assert found.frontier == frontier("r1", note="ü ' \\ ${x}")
    assert found.version == found.row_version == done.version
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (2, 0, 0)
    assert table.rows() == [(None, None, None), (2, "a", 1)]
    assert table.refs() == {"main", "grebe_frontier"}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("version", [2, 3])
def test_a_merge_updates_deletes_and_inserts(lake: Lake, large: bool, version: int) -> None:
    table = lake.create(version)
    build(table, [[1, "a", 10], [2, "b", 20], [3, "c", 30]])
    done = table.storage.commit(
        [merge(MIXED, target_is_large=large)], frontier("r2"), table.storage.position()
    )
    assert table.rows() == [(None, "z", 5), (1, "a", 11), (3, "c", 30)]
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (1, 1, 1)
    found = table.storage.position()
    assert found.frontier == frontier("r2")
    assert found.row_version == found.version == done.version


def test_null_keys_are_matched(table: Table) -> None:
    build(table, [[None, "a", 1], [1, "b", 1]])
    write = merge([[None, "x", 2, "update"], [1, None, None, "delete"]])
    table.storage.commit([write], frontier("r2"), table.storage.position())
    assert table.rows() == [(None, "x", 2)]


def test_a_bag_takes_all_copies_and_puts_back_what_remains(table: Table) -> None:
    build(table, [[1, "a", 1]] * 3 + [[2, None, 2]])
    rows = [
        [1, "a", 1, "delete"],
        [1, "a", 1, "insert"],
        [1, "a", 1, "insert"],
        [2, None, 2, "delete"],
        [3, "c", 3, "insert"],
    ]
    write = merge(rows, on=("k", "v", "n"), expect_updated=0, expect_deleted=4)
    table.storage.commit([write], frontier("r2"), table.storage.position())
    assert table.rows() == [(1, "a", 1), (1, "a", 1), (3, "c", 3)]


def test_an_overwrite_replaces_everything(table: Table) -> None:
    build(table, [[1, "a", 1], [2, "b", 2]])
    write = Overwrite(Rows(arrow=arrow([[9, "z", 9]])))
    done = table.storage.commit([write], frontier("r2"), table.storage.position())
    assert table.rows() == [(9, "z", 9)]
    assert (done.rows_inserted, done.rows_deleted) == (1, 2)


def test_several_writes_are_one_move(table: Table) -> None:
    build(table, [[1, "a", 10], [2, "b", 20]])
    writes = [merge(MIXED), Append(Rows(arrow=arrow([[7, "g", 7]])))]
    table.storage.commit(writes, frontier("r2"), table.storage.position())
    assert table.rows() == [(None, "z", 5), (1, "a", 11), (7, "g", 7)]
    history = table.lake.reader(table.name).read()
    head = history.snapshots[history.refs["main"]]
    below = history.snapshots[head.parent or 0]
    assert (head.summary["grebe.part"], below.summary["grebe.part"]) == ("2/2", "1/2")
    assert "grebe.frontier" in head.summary
    assert "grebe.frontier" not in below.summary


def test_a_frontier_only_commit_moves_no_row_version(table: Table) -> None:
    build(table, ONE)
    before = table.storage.position()
    done = table.storage.commit([], frontier("r2"), before)
    found = table.storage.position()
    assert found.frontier == frontier("r2")
    assert found.version == done.version != before.version
    assert found.row_version == before.row_version
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (0, 0, 0)


def test_a_merge_that_changes_nothing_moves_no_row_version(table: Table) -> None:
    build(table, ONE)
    before = table.storage.position()
    for large in (False, True):
        write = merge([], expect_updated=0, expect_deleted=0, target_is_large=large)
        table.storage.commit([write], frontier(f"r{large}"), table.storage.position())
        assert table.storage.position().row_version == before.row_version


def test_rows_changed_by_an_earlier_part_move_the_row_version(table: Table) -> None:
    build(table, [[1, "a", 10]])
    write = merge([[1, "a", 11, "update"]], expect_deleted=0, target_is_large=True)
    table.storage.commit([write], frontier("r2"), table.storage.position())
    found = table.storage.position()
    assert found.row_version == found.version


@pytest.mark.parametrize(
    ("rows", "large"),
    [
        pytest.param([[1, "a", 11, "update"], [9, None, None, "delete"]], False, id="no delete"),
        pytest.param([[9, "a", 11, "update"], [2, None, None, "delete"]], True, id="no update"),
        pytest.param([[2, None, None, "delete"], [3, "a", 1, "update"]], False, id="two updates"),
    ],
)
def test_a_contradiction_is_not_published(
    table: Table, rows: list[list[object]], large: bool
) -> None:
    build(table, [[1, "a", 10], [2, "b", 20], [3, "c", 1], [3, "c", 1]])
    before, stored = table.storage.position(), table.rows()
    with pytest.raises(CheckFailedError, match="contradict"):
        table.storage.commit([merge(rows, target_is_large=large)], frontier("r2"), before)
    assert table.storage.position() == before
    assert table.rows() == stored
    assert table.refs() == {"main", "grebe_frontier"}


@pytest.mark.parametrize("large", [False, True])
def test_an_insert_of_a_stored_key_contradicts_when_keys_are_unique(
    table: Table, large: bool
) -> None:
    build(table, [[1, "a", 10], [2, "b", 20]])
    before = table.storage.position()
    write = merge(
        [[1, "x", 0, "insert"]],
        expect_updated=0,
        expect_deleted=0,
        unique=True,
        target_is_large=large,
    )
    with pytest.raises(CheckFailedError):
        table.storage.commit([write], frontier("r2"), before)
    assert table.storage.position() == before


def test_two_changes_of_one_stored_row_contradict(table: Table) -> None:
    build(table, ONE)
    rows = [[1, "x", 1, "update"], [1, "y", 1, "update"]]
    with pytest.raises(CheckFailedError, match="several changes"):
        table.storage.commit([merge(rows)], frontier("r2"), table.storage.position())


def test_a_failing_query_leaves_nothing_visible(table: Table) -> None:
    build(table, ONE)
    before = table.storage.position()
    write = Append(Rows(sql="SELECT raise_error('boom') AS v, 1L AS k, 1L AS n"))
    with pytest.raises(StepFailedError) as caught:
        table.storage.commit([write], frontier("r2"), before)
    assert "boom" in (caught.value.detail or "")
    assert table.storage.position() == before
    assert table.refs() == {"main", "grebe_frontier"}


def test_properties_do_not_leak_into_later_writes(table: Table) -> None:
    build(table, ONE)
    table.sql("INSERT INTO {t} VALUES (5, 'mine', 5)")
    head = table.lake.reader(table.name).read().tip("main")
    assert head is not None
    assert not [key for key in head.summary if key.startswith("grebe.")]


def test_commits_of_two_threads_through_one_session_do_not_mix(lake: Lake) -> None:
    tables = [lake.create(), lake.create()]

    def work(number: int) -> None:
        for step in range(3):
            build(tables[number], [[step, "abc"[step], number]], f"t{number}s{step}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (0, 1)))
    for number, table in enumerate(tables):
        found = table.storage.position()
        assert found.frontier == frontier(f"t{number}s2")
        assert found.foreign == ()
        assert table.rows() == [(0, "a", number), (1, "b", number), (2, "c", number)]


def test_a_run_that_landed_is_answered_again_and_not_applied_again(table: Table) -> None:
    build(table, ONE)
    before = table.storage.position()
    writes = [Append(Rows(arrow=arrow([[2, "b", 2]])))]
    first = table.storage.commit(writes, frontier("r2"), before)
    again = table.storage.commit(writes, frontier("r2"), before)
    assert again == first
    assert table.rows() == [(1, "a", 10), (2, "b", 2)]


def test_a_plan_made_before_another_publish_is_refused(table: Table) -> None:
    build(table, ONE)
    planned = table.storage.position()
    table.storage.commit([Append(Rows(arrow=arrow([[2, "b", 2]])))], frontier("r2"), planned)
    with pytest.raises(ConflictError):
        table.storage.commit([Append(Rows(arrow=arrow([[2, "b", 2]])))], frontier("r3"), planned)
    assert table.rows() == [(1, "a", 10), (2, "b", 2)]


def test_a_second_first_build_is_refused(table: Table) -> None:
    empty = table.storage.position()
    build(table, ONE)
    with pytest.raises(ConflictError):
        table.storage.commit([Append(Rows(arrow=arrow(ONE)))], frontier("late"), empty)
    assert table.rows() == [(1, "a", 10)]


def test_odd_names_and_types_survive(lake: Lake) -> None:
    columns = (
        Column(1, "a b", "DECIMAL(9,2)"),
        Column(2, "it's `q`", "TIMESTAMP"),
        Column(3, "x.y", "MAP<STRING, ARRAY<INT>>"),
        Column(4, "select", "STRUCT<`p q`: MAP<INT, STRING>, r: BINARY>"),
        Column(5, "Ünï", "ARRAY<MAP<STRING, INT>>"),
    )
    table = lake.create(columns=columns)
    names = [column.name for column in columns]
    values = """CAST(1.5 AS DECIMAL(5,1)) AS `a b`, TIMESTAMP'2020-01-01 00:00:00' AS `it's ``q```,
        map('b', array(2), 'a', array(1)) AS `x.y`,
        named_struct('p q', map(2, 'y', 1, 'x'), 'r', X'00ff') AS `select`,
        array(map('q', 1), NULL) AS `Ünï`"""
    table.storage.commit(
        [Append(Rows(sql=f"SELECT {values} UNION ALL SELECT NULL, NULL, NULL, NULL, NULL"))],
        frontier("r1"),
        table.storage.position(),
    )
    reordered = values.replace(
        "map('b', array(2), 'a', array(1))", "map('a', array(1), 'b', array(2))"
    )
    reordered = reordered.replace("map(2, 'y', 1, 'x')", "map(1, 'x', 2, 'y')")
    delete = Merge(
        Rows(
            sql=f"SELECT {reordered}, 'delete' AS {ACTION} "
            "UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, 'delete'"
        ),
        on=tuple(names),
        expect_updated=0,
        expect_deleted=2,
    )
    table.storage.commit([delete], frontier("r2"), table.storage.position())
    assert table.sql("SELECT count(*) FROM {t}") == [(0,)]


def test_values_that_do_not_fit_the_stored_type_are_refused(table: Table) -> None:
    build(table, ONE)
    before = table.storage.position()
    rows = pa.table({"k": ["no number"], "v": ["x"], "n": [1]})
    with pytest.raises(StepFailedError):
        table.storage.commit([Append(Rows(arrow=rows))], frontier("r2"), before)
    assert table.storage.position() == before


def test_the_same_without_the_driver_reading_metadata(table: Table) -> None:
    storage = IcebergStorage(table.lake.session, table.name)
    storage.commit([Append(Rows(arrow=arrow(ONE)))], frontier("r1"), storage.position())
    rows = [row for row in MIXED if row[3] != "delete"]
    write = merge(rows, expect_deleted=0, target_is_large=True)
    storage.commit([write], frontier("r2"), storage.position())
    assert storage.position() == table.storage.position()
    assert storage.position().frontier == frontier("r2")
    stale = table.storage.position()
    table.call("rewrite_data_files", "options => map('rewrite-all', 'true')")
    table.call("rewrite_manifests")
    table.call("expire_snapshots", "older_than => TIMESTAMP '2999-01-01', retain_last => 1")
    assert storage.position().frontier == stale.frontier
    assert storage.position() == table.storage.position()
    reader = SparkReader(table.lake.session, table.name)
    assert reader.log() == table.lake.reader(table.name).log()


def test_what_a_dead_run_left_is_listed_with_its_age_and_removed(table: Table) -> None:
    build(table, ONE)
    before = table.storage.position()
    assert table.storage.orphans() == ()
    made = table.sql("SELECT current_timestamp()")[0][0]
    table.sql(f"ALTER TABLE {{t}} CREATE BRANCH grebe_dead AS OF VERSION {before.version}")
    [young] = table.storage.orphans()
    table.storage.commit([], frontier("r2"), before)
    table.storage.commit([], frontier("r3"), table.storage.position())
    [orphan] = table.storage.orphans()
    assert orphan == young
    assert orphan.run_id == "dead"
    assert abs(orphan.since.timestamp() - made.timestamp()) < 5  # type: ignore[attr-defined]
    table.storage.abandon(RunId("dead"))
    assert table.refs() == {"main", "grebe_frontier"}
    assert table.storage.position().frontier == frontier("r3")
