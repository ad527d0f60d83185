"""Touched keys of window views come from the changed rows: nothing is ranked to find them."""

from __future__ import annotations

import pytest

from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import At, Scan, walk
from grebe.compiler.lower import Relation, lower
from grebe.compiler.plan.refresh_plan import Strategy
from grebe.compiler.plan.strategy import make_plan

TABLES = {"t": Relation("t", (("g", "int"), ("x", "int")))}
RANK = "row_number() OVER (PARTITION BY g ORDER BY x)"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT g, x, {RANK} AS n FROM t",
        f"SELECT x, {RANK} AS n FROM t",
        f"SELECT g AS k, n + 1 AS m FROM (SELECT g, {RANK} AS n FROM t) WHERE n <= 3",
        f"SELECT x FROM (SELECT g, x, {RANK} AS n FROM t) WHERE n = 1",
    ],
)
def test_the_old_version_of_a_source_is_not_read(sql: str) -> None:
    plan = make_plan(lower(sql, dialect="spark", sources=TABLES), Types("spark"))
    scans = [n for step in plan.steps for n in walk(step.node) if isinstance(n, Scan)]
    assert plan.strategy is Strategy.REPLACE
    assert {scan.at for scan in scans} == {At.DELTA, At.NEW}
