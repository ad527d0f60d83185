"""F014-F063: what the statements do on a real DuckLake."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from grebe import (
    MaterializedView,
    PendingMaintenance,
    SnapshotSafety,
    compile_ivm,
    pending_maintenance_sql,
    safe_to_expire_sql,
)
from programs.lake import (
    Kind,
    Lake,
    Named,
    check,
    cursor,
    maintain,
    set_up,
)

TOTALS = "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM t GROUP BY g"
ROWS = "SELECT g, x FROM t"
SCHEMAS = {"t": {"g": "INTEGER", "x": "INTEGER"}, "u": {"g": "INTEGER", "y": "INTEGER"}}


@pytest.fixture
def filled(lake: Lake) -> Lake:
    lake.run(
        "CREATE TABLE dl.t (g INTEGER, x INTEGER)",
        "CREATE TABLE dl.u (g INTEGER, y INTEGER)",
        "INSERT INTO dl.t VALUES (1, 10), (1, 20), (2, 5), (NULL, 7)",
        "INSERT INTO dl.u VALUES (1, 100), (2, 200), (1, 100)",
    )
    return lake


def made(lake: Lake, sql: str = TOTALS, **options: str) -> MaterializedView:
    view = compile_ivm(sql, schemas=SCHEMAS, **options)  # type: ignore[arg-type]
    set_up(lake, view)
    return view


def kept(lake: Lake, view: MaterializedView, sql: str) -> None:
    maintain(lake.con, view)
    check(lake, view, sql)


def test_F005_another_schema_end_to_end(filled: Lake) -> None:
    filled.run("CREATE SCHEMA dl.analytics")
    view = compile_ivm(ROWS, mv_schema="analytics", sources={"t": {"schema": "main"}})
    set_up(filled, view)
    filled.run("INSERT INTO dl.t VALUES (5, 5)")
    place = ("dl", "analytics")
    assert filled.rows(pending_maintenance_sql([place])) == [("dl", "mv", "dl", "t", 1, 1)]
    kept(filled, view, ROWS)
    assert filled.rows(safe_to_expire_sql([place], ["dl"]))[0][1] == filled.head() - 1


def test_F005_a_missing_catalog_is_named(filled: Lake) -> None:
    view = compile_ivm(ROWS, mv_catalog="nowhere", sources={"t": {"catalog": "dl"}})
    with pytest.raises(duckdb.Error, match="nowhere"):
        filled.run(view.create_cursors_table)


def test_F014_cursor_table_is_made_once(filled: Lake) -> None:
    view = made(filled)
    other = filled.con.cursor()
    for _ in range(3):
        other.execute(view.create_cursors_table)
        filled.run(view.create_cursors_table)
    assert len(cursor(filled)) == 1
    filled.run("DROP TABLE dl._ivm_cursors", "CREATE TABLE dl._ivm_cursors (a INTEGER)")
    with pytest.raises(duckdb.Error, match="exists with other columns"):
        filled.run(view.create_cursors_table)


def test_F015_cursor_rows_of_the_document(tmp_path: Path) -> None:
    lake = Lake(tmp_path, catalogs=("analytics", "sales_dl", "crm_dl"))
    lake.run(
        "CREATE TABLE sales_dl.orders (id INTEGER, customer_id INTEGER, amount DECIMAL(10,2))",
        "CREATE TABLE crm_dl.customers (id INTEGER, region VARCHAR)",
    )
    places = {"orders": {"catalog": "sales_dl"}, "customers": {"catalog": "crm_dl"}}
    joined = (
        "SELECT c.region, SUM(o.amount) AS total FROM orders o"
        " JOIN customers c ON o.customer_id = c.id GROUP BY c.region"
    )
    totals = "SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id"
    for name, sql, used in (
        ("sales_by_region", joined, places),
        ("customer_totals", totals, {"orders": places["orders"]}),
    ):
        set_up(lake, compile_ivm(sql, naming=Named(name), mv_catalog="analytics", sources=used))
    found = lake.rows("SELECT mv_name, source_catalog FROM analytics._ivm_cursors ORDER BY ALL")
    assert found == [
        ("customer_totals", "sales_dl"),
        ("sales_by_region", "crm_dl"),
        ("sales_by_region", "sales_dl"),
    ]
    lake.close()


def test_F015_a_doubled_row_is_an_error(filled: Lake) -> None:
    view = made(filled)
    filled.run("INSERT INTO dl._ivm_cursors SELECT * FROM dl._ivm_cursors")
    with pytest.raises(duckdb.Error, match="more than one cursor row"):
        maintain(filled.con, view)


@pytest.mark.parametrize("sql", [ROWS, TOTALS, "SELECT COUNT(*) AS n, SUM(x) AS s FROM t"])
def test_F016_created_view_equals_its_query_also_over_nothing(filled: Lake, sql: str) -> None:
    check(filled, made(filled, sql), sql)
    filled.run("DELETE FROM dl.t")
    empty = compile_ivm(sql, naming=Named("empty"), schemas=SCHEMAS)
    set_up(filled, empty)
    check(filled, empty, sql)
    filled.run("INSERT INTO dl.t VALUES (NULL, NULL)")
    kept(filled, empty, sql)
    with pytest.raises(duckdb.Error, match="already exists"):
        filled.run(empty.create_mv)


def test_F017_a_write_between_create_and_initialize_is_seen(filled: Lake) -> None:
    view = compile_ivm(TOTALS)
    filled.run(view.create_cursors_table)
    before = filled.head()
    filled.run(view.create_mv, "INSERT INTO dl.t VALUES (1, 1), (9, 9)", *view.initialize_cursors)
    assert cursor(filled) == {"t": before}
    filled.run(*view.initialize_cursors)
    assert cursor(filled) == {"t": before}
    kept(filled, view, TOTALS)
    filled.run(*view.initialize_cursors)
    kept(filled, view, TOTALS)


def test_F017_cursors_cannot_begin_without_the_view(filled: Lake) -> None:
    view = compile_ivm(TOTALS)
    filled.run(view.create_cursors_table)
    with pytest.raises(duckdb.Error, match=r"dl\.main\.mv.*create_mv first"):
        filled.run(*view.initialize_cursors)


def test_F017_a_failed_create_moves_no_cursor(filled: Lake) -> None:
    view = made(filled)
    filled.run("INSERT INTO dl.t VALUES (3, 3)")
    with pytest.raises(duckdb.Error, match="already exists"):
        filled.run(view.create_mv)
    filled.run(*view.initialize_cursors)
    kept(filled, view, TOTALS)


def test_F019_maintain_before_set_up_is_a_clear_error(filled: Lake) -> None:
    view = compile_ivm(TOTALS)
    with pytest.raises(duckdb.Error, match="_ivm_cursors"):
        maintain(filled.con, view)
    filled.run(view.create_cursors_table, view.create_mv)
    with pytest.raises(duckdb.Error, match=r'view "dl\.main\.mv" and source "dl\.main\.t"'):
        maintain(filled.con, view)


def kept_until(lake: Lake, view: MaterializedView, relation: str) -> list[str]:
    """Runs maintain until it has kept a relation; gives the statements that are left."""
    for place, statement in enumerate(view.maintain, 1):
        lake.run(statement)
        if statement.startswith(f'CREATE OR REPLACE TEMP TABLE "temp"."main"."{relation}"'):
            return view.maintain[place:]
    raise AssertionError(f"{relation} is not kept")


def changed_in_every_way(lake: Lake) -> None:
    lake.run(
        "INSERT INTO dl.t VALUES (9, 9), (3, 3)",
        "DELETE FROM dl.t WHERE g = 9 OR x = 10",
        "UPDATE dl.t SET x = x + 1 WHERE g = 1",
        "UPDATE dl.t SET x = x WHERE g IS NULL",
        "MERGE INTO dl.t AS h USING (SELECT 2 AS g, 6 AS x UNION ALL SELECT 4, 4) AS s ON h.g = s.g"
        " WHEN MATCHED THEN UPDATE SET x = s.x WHEN NOT MATCHED THEN INSERT VALUES (s.g, s.x)",
    )


def test_F021_weights_are_those_of_the_types_of_change(filled: Lake) -> None:
    view = made(filled, ROWS)
    start = filled.head()
    changed_in_every_way(filled)
    types = f"FROM dl.table_changes('t', {start + 1}, {filled.head()})"
    assert {row[0] for row in filled.rows(f"SELECT DISTINCT change_type {types}")} == {
        "insert", "delete", "update_preimage", "update_postimage",
    }  # fmt: skip
    weight = (
        "CASE change_type WHEN 'insert' THEN 1 WHEN 'update_postimage' THEN 1"
        " WHEN 'delete' THEN -1 WHEN 'update_preimage' THEN -1 ELSE error('unknown type') END"
    )
    typed = filled.rows(f"SELECT g, x, {weight} {types}")
    rest = kept_until(filled, view, "__grebe_feed_1")
    found = filled.rows('SELECT g, x, __grebe_weight FROM "temp"."main"."__grebe_feed_1"')
    assert sorted(found, key=str) == sorted(typed, key=str)
    filled.run(*rest)
    check(filled, view, ROWS)


def test_F021_a_window_sums_up_to_the_difference_of_its_versions(filled: Lake) -> None:
    view = made(filled, ROWS)
    start = filled.head()
    changed_in_every_way(filled)
    kept_until(filled, view, "__grebe_delta_1")
    delta = 'SELECT g, x, __grebe_weight AS n FROM "temp"."main"."__grebe_delta_1"'
    versions = " UNION ALL ".join(
        f"SELECT g, x, {sign} AS n FROM dl.t AT (VERSION => {version})"
        for sign, version in ((1, filled.head()), (-1, start))
    )
    net = f"SELECT g, x, SUM(n) AS n FROM ({versions}) GROUP BY ALL HAVING SUM(n) <> 0"
    assert sorted(filled.rows(delta), key=str) == sorted(filled.rows(net), key=str)
    filled.run("ROLLBACK")


@pytest.mark.parametrize("gone", ["__grebe_weight > 0", "__grebe_weight < 0"])
def test_F021_a_change_that_the_feed_does_not_tell_is_not_ignored(filled: Lake, gone: str) -> None:
    """As with a type of change that nobody knows: the versions then say what changed."""
    view = made(filled, ROWS)
    changed_in_every_way(filled)
    rest = kept_until(filled, view, "__grebe_feed_1")
    filled.run(f'DELETE FROM "temp"."main"."__grebe_feed_1" WHERE {gone}', *rest)
    check(filled, view, ROWS)


def test_F022_transient_rows_and_double_updates(filled: Lake) -> None:
    view = made(filled, ROWS)
    filled.run(
        "INSERT INTO dl.t VALUES (9, 9)",
        "DELETE FROM dl.t WHERE g = 9",
        "UPDATE dl.t SET x = 6 WHERE x = 5",
        "UPDATE dl.t SET x = 7 WHERE x = 6",
    )
    kept(filled, view, ROWS)


def test_F022_a_retraction_of_what_is_not_stored_is_an_error(filled: Lake) -> None:
    view = made(filled, ROWS)
    stolen = "DELETE FROM dl.mv WHERE x = 5"
    filled.run("DELETE FROM dl.t WHERE x = 5")
    hidden = f"UPDATE dl._ivm_cursors SET mv_snapshot = {filled.head() + 1}"
    filled.run("BEGIN", stolen, hidden, "COMMIT")
    with pytest.raises(duckdb.Error, match="integrity"):
        maintain(filled.con, view)


def test_F023_each_feed_is_read_once(filled: Lake) -> None:
    text = "\n".join(compile_ivm("SELECT a.g FROM t a JOIN t b ON a.g = b.g").maintain)
    for kind in ("insertions", "deletions"):
        assert text.count(f"ducklake_table_{kind}('dl', 'main', 't'") == 1


def test_F024_an_update_moves_rows_in_and_out_of_the_filter(filled: Lake) -> None:
    sql = "SELECT g, x * 2 AS z FROM t WHERE x > 6"
    view = made(filled, sql)
    filled.run("UPDATE dl.t SET x = 15 - x", "UPDATE dl.t SET x = NULL WHERE g IS NULL")
    kept(filled, view, sql)


def test_F025_two_of_five_equal_rows(filled: Lake) -> None:
    filled.run("DELETE FROM dl.t", "INSERT INTO dl.t SELECT 1, NULL FROM range(5)")
    view = made(filled, ROWS)
    filled.run("DELETE FROM dl.t WHERE rowid IN (SELECT rowid FROM dl.t LIMIT 2)")
    kept(filled, view, ROWS)
    assert filled.value("SELECT COUNT(*) FROM dl.mv") == 3


def test_F026_aliases_structs_and_columns_named_like_the_feed(lake: Lake) -> None:
    lake.run(
        "CREATE TABLE dl.t (snapshot_id INTEGER, change_type VARCHAR, rowid INTEGER,"
        " s STRUCT(a INTEGER, b VARCHAR))",
        "INSERT INTO dl.t VALUES (1, 'insert', 5, {'a': 1, 'b': 'insert'})",
    )
    sql = "SELECT z.snapshot_id AS i, z.change_type, z.s.b AS b, 'change_type' AS lit FROM t AS z"
    view = compile_ivm(sql)
    set_up(lake, view)
    lake.run(
        "INSERT INTO dl.t VALUES (2, 'delete', 6, NULL), (2, 'delete', 6, NULL)",
        "UPDATE dl.t SET change_type = 'x' WHERE snapshot_id = 1",
    )
    kept(lake, view, sql)


def test_F027_cursor_is_the_pinned_end(filled: Lake) -> None:
    view = made(filled)
    filled.run("INSERT INTO dl.t VALUES (1, 1)")
    pinned = filled.head()
    other = filled.con.cursor()
    for place, statement in enumerate(view.maintain):
        filled.run(statement)
        if place == 4:
            other.execute("INSERT INTO dl.t VALUES (8, 8)")
    assert cursor(filled) == {"t": pinned}
    assert filled.head() > pinned + 1
    kept(filled, view, TOTALS)


def test_F032_public_columns_are_the_select_list(filled: Lake) -> None:
    sql = "SELECT COUNT(*) AS n, g, AVG(x) AS a FROM t GROUP BY g"
    view = made(filled, sql)
    filled.con.execute(view.query_mv)
    assert [item[0] for item in filled.con.description or []] == ["n", "g", "a"]
    names = [row[0] for row in filled.rows("DESCRIBE dl.mv")]
    assert names[:3] == ["n", "g", "a"]
    assert all(str(name).startswith("_ivm_") for name in names[3:])


def test_F034_one_changed_table_scans_nothing_of_the_other_term(filled: Lake) -> None:
    sql = "SELECT t.g, t.x, u.y FROM t JOIN u ON t.g = u.g"
    view = made(filled, sql)
    filled.run("INSERT INTO dl.t VALUES (1, 99)")
    plans = []
    for statement in view.maintain:
        if statement.startswith('CREATE OR REPLACE TEMP TABLE "temp"."main"."__grebe_step_delta"'):
            query = statement.split(" AS\n", 1)[1]
            plans.append(str(filled.rows(f"EXPLAIN {query}")[0][1]))
        filled.run(statement)
    assert len(plans) == 1
    assert plans[0].count("JOIN") == 1
    check(filled, view, sql)


def test_F037_five_tables_have_five_terms() -> None:
    tables = [f"t{number}" for number in range(5)]
    on = " ".join(f"JOIN {name} ON {name}.k = t0.k" for name in tables[1:])
    view = compile_ivm(f"SELECT t0.v FROM t0 {on}")
    step = next(text for text in view.maintain if "__grebe_step_delta" in text)
    assert [step.count(f'__grebe_delta_{number}"') for number in range(1, 6)] == [1] * 5


def test_F044_recursion_is_refreshed_in_full(filled: Lake) -> None:
    sql = (
        "WITH RECURSIVE n AS (SELECT g FROM t UNION SELECT g + 1 FROM n WHERE g < 4)"
        " SELECT g FROM n"
    )
    view = made(filled, sql, policy="auto")
    filled.run("INSERT INTO dl.t VALUES (-1, 0)")
    kept(filled, view, sql)


def test_F050_a_full_refresh_writes_only_differences(filled: Lake) -> None:
    sql = "SELECT g, x, SUM(x) OVER () > 1000 AS big FROM t"
    filled.run("INSERT INTO dl.t VALUES (NULL, NULL), (NULL, NULL)")
    view = made(filled, sql, policy="auto")
    assert (view.strategy, view.fallback_reason is None) == ("full_refresh", False)
    filled.run("INSERT INTO dl.t VALUES (NULL, NULL), (3, 3)")
    kept(filled, view, sql)
    head = filled.head()
    feed = filled.rows(f"SELECT change_type, g, x FROM dl.table_changes('mv', {head}, {head})")
    assert sorted(feed, key=str) == [("insert", 3, 3), ("insert", None, None)]


def test_F052_sources_in_two_catalogs_and_the_view_in_a_third(tmp_path: Path, kind: Kind) -> None:
    lake = Lake(tmp_path, kind, ("one", "two", "three"))
    lake.run(
        "CREATE TABLE one.t (g INTEGER, x INTEGER)", "CREATE TABLE two.u (g INTEGER, y INTEGER)"
    )
    sql = "SELECT t.g, SUM(u.y) AS s FROM t JOIN u ON t.g = u.g GROUP BY t.g"
    places = {"t": {"catalog": "one"}, "u": {"catalog": "two"}}
    view = compile_ivm(sql, mv_catalog="three", sources=places, schemas=SCHEMAS)
    set_up(lake, view)
    truth = sql.replace("FROM t JOIN u", "FROM one.t JOIN two.u").replace("t.g", "one.t.g")
    lake.run("INSERT INTO one.t VALUES (1, 1), (2, 2)", "INSERT INTO two.u VALUES (1, 5), (1, 6)")
    maintain(lake.con, view)
    check(lake, view, truth.replace("u.g", "two.u.g"), at="three")
    lake.run("UPDATE one.t SET g = 1", "DELETE FROM two.u WHERE y = 5")
    maintain(lake.con, view)
    check(lake, view, truth.replace("u.g", "two.u.g"), at="three")
    assert cursor(lake, catalog="three") == {"t": lake.head("one"), "u": lake.head("two")}
    lake.close()


def test_F053_a_view_on_a_view_and_time_travel(filled: Lake) -> None:
    parent = made(filled)
    first = filled.head()
    child_sql = "SELECT n, SUM(s) AS s FROM mv GROUP BY n"
    child = compile_ivm(child_sql, naming=Named("child"))
    set_up(filled, child)
    filled.run("INSERT INTO dl.t VALUES (1, 1), (4, 4)", "DELETE FROM dl.t WHERE g = 2")
    maintain(filled.con, parent)
    kept(filled, child, child_sql)
    assert filled.value(f"SELECT SUM(n) FROM dl.mv AT (VERSION => {first})") == 4
    assert filled.value("SELECT SUM(n) FROM dl.mv") == 5


def test_F053_a_foreign_write_to_the_view_is_found(filled: Lake) -> None:
    strict = made(filled)
    lenient = compile_ivm(TOTALS, naming=Named("lenient"), schemas=SCHEMAS, policy="auto")
    set_up(filled, lenient)
    filled.run("UPDATE dl.mv SET s = 0", "DELETE FROM dl.lenient WHERE g = 1")
    with pytest.raises(duckdb.Error, match="foreign-write"):
        maintain(filled.con, strict)
    kept(filled, lenient, TOTALS)
    head = filled.head()
    maintain(filled.con, lenient)
    assert filled.head() == head


def test_F054_an_idle_maintain_creates_no_snapshot(tmp_path: Path, kind: Kind) -> None:
    lake = Lake(tmp_path, kind)
    lake.run(
        "CREATE TABLE dl.t (g INTEGER, x INTEGER)",
        "CREATE TABLE dl.other (a INTEGER)",
        "INSERT INTO dl.t VALUES (1, 10), (2, 20)",
    )
    views = [
        compile_ivm(sql, naming=Named(f"v{place}"), schemas=SCHEMAS, policy=policy)
        for place, (sql, policy) in enumerate(
            [(ROWS, "strict"), (TOTALS, "strict"), ("SELECT SUM(x / 3) AS f FROM t", "auto")]
        )
    ]
    for view in views:
        set_up(lake, view)
        lake.run("INSERT INTO dl.t VALUES (3, 30)")
    for view in views:
        maintain(lake.con, view)
    lake.run("INSERT INTO dl.other VALUES (1)")
    for maintenance in ("flush_inlined_data", "merge_adjacent_files", "rewrite_data_files"):
        lake.run(f"CALL ducklake_{maintenance}('dl')")
    head = lake.head()
    for view in views:
        maintain(lake.con, view)
    assert lake.head() == head
    lake.close()


def test_F054_rewritten_files_open_no_window(filled: Lake) -> None:
    """Otherwise every idle maintain would read two versions in full to find no difference."""
    filled.run(
        "INSERT INTO dl.t SELECT i % 5, i FROM range(60) AS r(i)",
        "CALL ducklake_flush_inlined_data('dl')",
        "DELETE FROM dl.t WHERE x % 2 = 0",
        "CALL ducklake_flush_inlined_data('dl')",
    )
    view = made(filled)
    filled.run("CALL ducklake_rewrite_data_files('dl', delete_threshold => 0)")
    assert "rewrite_delete" in str(filled.rows("SELECT changes FROM dl.snapshots()")[-1])
    head = filled.head()
    for statement in view.maintain[:6]:
        filled.run(statement)
    window = "getvariable('__grebe_window')"
    assert filled.rows(f"SELECT {window}.old = {window}.new, {window}.advance") == [(True, False)]
    filled.run("ROLLBACK")
    maintain(filled.con, view)
    assert filled.head() == head
    filled.run("INSERT INTO dl.t VALUES (1, 1)", "DELETE FROM dl.t WHERE x = 7")
    kept(filled, view, TOTALS)


def test_F054_a_window_without_rows_only_moves_the_cursor(filled: Lake) -> None:
    sql = "SELECT g, x FROM t WHERE x > 100"
    view = made(filled, sql)
    filled.run("INSERT INTO dl.t VALUES (1, 1)")
    seen, head = cursor(filled)["t"], filled.head()
    kept(filled, view, sql)
    assert cursor(filled)["t"] == head > seen
    changes = filled.value(f"SELECT changes FROM dl.snapshots() WHERE snapshot_id = {head + 1}")
    mine = filled.value("SELECT table_id FROM ducklake_table_info('dl') WHERE table_name = 'mv'")
    assert str(mine) not in [item for items in dict(changes).values() for item in items]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("retention", "age", "moves"),
    [("7 days", 5, True), ("7 days", 3, False), (None, 500, False)],
)
def test_F054_a_cursor_moves_before_it_holds_back_expiry(
    filled: Lake, retention: str | None, age: int, moves: bool
) -> None:
    """Half of what the source keeps has passed, and only another table was written."""
    view = made(filled)
    if retention:
        filled.run(f"CALL dl.set_option('expire_older_than', '{retention}')")
    filled.run("CREATE TABLE dl.other (a INTEGER)")
    filled.run(
        "UPDATE __ducklake_metadata_dl.ducklake_snapshot SET snapshot_time = now()"
        f" - INTERVAL {age} DAY WHERE snapshot_id < {filled.head()}"
    )
    seen, head = cursor(filled)["t"], filled.head()
    maintain(filled.con, view)
    assert cursor(filled)["t"] == (head if moves else seen)
    assert filled.head() == (head + 1 if moves else head)
    check(filled, view, TOTALS)
    maintain(filled.con, view)
    assert filled.head() == (head + 1 if moves else head)
    mine = filled.value("SELECT table_id FROM ducklake_table_info('dl') WHERE table_name = 'mv'")
    written = filled.value(
        f"SELECT changes FROM dl.snapshots() WHERE snapshot_id = {filled.head()}"
    )
    assert str(mine) not in str(written)


def test_F056_a_lost_cursor_row_is_named(filled: Lake) -> None:
    view = made(filled)
    filled.run("DELETE FROM dl._ivm_cursors")
    with pytest.raises(duckdb.Error, match=r'view "dl\.main\.mv" and source "dl\.main\.t"'):
        maintain(filled.con, view)


def test_F057_the_minimum_over_all_catalogs_of_views(tmp_path: Path) -> None:
    lake = Lake(tmp_path, catalogs=("analytics", "reporting", "sales", "idle"))
    lake.run("CREATE TABLE sales.t (g INTEGER, x INTEGER)")
    for catalog in ("analytics", "reporting"):
        view = compile_ivm(ROWS, mv_catalog=catalog, sources={"t": {"catalog": "sales"}})
        set_up(lake, view)
        lake.run("INSERT INTO sales.t VALUES (1, 1)")
    catalogs = ["analytics", "reporting"]
    found = lake.rows(safe_to_expire_sql(catalogs, ["sales", "idle"]))
    assert found == [("idle", 0, 0), ("sales", 1, 3)]
    safety = SnapshotSafety.of(found[1])
    assert (safety.safe_to_expire_before, safety.latest_snapshot) == (1, 3)
    assert lake.rows(safe_to_expire_sql([], [])) == []
    with pytest.raises(duckdb.Error, match="_ivm_cursors"):
        lake.rows(safe_to_expire_sql(["sales"], ["sales"]))
    lake.close()


def expire(lake: Lake, before: int) -> None:
    gone = [row[0] for row in lake.rows("SELECT snapshot_id FROM ducklake_snapshots('dl')")]
    versions = [version for version in gone if int(str(version)) < before]
    lake.con.execute(f"CALL ducklake_expire_snapshots('dl', versions => {versions})")
    lake.con.execute("CALL ducklake_cleanup_old_files('dl', cleanup_all => true)")


def test_F058_F059_expiry_at_the_safe_bound_keeps_the_view_maintainable(
    tmp_path: Path, kind: Kind
) -> None:
    lake = Lake(tmp_path, kind)
    lake.run("CREATE TABLE dl.t (g INTEGER, x INTEGER)", "INSERT INTO dl.t VALUES (1, 1), (2, 2)")
    view = made(lake)
    for number in range(3):
        lake.run(f"INSERT INTO dl.t VALUES ({number}, 5)", "DELETE FROM dl.t WHERE g = 1")
        safety = SnapshotSafety.of(lake.rows(safe_to_expire_sql(["dl"], ["dl"]))[0])
        expire(lake, safety.safe_to_expire_before)
        kept(lake, view, TOTALS)
    lake.close()


@pytest.mark.parametrize("policy", ["strict", "auto", "incremental"])
def test_F060_an_expired_range_raises_or_is_recomputed(filled: Lake, policy: str) -> None:
    view = made(filled, policy=policy)
    filled.run("INSERT INTO dl.t VALUES (1, 1)", "DELETE FROM dl.t WHERE g = 2")
    expire(filled, filled.head())
    assert filled.rows(pending_maintenance_sql(["dl"])) == [("dl", "mv", "dl", "t", None, None)]
    if policy == "strict":
        with pytest.raises(duckdb.Error, match="range_expired"):
            maintain(filled.con, view)
        return
    kept(filled, view, TOTALS)
    filled.run("INSERT INTO dl.t VALUES (1, 1)")
    kept(filled, view, TOTALS)


def test_F061_F062_the_counts_of_the_document(filled: Lake) -> None:
    view = made(filled)
    filled.run("INSERT INTO dl.t SELECT 1, 1 FROM range(80)", "INSERT INTO dl.u VALUES (1, 1)")
    filled.run("INSERT INTO dl.t VALUES (2, 2)", "DELETE FROM dl.t WHERE x = 2")
    filled.run("CALL ducklake_rewrite_data_files('dl', delete_threshold => 0)")
    found = [PendingMaintenance.of(row) for row in filled.rows(pending_maintenance_sql(["dl"]))]
    assert found == [PendingMaintenance("dl", "mv", "dl", "t", 82, 3)]
    assert found[0].reason is None
    maintain(filled.con, view)
    assert filled.rows(pending_maintenance_sql(["dl"])) == [("dl", "mv", "dl", "t", 0, 0)]
    assert filled.rows(pending_maintenance_sql([])) == []


def test_F063_idle_views_are_skipped_and_the_rest_ordered(filled: Lake) -> None:
    views = {name: Named(name) for name in ("few", "idle", "many")}
    sqls = {"few": "SELECT g FROM u", "idle": "SELECT a FROM w", "many": ROWS}
    filled.run("CREATE TABLE dl.w (a INTEGER)")
    for name, naming in views.items():
        set_up(filled, compile_ivm(sqls[name], naming=naming))
    filled.run("INSERT INTO dl.u VALUES (1, 1)", "INSERT INTO dl.t SELECT 1, 1 FROM range(9)")
    report = [PendingMaintenance.of(row) for row in filled.rows(pending_maintenance_sql(["dl"]))]
    waiting = sorted(
        (p for p in report if p.pending_changes), key=lambda p: -(p.pending_changes or 0)
    )
    assert [item.mv_name for item in waiting] == ["many", "few"]


@pytest.mark.parametrize("policy", ["strict", "auto"])
def test_C21_a_source_that_was_replaced_is_recognised(filled: Lake, policy: str) -> None:
    view = made(filled, policy=policy)
    filled.run(
        "DROP TABLE dl.t",
        "CREATE TABLE dl.t (g INTEGER, x INTEGER)",
        "INSERT INTO dl.t VALUES (7, 7)",
    )
    if policy == "strict":
        with pytest.raises(duckdb.Error, match="source-replaced"):
            maintain(filled.con, view)
        return
    kept(filled, view, TOTALS)
    filled.run("INSERT INTO dl.t VALUES (7, 1)")
    kept(filled, view, TOTALS)


def test_C21_a_table_of_the_same_name_elsewhere_may_come_and_go(filled: Lake) -> None:
    filled.run("CREATE SCHEMA dl.a", "CREATE SCHEMA dl.b")
    for place in ("a", "b"):
        filled.run(f"CREATE TABLE dl.{place}.t AS SELECT * FROM dl.t")
    views = {
        place: compile_ivm(TOTALS, mv_schema=place, schemas=SCHEMAS) for place in ("main", "a")
    }
    for view in views.values():
        set_up(filled, view)
    filled.run("DROP TABLE dl.b.t", "INSERT INTO dl.a.t VALUES (7, 7)", "DELETE FROM dl.main.t")
    for place, view in views.items():
        maintain(filled.con, view)
        check(filled, view, TOTALS, at=f'dl"."{place}')
    filled.run("DROP TABLE dl.a.t", "CREATE TABLE dl.a.t (g INTEGER, x INTEGER)")
    maintain(filled.con, views["main"])
    with pytest.raises(duckdb.Error, match="source-replaced"):
        maintain(filled.con, views["a"])


@pytest.mark.parametrize("upkeep", [None, "rewrite_data_files", "flush_inlined_data"])
@pytest.mark.parametrize("place", ["main", "b"])
def test_F053_another_view_of_the_name_hides_no_foreign_write(
    filled: Lake, place: str, upkeep: str | None
) -> None:
    """Both views are called mv; the write to one is followed by a maintain of the other."""
    filled.run("CREATE SCHEMA dl.a", "CREATE SCHEMA dl.b")
    for schema in ("a", "b"):
        filled.run(f"CREATE TABLE dl.{schema}.t AS SELECT * FROM dl.t")
    mine, other = (compile_ivm(ROWS, mv_schema=s, schemas=SCHEMAS) for s in (place, "a"))
    set_up(filled, mine)
    set_up(filled, other)
    filled.run(f"DELETE FROM dl.{place}.mv", "INSERT INTO dl.a.t VALUES (8, 8)")
    maintain(filled.con, other)
    if upkeep:
        filled.run(f"CALL ducklake_{upkeep}('dl')")
    with pytest.raises(duckdb.Error, match="foreign-write"):
        maintain(filled.con, mine)
    maintain(filled.con, other)


def test_C21_changes_of_the_schema(filled: Lake) -> None:
    view = made(filled)
    filled.run("ALTER TABLE dl.t ADD COLUMN z INTEGER", "INSERT INTO dl.t VALUES (1, 2, 3)")
    kept(filled, view, TOTALS)
    filled.run("ALTER TABLE dl.t RENAME COLUMN z TO zz", "INSERT INTO dl.t VALUES (1, 2, 3)")
    kept(filled, view, TOTALS)
    filled.run("ALTER TABLE dl.t ALTER COLUMN x TYPE BIGINT")
    with pytest.raises(duckdb.Error, match="schema-changed"):
        maintain(filled.con, view)


def test_C21_another_definition_is_recognised(filled: Lake) -> None:
    made(filled)
    other = compile_ivm("SELECT g, SUM(x) AS s, COUNT(x) AS n FROM t GROUP BY g", schemas=SCHEMAS)
    with pytest.raises(duckdb.Error, match="definition-changed"):
        maintain(filled.con, other)


def test_sums_above_two_to_the_53_keep_their_digits(filled: Lake) -> None:
    """DuckLake's files hold a HUGEINT as a DOUBLE."""
    filled.run("CREATE TABLE dl.b (g INTEGER, x BIGINT)")
    filled.run("INSERT INTO dl.b VALUES (1, 9007199254740993), (1, 2)")
    sql = "SELECT g, SUM(x) AS s FROM b GROUP BY g"
    typed = compile_ivm(sql, schemas={"b": {"g": "INTEGER", "x": "BIGINT"}})
    set_up(filled, typed)
    filled.run("CALL ducklake_flush_inlined_data('dl')")
    check(filled, typed, sql)
    filled.run("INSERT INTO dl.b VALUES (1, 9007199254740993)")
    kept(filled, typed, sql)
    untyped = compile_ivm(sql, naming=Named("untyped"))
    with pytest.raises(duckdb.Error, match="cast it to DECIMAL"):
        set_up(filled, untyped)
