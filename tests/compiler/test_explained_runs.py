"""What explain prints of a bound plan is run on DuckDB as it stands, and gives the rows of the refresh."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import pytest

from compiler.laws.databases import ident
from compiler.laws.engine import STORAGE
from compiler.laws.plans import Runner, Sources, Values
from grebe.compiler.explain import StepText, explain, step_text
from grebe.compiler.plan.refresh_plan import RefreshPlan, Strategy
from grebe.compiler.write.steps import COPIES
from grebe.model import ACTION

TABLES = {"r": {"k": "BIGINT", "x": "BIGINT"}, "s": {"k": "BIGINT", "y": "BIGINT"}}
FIRST: Mapping[str, Mapping[Values, int]] = {
    "r": {(1, 5): 1, (1, 7): 2, (2, 3): 1, (None, 4): 1},
    "s": {(1, 10): 1, (3, 30): 1},
}
GROWN: Mapping[str, Mapping[Values, int]] = {"r": {(2, 9): 1, (3, 1): 2}}
MIXED: Mapping[str, Mapping[Values, int]] = {
    "r": {(1, 7): -1, (2, 3): -1, (None, 4): -1, (4, 4): 1},
    "s": {(1, 10): -1, (1, 11): 1, (2, 20): 1},
}
GROUPS = "SELECT k, COUNT(*) AS n, SUM(x) AS total, MAX(x) AS most FROM r GROUP BY k"
PLACES = "SELECT k, x, RANK() OVER (PARTITION BY k ORDER BY x) AS place FROM r"
OUTER = "SELECT r.k, r.x, s.y FROM r LEFT JOIN s ON r.k = s.k"
INNER = "SELECT r.k, r.x, s.y FROM r JOIN s ON r.k = s.k"
CASES = (
    (GROUPS, GROWN, Strategy.GROUPS, "merge"),
    (GROUPS, MIXED, Strategy.GROUPS, "merge"),
    (PLACES, GROWN, Strategy.REPLACE, "merge"),
    (PLACES, MIXED, Strategy.REPLACE, "merge"),
    (OUTER, GROWN, Strategy.BAG, "merge"),
    (OUTER, MIXED, Strategy.BAG, "merge"),
    (INNER, GROWN, Strategy.BAG, "append"),
    (INNER, MIXED, Strategy.BAG, "merge"),
    (GROUPS, GROWN, Strategy.OVERWRITE, "overwrite"),
    (OUTER, MIXED, Strategy.OVERWRITE, "overwrite"),
)
"""A view, what changes, how it is stored (or that it is built anew), and the step that writes."""
_LEAF = re.compile(r"\b(r|s)@(old|new|delta)|step:(\w+)|(?<=FROM )(stored)\b|(?<=JOIN )(stored)\b")


def _runnable(text: str) -> str:
    def name(found: re.Match[str]) -> str:
        table, at, step, *_ = found.groups()
        return ident(f"{table}_{at}") if table else ident(f"step_{step}") if step else STORAGE

    return _LEAF.sub(name, text)


def _by_hand(sources: Sources, plan: RefreshPlan, step: StepText) -> None:
    connection, text = sources.database.connection, _runnable(step.sql)
    names = ", ".join(ident(name) for name in plan.shape.columns)
    match step.kind:
        case "compute":
            connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {ident(f'step_{step.name}')} AS {text}"
            )
        case "check":
            assert not sources.database.rows(text), step
        case "append":
            connection.execute(f"INSERT INTO {STORAGE} ({names}) SELECT {names} FROM ({text})")
        case "overwrite":
            connection.execute(f"CREATE OR REPLACE TABLE {STORAGE} AS SELECT {names} FROM ({text})")
        case "merge":
            connection.execute(f"CREATE OR REPLACE TEMP TABLE by_hand AS {text}")
            on = re.findall(r"[^\s,()]+", step.name.removeprefix("on "))
            met = " AND ".join(
                f"{STORAGE}.{ident(name)} IS NOT DISTINCT FROM by_hand.{ident(name)}" for name in on
            )
            old = f"({met}) AND {ACTION} <> 'insert'"
            found = sources.database.rows(f"SELECT COUNT(*) FROM {STORAGE} JOIN by_hand ON {old}")
            said = sources.database.rows(
                f"SELECT COALESCE(SUM({COPIES}), 0) FROM by_hand WHERE {ACTION} <> 'insert'"
            )
            assert found == [(int(str(said[0][0])),)]
            connection.execute(f"DELETE FROM {STORAGE} USING by_hand WHERE {old}")
            connection.execute(
                f"INSERT INTO {STORAGE} ({names}) SELECT {names} FROM by_hand"
                f" WHERE {ACTION} <> 'delete'"
            )


def _stored(sources: Sources) -> Counter[Values]:
    return Counter(sources.database.rows(f"FROM {STORAGE}"))


@pytest.mark.parametrize(("text", "changes", "strategy", "writes"), CASES)
def test_printed_texts_give_the_rows_of_the_refresh(
    text: str, changes: Mapping[str, Mapping[Values, int]], strategy: Strategy, writes: str
) -> None:
    sources = Sources.of(TABLES)
    sources.take(FIRST)
    runner = Runner.build(text, sources)
    runner.with_bounds = False
    sources.take(changes)
    sources.database.connection.execute(f"CREATE TABLE before AS FROM {STORAGE}")
    if strategy is Strategy.OVERWRITE:
        found = tuple(step_text(step, "duckdb") for step in runner.plan.full)
    else:
        assert runner.plan.strategy is strategy
        found = explain(runner.plan, runner.facts()).steps
    assert found[-1].kind == writes
    for step in found:
        _by_hand(sources, runner.plan, step)
    by_hand = _stored(sources)
    assert not runner.difference()
    sources.database.connection.execute(f"CREATE OR REPLACE TABLE {STORAGE} AS FROM before")
    runner.refresh()
    assert not runner.difference()
    assert by_hand == _stored(sources)
