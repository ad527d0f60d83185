"""Names that are hard to tell apart, executed; and names that are the same in another spelling."""

from __future__ import annotations

import pytest

from grebe import Naming, UnsupportedSQLError, compile_ivm
from grebe import pending_maintenance_sql as pending
from grebe import safe_to_expire_sql as safe
from grebe.program import Views
from programs.lake import Lake, check, maintain, set_up


@pytest.fixture
def filled(lake: Lake) -> Lake:
    lake.run(
        "CREATE TABLE dl.t (g INTEGER, x INTEGER)",
        "INSERT INTO dl.t VALUES (1, 10), (1, 20), (2, 5), (NULL, 7)",
    )
    return lake


@pytest.mark.parametrize("given", [True, False])
def test_F273_a_dot_in_a_name_is_no_other_name(filled: Lake, given: bool) -> None:
    filled.run(
        'CREATE TABLE dl.main."main.t" (g INTEGER, x DOUBLE)',
        'INSERT INTO dl.main."main.t" VALUES (1, 777)',
    )
    sql = 'SELECT p.x AS a, q.x AS b FROM "main.t" AS p JOIN main.t AS q ON p.g = q.g'
    schemas = {
        '"main.t"': {"g": "INTEGER", "x": "DOUBLE"},
        "main.t": {"g": "INTEGER", "x": "INTEGER"},
    }
    view = compile_ivm(sql, schemas=schemas if given else None)
    assert view.sources == ('dl.main."main.t"', "dl.main.t")
    set_up(filled, view)
    for change in ("SELECT 1", 'INSERT INTO dl.main."main.t" VALUES (2, 1)', "DELETE FROM dl.t"):
        filled.run(change)
        maintain(filled.con, view)
        check(filled, view, sql)


class Hostile(Naming):
    """Quotes, dots and comments in everything that a program makes."""

    def mv_table(self) -> str:
        return "m'v \"1.2 --"

    def cursors_table(self) -> str:
        return "c'ur \"s"

    def aux_column(self, purpose: str) -> str:
        return f"h'i \"{purpose}"


def test_F273_hostile_names_are_executed(lake: Lake) -> None:
    table = '"it\'s "" t.;--"'
    lake.run(
        f'CREATE TABLE dl.{table} ("a "" b" INTEGER, "sel\'ect" VARCHAR, "__x;--" INTEGER)',
        f"INSERT INTO dl.{table} VALUES (1, 'o''x', 5), (1, NULL, 6)",
    )
    sql = (
        f'SELECT "a "" b", "sel\'ect" AS "x\'y "" z", COUNT(*) AS n, SUM("__x;--") AS s'
        f" FROM {table} GROUP BY 1, 2"
    )
    view = compile_ivm(sql, naming=Hostile())
    set_up(lake, view)
    for change in (
        f"INSERT INTO dl.{table} VALUES (2, 'q', 5)",
        f"UPDATE dl.{table} SET \"sel'ect\" = '''' WHERE \"__x;--\" = 5",
    ):
        lake.run(change)
        assert lake.rows(pending(["dl"], Hostile()))[0][5] == 1
        maintain(lake.con, view)
        check(lake, view, sql)
    assert lake.rows(pending(["dl"], Hostile()))[0][4:] == (0, 0)
    assert lake.rows(safe(["dl"], ["dl"], Hostile())) == [("dl", lake.head() - 1, lake.head())]


def test_F070_the_runner_keeps_names_with_dots_apart(filled: Lake) -> None:
    views = Views(filled.con)
    views.add("a.b", "SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING COUNT(*) > 1")
    views.add('c "d', 'SELECT n FROM "a.b"')
    assert views.initialize() == ["a.b", 'c "d']
    assert views.initialize() == []
    filled.run("INSERT INTO dl.t VALUES (2, 1), (2, 2)")
    views.maintain()
    assert sorted(views.read('c "d')) == [(2,), (3,)]


def test_F013_the_case_of_names_changes_no_definition(filled: Lake) -> None:
    one, two = compile_ivm("SELECT g, x FROM t"), compile_ivm("SELECT G, X FROM T")
    assert (one.view_sql, one.definition) == (two.view_sql, two.definition)
    set_up(filled, one)
    filled.run("INSERT INTO dl.t VALUES (4, 4)")
    maintain(filled.con, two)
    check(filled, two, "SELECT g, x FROM t")


def test_F023_a_table_in_two_spellings_is_one_source(filled: Lake) -> None:
    sql = "SELECT a.x, b.x AS y FROM t AS a JOIN T AS b ON a.g = b.g"
    view = compile_ivm(sql)
    assert view.sources == ("dl.main.t",)
    set_up(filled, view)
    filled.run("INSERT INTO dl.t VALUES (1, 3)", "DELETE FROM dl.t WHERE x = 10")
    maintain(filled.con, view)
    check(filled, view, sql)


def test_F006_options_of_a_table_that_is_also_written_in_full(filled: Lake) -> None:
    sql = "SELECT a.x FROM t AS a JOIN dl.main.t AS b ON a.g = b.g"
    view = compile_ivm(sql, sources={"t": {"catalog": "dl"}})
    assert view.sources == ("dl.main.t",)
    with pytest.raises(ValueError, match="is not a table"):
        compile_ivm(sql, sources={"z": {"catalog": "dl"}})


def test_F008_a_naming_that_calls_everything_the_same() -> None:
    class Constant(Naming):
        def aux_column(self, purpose: str) -> str:
            return "hidden"

    with pytest.raises(UnsupportedSQLError, match="two hidden columns") as caught:
        compile_ivm("SELECT g, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY g", naming=Constant())
    assert caught.value.feature == "reserved_name"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT t.rowid AS r, u.y FROM t JOIN u ON t.g = u.g",
        "SELECT rowid AS r, x FROM t",
        "SELECT rowid AS r, COUNT(*) AS n FROM t GROUP BY rowid",
    ],
)
def test_F008_row_ids_of_a_source(filled: Lake, sql: str) -> None:
    filled.run("CREATE TABLE dl.u (g INTEGER, y INTEGER)", "INSERT INTO dl.u VALUES (1, 1), (1, 2)")
    view = compile_ivm(sql)
    set_up(filled, view)
    for change in ("DELETE FROM dl.t WHERE x = 10", "INSERT INTO dl.t VALUES (1, 1)"):
        filled.run(change)
        maintain(filled.con, view)
        check(filled, view, sql)


def test_F057_the_case_of_a_catalog_hides_no_cursor(filled: Lake) -> None:
    view = compile_ivm("SELECT g, x FROM t", mv_catalog="DL")
    set_up(filled, view)
    seen = filled.value("SELECT last_snapshot FROM dl._ivm_cursors")
    filled.run("INSERT INTO dl.t VALUES (9, 9)")
    assert filled.rows(safe(["dl"], ["dl"]))[0][1] == seen
    maintain(filled.con, view)
    check(filled, view, "SELECT g, x FROM t")


def test_F061_a_change_beside_upkeep_is_pending(filled: Lake) -> None:
    view = compile_ivm("SELECT g, x FROM t")
    set_up(filled, view)
    flush = "CALL ducklake_flush_inlined_data('dl')"
    filled.run("BEGIN", "INSERT INTO dl.t VALUES (9, 9)", flush, "COMMIT")
    assert filled.rows(pending(["dl"])) == [("dl", "mv", "dl", "t", 1, 1)]
    maintain(filled.con, view)
    check(filled, view, "SELECT g, x FROM t")
    assert filled.rows(pending(["dl"])) == [("dl", "mv", "dl", "t", 0, 0)]


def test_F061_a_table_of_the_name_in_another_schema_is_not_pending(filled: Lake) -> None:
    filled.run("CREATE SCHEMA dl.a", "CREATE TABLE dl.a.t (g INTEGER, x INTEGER)")
    set_up(filled, compile_ivm("SELECT g, x FROM t"))
    filled.run("INSERT INTO dl.a.t VALUES (1, 1)")
    assert filled.rows(pending(["dl"])) == [("dl", "mv", "dl", "t", 0, 0)]
    filled.run("DROP TABLE dl.t", "CREATE TABLE dl.t (g INTEGER, x INTEGER)")
    assert filled.rows(pending(["dl"])) == [("dl", "mv", "dl", "t", None, None)]


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("words", ["WITH", "WITH RECURSIVE"])
def test_an_expression_that_is_defined_later_hides_no_table(
    filled: Lake, words: str, given: bool
) -> None:
    sql = f"{words} a AS (SELECT g FROM t), t AS (SELECT 99 AS g) SELECT a.g FROM a"
    schemas = {"t": {"g": "INTEGER", "x": "INTEGER"}}
    view = compile_ivm(sql, schemas=schemas if given else None)
    assert view.sources == ("dl.main.t",)
    set_up(filled, view)
    filled.run("INSERT INTO dl.t VALUES (7, 1)")
    maintain(filled.con, view)
    check(filled, view, sql)
