"""What a case id would change is checked one database per statement, build and refresh included."""

from __future__ import annotations

import pytest

from compiler.laws.compositions import check_alone
from compiler.laws.databases import draw
from compiler.laws.engine import Database
from compiler.laws.plans import lowered
from evidence import LongRun

DATABASES = 200
SHORT = 40
"""For `make test`."""

QUERIES = {
    "aggregate without GROUP BY": "SELECT COUNT(*) AS n, SUM(x) AS t, MIN(s) AS low FROM r",
    "grand totals": "SELECT a, COUNT(*) AS n, SUM(x) AS t FROM r GROUP BY ROLLUP (a)",
    "LIMIT": "SELECT a, x FROM r ORDER BY x DESC, a LIMIT 2",
    "scalar subquery": "SELECT a, x FROM r WHERE x >= (SELECT MIN(c) FROM s)",
    "IN": "SELECT a, x FROM r WHERE x IN (SELECT c FROM s) OR b = 1",
    "NOT IN": "SELECT a, x FROM r WHERE x NOT IN (SELECT c FROM s)",
    "EXISTS": "SELECT a, x FROM r WHERE EXISTS (SELECT 1 FROM s WHERE k)",
    "ALL": "SELECT a, x FROM r WHERE x >= ALL (SELECT c FROM s)",
}


@pytest.mark.parametrize("name", QUERIES)
def test_view_equals_its_text_after_a_refresh(databases: Database, name: str) -> None:
    assert refreshed(databases, name, SHORT) == SHORT


@pytest.fixture(scope="module")
def databases() -> Database:
    return Database.of(draw(19, cases=SHORT))


def refreshed(databases: Database, name: str, cases: int) -> int:
    databases.texts.clear()
    one = lowered(QUERIES[name], databases.at(1))
    return check_alone(databases, QUERIES[name], one, 1, range(cases))


@pytest.mark.laws
@pytest.mark.timeout(0)
def test_views_equal_their_texts_often(long_run: LongRun) -> None:
    """A seed is 200 databases for every query: ten seeds are the 2,000 of each."""
    for seed in long_run.seeds():
        databases = Database.of(draw(5_000 + seed, cases=DATABASES))
        for name in QUERIES:
            long_run.add(queries=1, databases=refreshed(databases, name, DATABASES))
