"""Floating point values in a view's rows: kept to the last bit, wherever DuckLake puts them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from evidence import LongRun
from grebe import MaterializedView, compile_ivm
from grebe.program import Views
from programs.lake import KINDS, Kind, Lake, Named, check, maintain, set_up

TYPES = {"g": "INTEGER", "w": "INTEGER", "x": "DECIMAL(4,4)", "d": "DECIMAL(12,2)"}
FIRST = ((1, "0.15"), (1, "0.15"), (1, "0.03"), (2, "0.15"), (1, "0.15"))
THEN = ("-0.01", "0.15", "0.15", "0.0333", "0.0001")
VIEWS = {
    "avg": "SELECT g, AVG(x) AS a FROM t GROUP BY g",
    "avg of many digits": "SELECT g, AVG(d) AS a, AVG(d * d) AS b, COUNT(*) AS n FROM t GROUP BY g",
    "variance": "SELECT g, VAR_POP(x) AS v, STDDEV(x) AS s, CORR(x, d) AS c FROM t GROUP BY g",
    "share": "SELECT g, w, d, d / SUM(d) OVER (PARTITION BY w) AS part FROM t",
    "quotient": "SELECT g, x, x / NULLIF(d, 0) AS q FROM t",
    "quotient of sums": "SELECT g, SUM(x) / NULLIF(SUM(d), 0) AS q FROM t GROUP BY g",
    "distinct": "SELECT DISTINCT x / 3 AS q FROM t",
    "inside": "SELECT g, {'a': x / 3, 'l': [x / 7]} AS q FROM t",
    "single": "SELECT g, CAST(x / 3 AS FLOAT) AS q FROM t",
    "no groups": "SELECT AVG(x) AS a, STDDEV(d) AS s FROM t",
}


def filled(lake: Lake) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    rows = ", ".join(f"({g}, {g % 2}, {x}, {n}.17)" for n, (g, x) in enumerate(FIRST))
    lake.run(f"CREATE TABLE dl.t ({columns})", f"INSERT INTO dl.t VALUES {rows}")


@pytest.mark.parametrize(
    "kind", [KINDS[0], pytest.param(KINDS[2], marks=pytest.mark.laws)], ids=str
)
def test_F025_quotients_and_averages_of_decimals(tmp_path: Path, kind: Kind) -> None:
    lake = Lake(tmp_path, kind)
    filled(lake)
    views = compiled(given=kind is KINDS[0])
    for sql, view in views.items():
        set_up(lake, view)
        check(lake, view, sql)
    for place, value in enumerate(THEN):
        lake.run(f"INSERT INTO dl.t VALUES (1, 1, {value}, {value} * 100)")
        if place == 3:
            lake.run("DELETE FROM dl.t WHERE x = 0.03", "UPDATE dl.t SET d = d + 0.01 WHERE g = 2")
        for sql, view in views.items():
            maintain(lake.con, view)
            check(lake, view, sql)
    lake.close()


def compiled(*, given: bool) -> dict[str, MaterializedView]:
    """All the views, with the types of the table or without."""
    schemas = {"t": TYPES} if given else None
    return {
        sql: compile_ivm(sql, schemas=schemas, naming=Named(f"v{number}"))
        for number, sql in enumerate(VIEWS.values())
    }


def test_F025_the_session_keeps_its_setting(lake: Lake) -> None:
    filled(lake)
    setting = "SELECT current_setting('ducklake_default_data_inlining_row_limit')"
    lake.run("SET ducklake_default_data_inlining_row_limit = 7")
    set_up(lake, compile_ivm(VIEWS["quotient"]))
    assert lake.value(setting) == 7
    lake.run("RESET ducklake_default_data_inlining_row_limit")


def test_F025_known_types_without_floats_stay_in_the_catalog(lake: Lake) -> None:
    filled(lake)
    plain = compile_ivm(
        "SELECT g, SUM(x) AS s, MIN(d) AS m FROM t GROUP BY g", schemas={"t": TYPES}
    )
    assert "inlining" not in "".join([plain.create_mv, *plain.maintain])
    other = compile_ivm("SELECT g, x / 3 AS q FROM t", schemas={"t": TYPES})
    assert "inlining" in "".join([other.create_mv, *other.maintain])


def test_F070_the_runner_keeps_them_too(lake: Lake) -> None:
    filled(lake)
    views = Views(lake.con)
    views.add("share", VIEWS["share"])
    views.initialize()
    for value in THEN:
        lake.run(f"INSERT INTO dl.t VALUES (1, 1, {value}, {value} * 100)")
        views.maintain()
        check(lake, views.compiled["share"], VIEWS["share"])


def drawn(lake: Lake, seed: int) -> int:
    """A random history over random decimals; gives how often a view was compared."""
    rng = Random(seed)
    filled(lake)
    views = compiled(given=seed % 2 == 0)
    for view in views.values():
        set_up(lake, view)
    done = 0
    for _ in range(2):
        for _ in range(rng.randint(1, 3)):
            lake.run(_change(rng))
        for sql, view in views.items():
            maintain(lake.con, view)
            check(lake, view, sql)
            done += 1
    return done


def _change(rng: Random) -> str:
    g, x, d = rng.randint(1, 3), rng.randint(-9999, 9999), rng.randint(1, 99999)
    if rng.random() < 0.6:
        return f"INSERT INTO dl.t VALUES ({g}, {g % 2}, {x} / 10000, {d} / 100)"
    if rng.random() < 0.5:
        return f"DELETE FROM dl.t WHERE g = {g} AND x < {x} / 10000"
    return f"UPDATE dl.t SET d = d + {d} / 100 WHERE g = {g}"


@pytest.mark.parametrize("seed", [1])
def test_F025_random_decimals(lake: Lake, seed: int) -> None:
    drawn(lake, seed)


@pytest.mark.laws
@pytest.mark.timeout(3000)
def test_F025_random_decimals_often(tmp_path: Path, long_run: LongRun) -> None:
    for seed in long_run.seeds():
        folder = tmp_path / str(seed)
        folder.mkdir()
        lake = Lake(folder, KINDS[seed % len(KINDS)])
        long_run.add(histories=1, checks=drawn(lake, seed))
        lake.close()
