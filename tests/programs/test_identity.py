"""What a name means: columns and tables that became others, and writes by somebody else."""

from __future__ import annotations

import duckdb
import pytest

from grebe import MaterializedView, compile_ivm
from programs.lake import Lake, Named, check, maintain, set_up

TOTALS = "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM t GROUP BY g"
ROWS = "SELECT g, x FROM t"
SCHEMAS = {"t": {"g": "INTEGER", "x": "INTEGER"}, "u": {"g": "INTEGER", "y": "INTEGER"}}


@pytest.fixture
def filled(lake: Lake) -> Lake:
    lake.run(
        "CREATE TABLE dl.t (g INTEGER, x INTEGER)",
        "INSERT INTO dl.t VALUES (1, 10), (1, 20), (2, 5), (NULL, 7)",
    )
    return lake


def made(lake: Lake, sql: str = ROWS, **options: str) -> MaterializedView:
    view = compile_ivm(sql, schemas=SCHEMAS, **options)  # type: ignore[arg-type]
    set_up(lake, view)
    return view


@pytest.mark.parametrize("policy", ["strict", "auto"])
@pytest.mark.parametrize("sql", [ROWS, TOTALS])
@pytest.mark.parametrize(
    "changes",
    [
        ["DROP COLUMN x", "ADD COLUMN x INTEGER"],
        ["DROP COLUMN x", "ADD COLUMN x INTEGER DEFAULT 3"],
        ["RENAME COLUMN x TO q", "RENAME COLUMN g TO x", "RENAME COLUMN q TO g"],
    ],
    ids=["again", "default", "swapped"],
)
def test_C21_a_column_that_became_another(
    filled: Lake, sql: str, changes: list[str], policy: str
) -> None:
    view = made(filled, sql, policy=policy)
    filled.run(*(f"ALTER TABLE dl.t {change}" for change in changes))
    for change in ("SELECT 1", "INSERT INTO dl.t (g, x) VALUES (1, 1)", "DELETE FROM dl.t"):
        filled.run(change)
        maintain(filled.con, view)
        check(filled, view, sql)


def test_C21_a_field_that_became_another(lake: Lake) -> None:
    lake.run(
        "CREATE TABLE dl.t (g INTEGER, s STRUCT(a INTEGER, b INTEGER))",
        "INSERT INTO dl.t VALUES (1, {'a': 1, 'b': 2})",
    )
    sql = "SELECT g, s.b AS b FROM t"
    view = compile_ivm(sql)
    set_up(lake, view)
    lake.run("ALTER TABLE dl.t DROP COLUMN s.b", "ALTER TABLE dl.t ADD COLUMN s.b INTEGER")
    maintain(lake.con, view)
    check(lake, view, sql)


@pytest.mark.parametrize("policy", ["strict", "auto", "incremental", "full"])
def test_C21_another_type_stops_every_policy(filled: Lake, policy: str) -> None:
    view = made(filled, policy=policy)
    filled.run(
        "ALTER TABLE dl.t ALTER COLUMN x TYPE BIGINT", "INSERT INTO dl.t VALUES (1, 5000000000)"
    )
    with pytest.raises(duckdb.Error, match=r"\[schema-changed\]"):
        maintain(filled.con, view)


def test_C21_a_table_that_went_away_and_came_back(filled: Lake) -> None:
    view = made(filled)
    filled.run(
        "ALTER TABLE dl.t RENAME TO z",
        "INSERT INTO dl.z VALUES (3, 3)",
        "ALTER TABLE dl.z RENAME TO t",
    )
    maintain(filled.con, view)
    check(filled, view, ROWS)
    head = filled.head()
    maintain(filled.con, view)
    assert filled.head() == head


@pytest.mark.parametrize("given", [True, False])
def test_C45_a_version_older_than_a_rewrite(filled: Lake, given: bool) -> None:
    """DuckLake gives it the range of the newest rows, and DuckDB wrong values by that."""
    filled.run(
        "CREATE TABLE dl.u (g INTEGER, y INTEGER)",
        "INSERT INTO dl.u SELECT i, i FROM range(2000) AS r(i)",
        "INSERT INTO dl.t VALUES (1600, 1), (1700, 1)",
        "CALL ducklake_flush_inlined_data('dl')",
    )
    sqls = [
        "SELECT t.g, t.x, u.y FROM t JOIN u ON t.g = u.g",
        "SELECT u.y, COUNT(*) AS n, MAX(t.x) AS m FROM t JOIN u ON t.g = u.g GROUP BY u.y",
        "SELECT u.g, y FROM u WHERE y > 500",
        "SELECT t.x, u.y FROM t JOIN u ON t.g = u.g WHERE u.y > 500",
    ]
    views = {
        sql: compile_ivm(sql, schemas=SCHEMAS if given else None, naming=Named(f"v{number}"))
        for number, sql in enumerate(sqls)
    }
    for view in views.values():
        set_up(filled, view)
    filled.run(
        "DELETE FROM dl.u WHERE y > 10",
        "CALL ducklake_rewrite_data_files('dl', delete_threshold => 0)",
        "UPDATE dl.t SET x = x + 1",
        "INSERT INTO dl.t VALUES (1, 1), (1500, 3), (1600, 2)",
        "DELETE FROM dl.t WHERE g = 1700",
    )
    filled.close()
    filled.connect()  # a session that has read no older ranges
    for sql, view in views.items():
        maintain(filled.con, view)
        check(filled, view, sql)


def test_F060_a_range_with_a_hole_is_read_as_a_difference(filled: Lake) -> None:
    """The snapshot that told of the change is gone, the cursor's own is not."""
    filled.run("CREATE TABLE dl.u (g INTEGER, y INTEGER)", "INSERT INTO dl.u VALUES (1, 1), (9, 1)")
    views = {
        sql: compile_ivm(sql, schemas=SCHEMAS, naming=Named(f"v{number}"))
        for number, sql in enumerate([ROWS, "SELECT t.g, x, y FROM t JOIN u ON t.g = u.g"])
    }
    for view in views.values():
        set_up(filled, view)
    filled.run("INSERT INTO dl.t VALUES (9, 9)", "DELETE FROM dl.t WHERE x = 10")
    gone = filled.head()
    filled.run("INSERT INTO dl.u VALUES (5, 5)")
    filled.run(f"CALL ducklake_expire_snapshots('dl', versions => [{gone - 1}, {gone}])")
    for change in ("SELECT 1", "INSERT INTO dl.t VALUES (1, 9)"):
        filled.run(change)
        for sql, view in views.items():
            maintain(filled.con, view)
            check(filled, view, sql)


@pytest.mark.parametrize("sql", [ROWS, TOTALS])
def test_F017_a_view_made_anew_without_its_cursor(filled: Lake, sql: str) -> None:
    view = made(filled, sql)
    filled.run("INSERT INTO dl.t VALUES (1, 100), (5, 5)", "DROP TABLE dl.mv", view.create_mv)
    other = filled.con.cursor()
    with pytest.raises(duckdb.Error, match="foreign-write"):
        maintain(other, view)
    with pytest.raises(duckdb.Error, match="foreign-write"):
        _initialize(other, view)
    filled.run(*view.initialize_cursors)  # this connection knows what create_mv has read
    maintain(other, view)
    check(filled, view, sql)


def _initialize(con: duckdb.DuckDBPyConnection, view: MaterializedView) -> None:
    for statement in view.initialize_cursors:
        con.execute(statement)


def test_F017_a_set_up_that_stopped_half_way(filled: Lake) -> None:
    """The first cursor row is of the new table, the second one still of the old one."""
    filled.run("CREATE TABLE dl.u (g INTEGER, y INTEGER)", "INSERT INTO dl.u VALUES (1, 1)")
    view = made(filled, "SELECT t.g, x, y FROM t JOIN u ON t.g = u.g")
    filled.run("INSERT INTO dl.u VALUES (1, 2)", "DROP TABLE dl.mv", view.create_mv)
    updates = [text for text in view.initialize_cursors if text.startswith("UPDATE")]
    filled.run(view.initialize_cursors[0], updates[0])
    with pytest.raises(duckdb.Error, match=r"\[setup\]"):
        maintain(filled.con, view)


@pytest.mark.parametrize("policy", ["strict", "auto"])
def test_F053_a_table_put_in_the_place_of_the_view(filled: Lake, policy: str) -> None:
    view = made(filled, policy=policy)
    for change in ("INSERT INTO dl.t VALUES (3, 3)", "SELECT 1"):
        filled.run(change)
        maintain(filled.con, view)
    filled.run("CREATE OR REPLACE TABLE dl.mv AS SELECT * FROM dl.mv WHERE g = 1")
    if policy == "strict":
        with pytest.raises(duckdb.Error, match="foreign-write"):
            maintain(filled.con, view)
        return
    maintain(filled.con, view)
    check(filled, view, ROWS)


def test_F053_a_foreign_write_during_a_maintain_is_found(filled: Lake) -> None:
    view = made(filled)
    filled.run("INSERT INTO dl.t VALUES (9, 9)")
    first = filled.con.cursor()
    for statement in view.maintain[:-1]:
        first.execute(statement)
    filled.run("INSERT INTO dl.mv VALUES (100, 100)")
    first.execute(view.maintain[-1])
    with pytest.raises(duckdb.Error, match="foreign-write"):
        maintain(filled.con, view)


@pytest.mark.parametrize("write", ["INSERT INTO dl.mv VALUES (7, 7)", "DELETE FROM dl.mv"])
def test_F053_a_foreign_write_beside_upkeep_is_found(filled: Lake, write: str) -> None:
    view = made(filled)
    filled.run("INSERT INTO dl.t VALUES (9, 9)", "DELETE FROM dl.t WHERE x = 10")
    maintain(filled.con, view)
    filled.run("BEGIN", write, "CALL ducklake_flush_inlined_data('dl')", "COMMIT")
    with pytest.raises(duckdb.Error, match="foreign-write"):
        maintain(filled.con, view)


@pytest.mark.parametrize(
    "upkeep", ["flush_inlined_data", "rewrite_data_files", "merge_adjacent_files"]
)
def test_F053_upkeep_is_no_foreign_write(filled: Lake, upkeep: str) -> None:
    """The flush of deleted rows is listed as a delete."""
    view = made(filled, TOTALS)
    for change in ("INSERT INTO dl.t VALUES (9, 9)", "DELETE FROM dl.t WHERE x = 10"):
        filled.run(change)
        maintain(filled.con, view)
        filled.run(f"CALL ducklake_{upkeep}('dl')")
        maintain(filled.con, view)
        check(filled, view, TOTALS)


def test_F056_rows_of_a_former_definition_hold_nothing_back(filled: Lake) -> None:
    filled.run("CREATE TABLE dl.u (g INTEGER, y INTEGER)")
    made(filled, "SELECT t.g, x, y FROM t JOIN u ON t.g = u.g")
    filled.run("DROP TABLE dl.mv")
    made(filled)
    assert filled.rows("SELECT source_table FROM dl._ivm_cursors") == [("t",)]
