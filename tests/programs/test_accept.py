"""Acceptances of the features that need a place of their own."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from grebe import SnapshotSafety, compile_ivm, safe_to_expire_sql
from programs.lake import Lake, Named, check, cursor, maintain, set_up

SCHEMAS = {"t": {"g": "INTEGER", "x": "INTEGER"}, "u": {"g": "INTEGER", "y": "INTEGER"}}


@pytest.fixture
def filled(lake: Lake) -> Lake:
    lake.run(
        "CREATE TABLE dl.t (g INTEGER, x INTEGER)",
        "INSERT INTO dl.t VALUES (1, 10), (1, 20), (2, 5), (NULL, 7)",
    )
    return lake


@pytest.mark.parametrize(
    ("sql", "features"),
    [
        ("SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING COUNT(*) > 1", "count group_by having"),
        ("SELECT t.g, u.y FROM t LEFT JOIN u ON t.g = u.g", "left_join"),
        ("SELECT t.g, u.y FROM t RIGHT JOIN u ON t.g = u.g", "right_join"),
        ("SELECT t.g, u.y FROM t FULL JOIN u ON t.g = u.g", "full_join"),
        ("SELECT g FROM t UNION ALL SELECT g FROM u", "union_all"),
        ("SELECT g FROM t UNION SELECT g FROM u", "union"),
        ("SELECT g FROM t EXCEPT ALL SELECT g FROM u", "except_all"),
        ("SELECT g FROM t INTERSECT SELECT g FROM u", "intersect"),
        ("SELECT g, RANK() OVER (PARTITION BY g ORDER BY x) AS n FROM t", "window"),
        ("SELECT g, x FROM t ORDER BY x LIMIT 2", "limit order_by"),
        ("WITH c AS (SELECT g FROM t) SELECT g FROM c", "cte"),
        ("SELECT g FROM t WHERE g IN (SELECT g FROM u)", "subquery where"),
        (
            "SELECT g, AVG(x) AS a, MIN(x) AS b, MAX(x) AS c FROM t GROUP BY g",
            "avg group_by max min",
        ),
    ],
)
def test_F012_features_of_every_clause_are_exact(sql: str, features: str) -> None:
    assert compile_ivm(sql).features == {"select", *features.split()}


def test_F014_two_first_creations_at_once(filled: Lake) -> None:
    view = compile_ivm("SELECT g FROM t")
    first, second = filled.con.cursor(), filled.con.cursor()
    for con in (first, second):
        con.execute("BEGIN")
        con.execute(view.create_cursors_table)
    first.execute("COMMIT")
    with pytest.raises(duckdb.Error, match=r"(?i)conflict"):
        second.execute("COMMIT")
    second.execute(view.create_cursors_table)
    found = "SELECT COUNT(*) FROM ducklake_table_info('dl') WHERE table_name = '_ivm_cursors'"
    assert filled.value(found) == 1
    set_up(filled, view)
    check(filled, view, "SELECT g FROM t")


def test_F030_only_the_affected_groups_are_read_again(filled: Lake) -> None:
    """The minimum of group 1 goes; no relation that is kept on the way knows another group."""
    sql = "SELECT g, MIN(x) AS m FROM t GROUP BY g"
    filled.run("INSERT INTO dl.t SELECT i + 10, i FROM range(50) AS r(i)")
    view = compile_ivm(sql, schemas=SCHEMAS)
    set_up(filled, view)
    filled.run("DELETE FROM dl.t WHERE x = 10 AND g = 1")
    kept = 0
    for statement in view.maintain:
        filled.run(statement)
        start = 'CREATE OR REPLACE TEMP TABLE "temp"."main"."__grebe_step_'
        if statement.startswith(start):
            table = statement.removeprefix("CREATE OR REPLACE TEMP TABLE ").split(" AS", 1)[0]
            assert filled.rows(f"SELECT DISTINCT g FROM {table}") == [(1,)], table
            kept += 1
    assert kept > 1
    check(filled, view, sql)


def test_F048_the_clock_in_a_full_refresh_is_noted() -> None:
    view = compile_ivm("SELECT g, now() AS r FROM t", policy="full")
    assert view.strategy == "full_refresh"
    assert [note for note in view.notes if "now() changes with the clock" in note]
    assert "clock" in view.explain()


def test_F052_a_source_catalog_that_cannot_be_reached(tmp_path: Path) -> None:
    lake = Lake(tmp_path, catalogs=("mine", "theirs"))
    lake.run("CREATE TABLE theirs.t (g INTEGER)", "INSERT INTO theirs.t VALUES (1)")
    view = compile_ivm("SELECT g FROM t", mv_catalog="mine", sources={"t": {"catalog": "theirs"}})
    set_up(lake, view)
    lake.run("INSERT INTO theirs.t VALUES (2)")
    before = (lake.head("mine"), cursor(lake, catalog="mine"))
    lake.run("DETACH theirs")
    with pytest.raises(duckdb.Error, match="theirs"):
        maintain(lake.con, view)
    assert (lake.head("mine"), cursor(lake, catalog="mine")) == before
    lake.run(lake._attach("theirs"))
    maintain(lake.con, view)
    assert sorted(lake.rows(view.query_mv)) == [(1,), (2,)]
    lake.close()


def test_F057_the_numbers_of_the_document(tmp_path: Path) -> None:
    """Three catalogs at 150, 88 and 200, of which views still need 42, 17 and 38."""
    wanted = {"sales": (42, 150), "crm": (17, 88), "web": (38, 200)}
    lake = Lake(tmp_path, catalogs=("one", "two", *wanted))
    for name, (needed, latest) in wanted.items():
        lake.run(f"CREATE TABLE {name}.t (g INTEGER)")
        for place, catalog in enumerate(("one", "two")):
            view = compile_ivm(
                "SELECT g FROM t",
                mv_catalog=catalog,
                naming=Named(f"of_{name}"),
                sources={"t": {"catalog": name}},
            )
            set_up(lake, view)
            lake.run(
                f"UPDATE {catalog}._ivm_cursors SET last_snapshot = {needed + 3 * place}"
                f" WHERE source_catalog = '{name}'"
            )
        for table in ("ducklake_snapshot", "ducklake_snapshot_changes"):
            metadata = f"__ducklake_metadata_{name}.{table}"
            lake.run(
                f"INSERT INTO {metadata} SELECT * REPLACE ({latest} AS snapshot_id)"
                f" FROM {metadata} ORDER BY snapshot_id DESC LIMIT 1"
            )
    found = map(SnapshotSafety.of, lake.rows(safe_to_expire_sql(["one", "two"], wanted)))
    assert {s.source_catalog: (s.min_required_snapshot, s.latest_snapshot) for s in found} == wanted
    lake.close()


def test_F058_at_the_bound_nothing_may_go(filled: Lake) -> None:
    assert SnapshotSafety("c", 0, 5).safe_to_expire_before == 0
    view = compile_ivm("SELECT g, x FROM t")
    set_up(filled, view)
    filled.run("INSERT INTO dl.t VALUES (1, 1)")
    safety = SnapshotSafety.of(filled.rows(safe_to_expire_sql(["dl"], ["dl"]))[0])
    bound = safety.safe_to_expire_before
    below = [row[0] for row in filled.rows("SELECT snapshot_id FROM dl.snapshots()")]
    gone = [version for version in below if int(str(version)) < bound]
    filled.run(f"CALL ducklake_expire_snapshots('dl', versions => {gone})")
    maintain(filled.con, view)
    check(filled, view, "SELECT g, x FROM t")
    filled.run("INSERT INTO dl.t VALUES (2, 2)")
    seen = cursor(filled)["t"]
    filled.run(f"CALL ducklake_expire_snapshots('dl', versions => [{seen}])")
    with pytest.raises(duckdb.Error, match="range_expired"):
        maintain(filled.con, view)


GOLDEN = """\
dl.main.mv: bag
  sources:  dl.main.t
  features: select, where
  maintain: 33 statements
    1  BEGIN
    2  SET VARIABLE __grebe_cursor = ( …
    3  SET VARIABLE __grebe_seen = ( …
    4  SET VARIABLE __grebe_query = ( …
    5  SET VARIABLE __grebe_look = ( …
    6  SET VARIABLE __grebe_window = ( …
    7  SET VARIABLE __grebe_option = ( …
    8  SET VARIABLE __grebe_option = ( …
    9  CREATE OR REPLACE TEMP TABLE "temp"."main"."__grebe_feed_1" AS …
   10  SET VARIABLE __grebe_rows = ( …
   11  SET VARIABLE __grebe_delta = ( …
   12  CREATE OR REPLACE TEMP TABLE "temp"."main"."__grebe_delta_1" AS …
   13  SET VARIABLE __grebe_moved = ( …
   14  SET VARIABLE __grebe_applies = ( …
   15  CREATE OR REPLACE TEMP TABLE "temp"."main"."__grebe_step_delta" AS …
   16  CREATE OR REPLACE TEMP TABLE "temp"."main"."__grebe_step_held" AS …
   17  CREATE OR REPLACE TEMP TABLE "temp"."main"."__grebe_step_touched" AS …
   18  SET VARIABLE __grebe_checked = ( …
   19  CREATE OR REPLACE TEMP TABLE "temp"."main"."__grebe_rows" AS …
   20  CREATE OR REPLACE TEMP TABLE "temp"."main"."__grebe_doomed" AS …
   21  DELETE FROM "dl"."main"."mv" WHERE rowid IN (SELECT "__grebe_id" FROM "temp"."main"."__grebe_doomed")
   22  INSERT INTO "dl"."main"."mv" ("g", "x") …
   23  SET VARIABLE __grebe_advance = ( …
   24  UPDATE "dl"."main"."_ivm_cursors" SET …
   25  DROP TABLE "temp"."main"."__grebe_feed_1"
   26  DROP TABLE "temp"."main"."__grebe_delta_1"
   27  DROP TABLE "temp"."main"."__grebe_step_delta"
   28  DROP TABLE "temp"."main"."__grebe_step_held"
   29  DROP TABLE "temp"."main"."__grebe_step_touched"
   30  DROP TABLE "temp"."main"."__grebe_rows"
   31  DROP TABLE "temp"."main"."__grebe_doomed"
   32  CALL "dl".set_commit_message('grebe', 'maintain dl.main.mv', extra_info => getvariable('__grebe_window').run)
   33  COMMIT"""


def test_F071_the_text_of_explain() -> None:
    assert compile_ivm("SELECT g, x FROM t WHERE x > 1").explain() == GOLDEN
