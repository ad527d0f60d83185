"""An expression that raises on rows or pairs that the query never evaluates must not raise in a plan.

The databases are made so that the texts of the views never raise, before or after the change.
"""

from __future__ import annotations

import pytest

from compiler.laws.plans import Runner, Sources

R = {"a": "INTEGER", "x": "INTEGER", "t": "VARCHAR"}
S = {"a": "INTEGER", "c": "INTEGER"}
T = {"a": "INTEGER", "z": "INTEGER"}

NUMBER = "CAST(r.t AS INTEGER)"
NEVER = "CAST(CASE WHEN r.x = s.c THEN 'no number' ELSE '1' END AS INTEGER)"

UNMATCHED = {
    "group key": f"SELECT {NUMBER} AS k, MEDIAN(r.x) AS m FROM r JOIN s ON r.a = s.a GROUP BY 1",
    "group key, EXISTS": f"SELECT {NUMBER} AS k, MEDIAN(r.x) AS m FROM r"
    " WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a) GROUP BY 1",
    "partition": f"SELECT r.x, RANK() OVER (PARTITION BY {NUMBER} ORDER BY r.x) AS p"
    " FROM r JOIN s ON r.a = s.a",
    "distinct": f"SELECT DISTINCT {NUMBER} AS k FROM r JOIN s ON r.a = s.a",
    "set operation": f"SELECT {NUMBER} AS k FROM r JOIN s ON r.a = s.a EXCEPT SELECT z FROM t",
    "join key": f"SELECT q.k, t.z FROM (SELECT {NUMBER} AS k, COUNT(*) AS n FROM r"
    " JOIN s ON r.a = s.a GROUP BY 1) AS q JOIN t ON t.z = q.k",
    "left join key": f"SELECT t.z, q.k FROM t LEFT JOIN (SELECT {NUMBER} AS k FROM r"
    " JOIN s ON r.a = s.a) AS q ON t.z = q.k",
    "arithmetic": "SELECT 2147483640 + r.x AS k, MEDIAN(r.x) AS m FROM r"
    " JOIN s ON r.a = s.a GROUP BY 1",
}

PAIRS = {
    "LEFT": f"SELECT r.a, r.x, s.c FROM r LEFT JOIN s ON r.a = s.a AND {NEVER} = 1",
    "FULL": f"SELECT r.a, r.x, s.c FROM r FULL JOIN s ON r.a = s.a AND {NEVER} = 1",
    "EXISTS": f"SELECT r.x FROM r WHERE EXISTS (SELECT 1 FROM s WHERE r.a = s.a AND {NEVER} = 1)",
    "NOT EXISTS": "SELECT r.x FROM r WHERE NOT EXISTS"
    f" (SELECT 1 FROM s WHERE r.a = s.a AND {NEVER} = 1)",
    "mark": f"SELECT r.x, EXISTS (SELECT 1 FROM s WHERE r.a = s.a AND {NEVER} = 1) AS e FROM r",
    "IN": f"SELECT r.x, 1 IN (SELECT {NEVER} FROM s WHERE r.a = s.a) AS e FROM r",
    "NOT IN": f"SELECT r.x FROM r WHERE 2 NOT IN (SELECT {NEVER} FROM s WHERE r.a = s.a)",
    "inner aggregate": f"SELECT q.t, t.z FROM (SELECT r.a, SUM({NEVER}) AS t FROM r"
    " JOIN s ON r.a = s.a GROUP BY r.a) AS q JOIN t ON q.a = t.a",
    "aggregate": f"SELECT r.a, SUM({NEVER}) AS t FROM r JOIN s ON r.a = s.a GROUP BY r.a",
    "unnest": "SELECT q.a, e FROM (SELECT r.a, r.x, s.c FROM r JOIN s ON r.a = s.a) AS q,"
    " UNNEST([CAST(CASE WHEN q.x = q.c THEN 'no number' ELSE '1' END AS INTEGER)]) AS u(e)",
}


def unmatched() -> Sources:
    """Rows of r whose text is no number have no partner in s, and never get one."""
    sources = Sources.of({"r": R, "s": S, "t": T})
    sources.take(
        {
            "r": {(1, 9, "bad"): 1, (2, 1, "1"): 2, (2, 2, "2"): 1, (None, 3, "none"): 1},
            "s": {(2, 1): 1, (None, 4): 1},
            "t": {(1, 1): 1, (2, 2): 1, (3, 3): 1},
        }
    )
    sources.take(
        {
            "r": {(1, 8, "worse"): 1, (2, 1, "1"): -1, (2, 5, "3"): 1, (2, 2, "2"): -1},
            "s": {(2, 7): 1, (2, 1): -1, (3, 3): 1},
            "t": {(3, 3): -1, (1, 2): 1},
        }
    )
    return sources


def never_side_by_side() -> Sources:
    """r and s change their numbers together, so that equal ones never meet."""
    sources = Sources.of({"r": R, "s": S, "t": T})
    sources.take({"r": {(1, 1, "a"): 1, (2, 4, "b"): 2}, "s": {(1, 2): 1, (2, 3): 1}, "t": {}})
    sources.take(
        {
            "r": {(1, 1, "a"): -1, (1, 2, "a"): 1, (2, 4, "b"): -1},
            "s": {(1, 2): -1, (1, 1): 1, (2, 3): -1, (2, 5): 1},
            "t": {(1, 1): 1, (2, 2): 1},
        }
    )
    return sources


@pytest.mark.parametrize("name", UNMATCHED)
def test_rows_without_a_partner_are_not_evaluated(name: str) -> None:
    refreshed(UNMATCHED[name], unmatched())


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_that_never_existed_are_not_evaluated(name: str) -> None:
    refreshed(PAIRS[name], never_side_by_side())


def refreshed(sql: str, sources: Sources) -> None:
    database = sources.database
    plan = Runner.compiled(sql, sources)
    assert plan.is_incremental
    runner = Runner(database.at(0), plan, sql)
    runner.fill()
    database.at(1)
    runner.refresh()
    assert not runner.difference()
