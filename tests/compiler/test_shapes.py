"""Shapes on which an earlier compiler was silently wrong, or loud without a type: each by name.

Every shape either equals its query after every window, or raises a typed error at compile.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from compiler.laws.plans import Runner, Sources
from grebe.errors import DefinitionError, NotIncrementalError

T = {"g": "INTEGER", "x": "INTEGER"}
U = {"g": "INTEGER", "y": "INTEGER"}
TABLES = {"t": T, "u": U}

Feed = tuple[tuple[int, tuple[int | None, ...]], ...]
"""A raw change feed: every change of a window in order, with its sign."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A view, and the feeds of its windows: one dict of table to feed for each refresh."""

    sql: str
    windows: tuple[dict[str, Feed], ...]


def added(*rows: tuple[int | None, ...]) -> Feed:
    return tuple((1, row) for row in rows)


def removed(*rows: tuple[int | None, ...]) -> Feed:
    return tuple((-1, row) for row in rows)


def updated(before: tuple[int | None, ...], after: tuple[int | None, ...]) -> Feed:
    return ((-1, before), (1, after))


FIRST: dict[str, Feed] = {
    "t": added((1, 10), (1, 20), (2, 5), (None, 7)),
    "u": added((1, 100), (2, 200), (1, 100)),
}
MIXED: dict[str, Feed] = {
    "t": added((3, 1), (1, 10)) + removed((2, 5)) + updated((1, 20), (2, None)),
    "u": added((3, 300), (None, 1)) + removed((1, 100)) + updated((2, 200), (1, 250)),
}
BACK: dict[str, Feed] = {
    "t": removed((3, 1), (1, 10), (None, 7)) + added((2, 2)),
    "u": removed((1, 100), (3, 300)),
}
ORDINARY = (FIRST, MIXED, BACK)

SILENTLY_WRONG = {
    "row inserted and deleted in one window": Shape(
        "SELECT g, x FROM t", (FIRST, {"t": added((9, 9)) + removed((9, 9))}, MIXED)
    ),
    "two updates in one window": Shape(
        "SELECT g, x FROM t",
        (
            FIRST,
            {"t": updated((1, 10), (1, 11)) + updated((1, 11), (1, 12))},
            {"t": removed((1, 12))},
        ),
    ),
    "ORDER BY and LIMIT": Shape("SELECT g, x FROM t ORDER BY x, g LIMIT 2", ORDINARY),
    "SUM of a NULL that becomes a value": Shape(
        "SELECT g, SUM(x) AS s FROM t GROUP BY g",
        ({"t": added((1, None))}, {"t": updated((1, None), (1, 5))}, {"t": removed((1, 5))}),
    ),
    "SUM of a new group of NULLs": Shape(
        "SELECT g, SUM(x) AS s FROM t GROUP BY g", (FIRST, {"t": added((7, None), (7, None))})
    ),
    "SUM of a value that becomes NULL": Shape(
        "SELECT g, SUM(x) AS s FROM t GROUP BY g", (FIRST, {"t": updated((2, 5), (2, None))})
    ),
    "AVG with NULL": Shape(
        "SELECT g, AVG(x) AS m FROM t GROUP BY g",
        (FIRST, {"t": added((1, None), (2, None))}, {"t": removed((2, 5))}),
    ),
    "MIN read again with the WHERE": Shape(
        "SELECT g, MIN(x) AS m FROM t WHERE x > 0 GROUP BY g",
        ({"t": added((1, 1), (1, 3), (1, -5))}, {"t": removed((1, 1))}),
    ),
    "MIN with a lower row that comes and goes": Shape(
        "SELECT g, MIN(x) AS m FROM t GROUP BY g", (FIRST, {"t": added((1, 0)) + removed((1, 0))})
    ),
    "MIN of a new group whose minimum came and went": Shape(
        "SELECT g, MIN(x) AS m FROM t GROUP BY g",
        (FIRST, {"t": added((8, 1), (8, 4)) + removed((8, 1))}),
    ),
    "SUM(x) + 1": Shape("SELECT g, SUM(x) + 1 AS s FROM t GROUP BY g", ORDINARY),
    "STDDEV": Shape("SELECT g, STDDEV(x) AS d FROM t GROUP BY g", ORDINARY),
    "STDDEV beside COUNT": Shape(
        "SELECT g, COUNT(*) AS n, STDDEV_POP(x) AS d FROM t GROUP BY g", ORDINARY
    ),
    "join with a row that comes and goes": Shape(
        "SELECT t.g, x, y FROM t JOIN u ON t.g = u.g",
        (FIRST, {"t": added((1, 99)) + removed((1, 99)), "u": added((1, 3))}),
    ),
    "join and WHERE": Shape(
        "SELECT t.g, x, y FROM t JOIN u ON t.g = u.g WHERE x > 10 AND y < 260", ORDINARY
    ),
    "join, aggregate and WHERE": Shape(
        "SELECT t.g, SUM(y) AS s FROM t JOIN u ON t.g = u.g WHERE x >= 10 GROUP BY t.g", ORDINARY
    ),
    "IN (subquery) after a duplicate key": Shape(
        "SELECT g, x FROM t WHERE g IN (SELECT g FROM u)",
        (FIRST, {"u": added((2, 1))}, {"u": removed((2, 200))}, {"u": removed((2, 1))}),
    ),
}

LOUD = {
    "SELECT *": Shape("SELECT * FROM t", ORDINARY),
    "table alias": Shape("SELECT a.g, a.x FROM t AS a WHERE a.x > 5", ORDINARY),
    "table alias in a join": Shape(
        "SELECT a.g, b.y FROM t AS a JOIN u AS b ON a.g = b.g", ORDINARY
    ),
    "COUNT(DISTINCT)": Shape("SELECT g, COUNT(DISTINCT x) AS n FROM t GROUP BY g", ORDINARY),
    "aggregate without GROUP BY": Shape(
        "SELECT COUNT(*) AS n, SUM(x) AS s FROM t",
        (*ORDINARY, {"t": removed((1, 10), (2, 2), (2, None))}),
    ),
    "GROUP BY expression": Shape("SELECT g % 2 AS k, SUM(x) AS s FROM t GROUP BY g % 2", ORDINARY),
    "GROUP BY ordinal": Shape("SELECT g, SUM(x) AS s FROM t GROUP BY 1", ORDINARY),
    "ROW_NUMBER": Shape(
        "SELECT g, x, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x) AS n FROM t", ORDINARY
    ),
    "SUM OVER": Shape("SELECT g, x, SUM(x) OVER (PARTITION BY g) AS s FROM t", ORDINARY),
    "RANK": Shape("SELECT g, x, RANK() OVER (PARTITION BY g ORDER BY x) AS n FROM t", ORDINARY),
    "self-join": Shape("SELECT a.g, b.x FROM t AS a JOIN t AS b ON a.g = b.g", ORDINARY),
    "comma join": Shape("SELECT t.g, y FROM t, u WHERE t.g = u.g", ORDINARY),
    "USING": Shape("SELECT g, x, y FROM t JOIN u USING (g)", ORDINARY),
}

REFUSED = {
    "recursive CTE": (
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n"
    ),
    "expression without alias": "SELECT g, x + 1 FROM t",
    "random()": "SELECT g, random() AS r FROM t",
    "two output columns of the same name": "SELECT x, g AS x FROM t",
    "not a SELECT": "DELETE FROM t WHERE g = 1",
}


def test_there_are_seventeen_and_eighteen() -> None:
    assert len(SILENTLY_WRONG) == 17
    assert len(LOUD) + len(REFUSED) == 18


@pytest.mark.parametrize("name", [*SILENTLY_WRONG, *LOUD])
def test_shape_equals_its_query_after_every_window(name: str) -> None:
    shape = {**SILENTLY_WRONG, **LOUD}[name]
    sources = Sources.of(TABLES)
    runner = None
    for window in shape.windows:
        sources.take({table: Counter(_net(feed)) for table, feed in window.items()})
        if runner is None:
            runner = Runner.build(shape.sql, sources)
        else:
            runner.refresh()
        assert not runner.difference(), f"{name}\n{shape.sql}\n{runner.difference()}"


def _net(feed: Feed) -> dict[tuple[int | None, ...], int]:
    total: Counter[tuple[int | None, ...]] = Counter()
    for weight, row in feed:
        total[row] += weight
    return dict(total)


@pytest.mark.parametrize("name", REFUSED)
def test_shape_is_refused_by_a_typed_error_at_compile(name: str) -> None:
    sources = Sources.of(TABLES)
    sources.take({})
    with pytest.raises((DefinitionError, NotIncrementalError)) as caught:
        Runner.compiled(REFUSED[name], sources)
    assert caught.value.code
