"""Float results after many refreshes, in the long suite a thousand: no error is carried from one to the next.

The plans are those that Spark would run, here run by DuckDB: a thousand commits on Iceberg would
take half an hour and say nothing more about the arithmetic.
"""

from __future__ import annotations

import random
from collections import Counter
from math import isclose, isnan

import pytest

from compiler.laws.engine import STORAGE, Database
from compiler.laws.plans import Runner, Sources
from grebe.compiler.algebra.nodes import WEIGHT

SHORT = 120
REFRESHES = 1_000
SQL = (
    "SELECT k, SUM(v) AS total, AVG(v) AS mean, STDDEV_SAMP(v) AS spread, COUNT(v) AS n"
    " FROM r GROUP BY k"
)
MAGNITUDES = (1e-9, 0.1, 3.3, 1e7, 1e15)


Row = tuple[int, float]


def changed(rng: random.Random, rows: Counter[Row]) -> Counter[Row]:
    """A few rows of very different size come, and a few go."""
    net: Counter[Row] = Counter()
    for _ in range(4):
        net[rng.randint(0, 3), rng.choice((-1, 1)) * rng.random() * rng.choice(MAGNITUDES)] += 1
    stored = sorted(rows)
    for row in rng.sample(stored, min(len(stored), 3 if len(stored) < 60 else 6)):
        net[row] -= 1
    return net


def next_version(database: Database, number: int, net: Counter[Row]) -> None:
    """The source's next version, and the change that leads to it."""
    values = ", ".join(f"({k}, CAST('{v!r}' AS DOUBLE), {w})" for (k, v), w in net.items())
    run = database.connection.execute
    run(f"CREATE TABLE r_d{number} AS SELECT * FROM (VALUES {values}) AS t(k, v, {WEIGHT})")
    run(
        f"CREATE TABLE r_{number} AS (SELECT * FROM r_{number - 1} EXCEPT ALL"
        f" SELECT k, v FROM r_d{number} WHERE {WEIGHT} < 0)"
        f" UNION ALL SELECT k, v FROM r_d{number} WHERE {WEIGHT} > 0"
    )
    database.at(number)
    if number > 2:
        run(f"DROP TABLE r_{number - 2}")
        run(f"DROP TABLE r_d{number - 2}")


@pytest.mark.parametrize("refreshes", [SHORT, pytest.param(REFRESHES, marks=pytest.mark.laws)])
def test_floats_do_not_drift_in_many_refreshes(refreshes: int) -> None:
    rng = random.Random(5)
    sources = Sources.of({"r": {"k": "BIGINT", "v": "DOUBLE"}})
    rows: Counter[Row] = Counter({(0, 0.1): 1, (1, 0.2): 1})
    sources.take({"r": rows})
    runner = Runner.build(SQL, sources)
    assert runner.plan.is_incremental
    for number in range(1, refreshes + 1):
        net = changed(rng, rows)
        next_version(runner.database, number, net)
        runner.refresh()
        rows.update(net)
        rows = +rows
    public = runner.database.rows(f"SELECT * FROM ({shown(runner)}) ORDER BY 1")
    query = runner.database.rows(
        f"SELECT * FROM ({SQL.replace('FROM r', 'FROM r_new')}) ORDER BY 1"
    )
    assert len(public) == len(query) == 4
    for one, two in zip(public, query, strict=True):
        assert one[0] == two[0]
        assert one[4] == two[4]
        for found, wanted in zip(one[1:4], two[1:4], strict=True):
            assert near(float(str(found)), float(str(wanted))), (one, two)


def near(found: float, wanted: float) -> bool:
    return (isnan(found) and isnan(wanted)) or isclose(found, wanted, rel_tol=1e-9)


def shown(runner: Runner) -> str:
    names = dict(runner.plan.outputs)
    items = ", ".join(f'"{own}" AS "{public}"' for own, public in names.items())
    body = runner.database.sql(runner.plan.public)
    assert STORAGE in body
    return f"SELECT {items} FROM ({body}) AS visible"
