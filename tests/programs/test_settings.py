"""What a program takes for granted of the session and of the tables, and how it says so."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from grebe import compile_ivm
from grebe.program import Views
from programs.lake import Lake, Named, check, maintain, set_up

CASES = {
    "TimeZone = 'Asia/Tokyo'": "SELECT CAST(ts AS DATE) AS d, COUNT(*) AS n FROM t GROUP BY d",
    "default_null_order = 'nulls_first'": "SELECT g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x)"
    " AS n, x FROM t",
    "integer_division = true": "SELECT g, x / 2 AS h FROM t",
    "default_collation = 'NOCASE'": "SELECT g, s FROM t",
}
SCHEMAS = {"t": {"g": "INTEGER", "x": "INTEGER", "s": "VARCHAR", "ts": "TIMESTAMP WITH TIME ZONE"}}


@pytest.fixture
def filled(lake: Lake) -> Iterator[Lake]:
    """The DuckDB serves other tests afterwards, so its settings are put back."""
    lake.run(
        "SET TimeZone = 'UTC'",
        "CREATE TABLE dl.t (g INTEGER, x INTEGER, s VARCHAR, ts TIMESTAMP WITH TIME ZONE)",
        "INSERT INTO dl.t VALUES (1, 3, 'a', '2024-01-01 23:30:00+00'), (1, NULL, 'b', NULL)",
    )
    yield lake
    lake.run(*(f"RESET {setting.split(' ')[0]}" for setting in CASES))


@pytest.mark.parametrize("setting", CASES)
@pytest.mark.parametrize("policy", ["strict", "auto"])
def test_F011_another_setting_of_the_session_is_not_taken_over_in_silence(
    filled: Lake, setting: str, policy: str
) -> None:
    sql = CASES[setting]
    view = compile_ivm(sql, schemas=SCHEMAS, policy=policy)
    set_up(filled, view)
    filled.run(f"SET {setting}", "INSERT INTO dl.t VALUES (1, 5, 'A', '2024-01-01 23:40:00+00')")
    if policy == "strict" or "collation" in setting:
        code = "settings" if policy == "auto" else "settings-changed"
        with pytest.raises(duckdb.Error, match=rf"\[{code}\]"):
            maintain(filled.con, view)
        filled.run(f"RESET {setting.split(' ')[0]}", "SET TimeZone = 'Etc/UTC'")
    maintain(filled.con, view)
    check(filled, view, sql)


def test_F016_no_view_is_made_under_a_collation(filled: Lake) -> None:
    view = compile_ivm("SELECT s FROM t")
    filled.run("SET default_collation = 'NOCASE'", view.create_cursors_table)
    with pytest.raises(duckdb.Error, match="default_collation"):
        filled.run(view.create_mv)


def test_F016_types_that_the_table_does_not_have(filled: Lake) -> None:
    sql = "SELECT g, SUM(x) AS s FROM t GROUP BY g"
    wrong = compile_ivm(sql, schemas={"t": {"g": "INTEGER", "x": "DOUBLE"}})
    filled.run(wrong.create_cursors_table)
    with pytest.raises(duckdb.Error, match=r"\[schema-mismatch\].*x INTEGER"):
        filled.run(wrong.create_mv)
    right = compile_ivm(sql, schemas={"t": {"g": "int4", "x": "INT", "ts": "VARCHAR"}})
    set_up(filled, right)
    check(filled, right, sql)


@pytest.mark.parametrize("kind", ["DOUBLE", "DOUBLE PRECISION", "float8", None])
def test_F022_the_sign_of_zero_in_every_spelling_of_the_type(lake: Lake, kind: str | None) -> None:
    lake.run("CREATE TABLE dl.t (g INTEGER, x DOUBLE)", "INSERT INTO dl.t VALUES (1, 0.0)")
    sql = "SELECT g, CAST(x AS VARCHAR) AS s FROM t"
    schemas = {"t": {"g": "INTEGER", "x": kind}} if kind else None
    view = compile_ivm(sql, schemas=schemas, naming=Named("mv"))
    set_up(lake, view)
    lake.run("UPDATE dl.t SET x = '-0.0'")
    maintain(lake.con, view)
    check(lake, view, sql)


def another_engine(lake: Lake) -> None:
    """As if an older DuckDB, whose hashes are others, had written the view."""
    own = f"engine = 'v0', mv_snapshot = {lake.head() + 1}"
    lake.run(
        "BEGIN",
        "UPDATE dl.mv SET _ivm_check = _ivm_check + 1",
        f"UPDATE dl._ivm_cursors SET {own}",
        "COMMIT",
    )


@pytest.mark.parametrize("policy", ["strict", "auto"])
def test_F011_checksums_of_another_version_of_duckdb(filled: Lake, policy: str) -> None:
    sql = "SELECT g, SUM(x) AS s, COUNT(*) AS n, MIN(s) AS m FROM t GROUP BY g"
    view = compile_ivm(sql, schemas=SCHEMAS, policy=policy)
    set_up(filled, view)
    another_engine(filled)
    filled.run("INSERT INTO dl.t VALUES (1, 5, 'A', NULL), (2, 5, 'A', NULL)")
    if policy == "strict":
        with pytest.raises(duckdb.Error, match=r"\[engine-changed\].*rehash"):
            maintain(filled.con, view)
        filled.run(*view.rehash)
    for change in ("SELECT 1", "DELETE FROM dl.t WHERE x = 5"):
        filled.run(change)
        maintain(filled.con, view)
        check(filled, view, sql)


def test_F011_new_checksums_hide_no_foreign_write(filled: Lake) -> None:
    view = compile_ivm("SELECT g, COUNT(*) AS n FROM t GROUP BY g", schemas=SCHEMAS)
    set_up(filled, view)
    another_engine(filled)
    filled.run("UPDATE dl.mv SET n = 7")
    with pytest.raises(duckdb.Error, match="foreign-write"):
        filled.run(*view.rehash)
    filled.run("ROLLBACK")


def test_F070_the_runner_brings_the_checksums_up_to_date(filled: Lake) -> None:
    views = Views(filled.con)
    sql = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
    views.add("mv", sql)
    views.initialize()
    another_engine(filled)
    filled.run("INSERT INTO dl.t (g) VALUES (1)")
    assert [done.changed for done in views.maintain()] == [True]
    assert sorted(views.read("mv")) == [(1, 3)]
