"""A NULL that comes or goes below IN turns the answers for all rows from false to unknown, or back."""

from __future__ import annotations

import pytest

from compiler.laws.plans import Runner, Sources

MARKED = "(SELECT l.k, l.v, l.k IN (SELECT y FROM s) AS m FROM l) AS q"
UNKNOWN = (
    f"SELECT q.k, MAX(CASE WHEN q.m IS NULL THEN 1 ELSE 0 END) AS c FROM {MARKED} GROUP BY q.k"
)
VIEWS = {
    "picked": f"SELECT q.k, q.m FROM {MARKED}"
    " WHERE q.k IN (SELECT t.k FROM t GROUP BY t.k HAVING COUNT(*) > 1)",
    "not in": "SELECT q.k, q.m FROM (SELECT l.k, l.k NOT IN (SELECT y FROM s) AS m FROM l) AS q"
    " WHERE q.k IN (SELECT t.k FROM t GROUP BY t.k HAVING COUNT(*) > 1)",
    "left": f"SELECT l.k FROM l LEFT JOIN (SELECT q.k, q.m FROM {MARKED}) AS z ON z.k = l.k"
    " WHERE z.m IS NULL",
    "counted": f"SELECT z.c, COUNT(*) AS n FROM ({UNKNOWN}) AS z GROUP BY z.c",
    "kept": f"SELECT t.k, z.c FROM t LEFT JOIN ({UNKNOWN}) AS z ON z.k = t.k",
    "largest": UNKNOWN,
    "window": f"SELECT q.k, COUNT(q.m) OVER (PARTITION BY q.k) AS n FROM {MARKED}",
    "exists": f"SELECT t.k FROM t WHERE EXISTS (SELECT 1 FROM {MARKED} WHERE q.k = t.k AND q.m IS NULL)",
}
CHANGES = (
    {"s": {(None,): 1}},
    {"s": {(1,): 1}},
    {"s": {(None,): -1}},
    {"s": {(5,): -1, (1,): -1}},
    {"s": {(None,): 2}, "l": {(None, 3): 1}, "t": {(2, 1): 2}},
    {"s": {(None,): -2}, "l": {(1, 1): -1}},
)


@pytest.mark.parametrize("name", VIEWS)
def test_answers_of_all_rows_follow_a_null(name: str) -> None:
    sources = Sources.of(
        {"l": {"k": "INT", "v": "INT"}, "s": {"y": "INT"}, "t": {"k": "INT", "v": "INT"}}
    )
    sources.take({"l": {(1, 1): 1, (2, 2): 1}, "t": {(1, 1): 1, (1, 2): 1}, "s": {(5,): 1}})
    runner = Runner.build(VIEWS[name], sources)
    for changes in CHANGES:
        sources.take(changes)
        runner.refresh()
        assert not runner.difference(), changes


def test_nests_of_picked_groups_are_planned_in_a_moment() -> None:
    sources = Sources.of({name: {"k": "INT", "v": "INT"} for name in ("l", "s", "t")})
    sources.take({name: {(1, 1): 1, (1, 2): 1, (2, 2): 1} for name in ("l", "s", "t")})
    sql = "SELECT l.k, l.v FROM l"
    for number in range(6):
        sql = (
            f"SELECT q{number}.k, q{number}.v FROM ({sql}) AS q{number} JOIN s ON s.k = q{number}.v"
            f" WHERE q{number}.k IN (SELECT t.k FROM t WHERE t.v <> {number + 3}"
            " GROUP BY t.k HAVING COUNT(*) > 1)"
        )
    runner = Runner.build(sql, sources)
    for changes in ({"s": {(1, 7): 1}}, {"t": {(1, 1): -1}}, {"t": {(1, 9): 1}, "l": {(1, 1): 1}}):
        sources.take(changes)
        runner.refresh()
        assert not runner.difference(), changes
