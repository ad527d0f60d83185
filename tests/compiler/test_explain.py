"""`explain`: golden texts and JSON, and what they must say of any view.

`GREBE_GOLDEN=write` writes the files anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from compiler.databases import SOURCES
from compiler.test_golden import PAIRS
from grebe.compiler.algebra.known_types import Types, scan_types
from grebe.compiler.emit import emit
from grebe.compiler.explain import Explanation, bound_steps, explain, leaf_name
from grebe.compiler.lower import Relation, lower
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.plan.strategy import make_plan

FOLDER = Path(__file__).parent / "explained"
VIEWS = {
    "groups": """SELECT k, COUNT(*) AS n, SUM(x) AS t, MIN(d) AS first_day, MEDIAN(x) AS middle
FROM r WHERE x > 0 GROUP BY k HAVING COUNT(*) > 1""",
    "bag": """SELECT r.k, t.y, r.x IN (SELECT z FROM u) AS known
FROM r LEFT JOIN t ON r.k = t.k WHERE r.k NOT IN (SELECT y FROM u)""",
    "replace": "SELECT k, x, RANK() OVER (PARTITION BY k ORDER BY x) AS place FROM r",
    "full": """SELECT k, x,
       RANK() OVER (ORDER BY x) AS place,
       SUM(y) OVER (PARTITION BY k) AS total,
       NOW() AS seen
FROM r JOIN t USING (k)""",
    "inner": """SELECT t.s, q.n, q.m FROM t
JOIN (SELECT k, COUNT(*) AS n, MAX(x) AS m FROM r GROUP BY k) AS q ON q.k = t.k""",
}


def plan_of(sql: str, sources: dict[str, Relation] = SOURCES) -> RefreshPlan:
    found = lower(sql, dialect="duckdb", sources=sources)
    tables = {name: dict(relation.columns) for name, relation in sources.items()}
    types = scan_types(found.root, tables) if found.root else {}
    return make_plan(found, Types("duckdb", types))


def as_json(explanation: Explanation) -> str:
    return json.dumps(explanation.to_dict(), indent=1) + "\n"


@pytest.mark.parametrize("name", VIEWS)
def test_explanation_is_what_the_file_says(name: str) -> None:
    found = explain(plan_of(VIEWS[name]))
    files = {".txt": f"{VIEWS[name]}\n\n{found}\n", ".json": as_json(found)}
    for ending, text in files.items():
        file = FOLDER / f"{name}{ending}"
        if os.environ.get("GREBE_GOLDEN") == "write":
            file.write_text(text)
        assert file.read_text() == text


def law_sources() -> dict[str, Relation]:
    from compiler.laws.databases import tables_of

    return {name: Relation(name, tuple(table.types.items())) for name, table in tables_of().items()}


@pytest.mark.parametrize("name", PAIRS)
def test_every_operator_has_its_rule_and_every_step_its_sql(name: str) -> None:
    plan = plan_of(PAIRS[name].query, law_sources())
    found = explain(plan)
    assert found.operators
    for item in found.operators:
        assert item.rule, item
        assert item.law, item
        assert item.needs, item
    steps = bound_steps(plan)
    assert [step.sql for step in found.steps] == [
        emit(step.node, plan.dialect, leaf_name) for step in steps
    ]
    text = str(found)
    assert all(step.sql.splitlines()[0] in text for step in found.steps)
    assert json.loads(as_json(found)) == found.to_dict()


def test_every_reason_stands_with_its_code_and_its_place() -> None:
    found = explain(plan_of(VIEWS["full"]))
    assert not found.incremental
    told = [(item["code"], item["line"]) for item in found.to_dict()["reasons"]]
    assert ("window-without-partition", 2) in told
    assert ("time-function", 4) in told
    assert "not incremental" in str(
        explain(plan_of("SELECT k, RANK() OVER (ORDER BY x) AS p FROM r"))
    )


def test_the_operator_that_is_not_incremental_says_why() -> None:
    found = explain(plan_of("SELECT k, RANK() OVER (ORDER BY x) AS place FROM r"))
    blamed = {item.name: [reason.code for reason in item.reasons] for item in found.operators}
    assert blamed == {"Scan": [], "Windowed": ["window-without-partition"], "Projection": []}
