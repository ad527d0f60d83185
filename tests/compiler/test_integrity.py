"""A stored row that somebody altered is noticed by the next refresh that touches it; nothing is written."""

from __future__ import annotations

from collections import Counter

import pytest

from compiler.laws.engine import STORAGE
from compiler.laws.plans import IntegrityError, Runner, Sources
from grebe.compiler.plan.refresh_plan import Strategy

T = {"g": "INTEGER", "x": "INTEGER", "f": "DOUBLE"}
FIRST = {
    "t": {(1, 10, 0.5): 1, (1, 20, 1.5): 1, (2, 5, 0.1): 2, (None, 7, None): 1, (3, 1, 2.0): 1}
}
SECOND = {"t": {(1, 10, 0.5): -1, (2, 5, 0.1): -1, (None, 7, None): -1, (3, 1, 2.0): -1}}

VIEWS = {
    "bag": "SELECT g, x FROM t",
    "groups": "SELECT g, COUNT(*) AS n, COUNT(x) AS c, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY g",
    "extrema": "SELECT g, MIN(x) AS low, MAX(x) AS high FROM t GROUP BY g",
    "float sums": "SELECT g, SUM(f) AS s FROM t GROUP BY g",
    "no keys": "SELECT COUNT(*) AS n, SUM(x) AS s FROM t",
    "distinct": "SELECT DISTINCT g, x FROM t",
    "window": "SELECT g, x, RANK() OVER (PARTITION BY g ORDER BY x) AS k FROM t",
}


def built(sql: str) -> tuple[Runner, Sources]:
    sources = Sources.of({"t": T})
    sources.take(FIRST)
    return Runner.build(sql, sources), sources


def stored(runner: Runner) -> Counter[tuple[object, ...]]:
    return Counter(runner.database.rows(f"SELECT * FROM {STORAGE}"))


def columns(sql: str) -> list[str]:
    runner, _ = built(sql)
    return [str(row[0]) for row in runner.database.rows(f"DESCRIBE {STORAGE}")]


def altered(name: str, kind: str) -> str:
    """Another value of the column, in every stored row; keys move to rows that are not there."""
    if kind == "VARCHAR":
        return f"\"{name}\" || '!'"
    return f'COALESCE("{name}", 40) + 1'


@pytest.mark.parametrize("view", VIEWS)
def test_altered_column_is_noticed_and_nothing_is_written(view: str) -> None:
    for name in columns(VIEWS[view]):
        runner, sources = built(VIEWS[view])
        kind = dict(
            runner.database.rows(f"SELECT column_name, column_type FROM (DESCRIBE {STORAGE})")
        )
        change = altered(name, str(kind[name]))
        runner.database.connection.execute(f'UPDATE {STORAGE} SET "{name}" = {change}')
        before = stored(runner)
        sources.take(SECOND)
        with pytest.raises(IntegrityError):
            runner.refresh()
        assert stored(runner) == before, (view, name)


@pytest.mark.parametrize("view", VIEWS)
def test_missing_rows_are_noticed_or_put_back(view: str) -> None:
    """Where touched keys are computed again as a whole, a missing row is simply written again."""
    runner, sources = built(VIEWS[view])
    runner.database.connection.execute(f"DELETE FROM {STORAGE}")
    sources.take(SECOND)
    if runner.plan.strategy is Strategy.REPLACE:
        runner.refresh()
        assert not runner.difference()
        return
    with pytest.raises(IntegrityError):
        runner.refresh()
    assert not stored(runner)


@pytest.mark.parametrize("view", VIEWS)
def test_untouched_storage_raises_no_alarm(view: str) -> None:
    runner, sources = built(VIEWS[view])
    sources.take(SECOND)
    runner.refresh()
    assert not runner.difference()
