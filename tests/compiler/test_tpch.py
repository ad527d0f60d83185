"""TPC-H: all 22 queries are maintained from changes, and equal after every refresh."""

from __future__ import annotations

import pytest

from compiler.laws.benchmarks import changing
from compiler.laws.engine import Database
from compiler.laws.plans import Runner, lowered, planned
from compiler.tpc import texts_of

CYCLES = 3


@pytest.fixture(scope="module")
def tpch() -> Database:
    return changing("tpch", 0.01, CYCLES)


@pytest.mark.parametrize("number", range(1, 23))
def test_query_is_incremental_and_equal_after_refreshes(tpch: Database, number: int) -> None:
    tpch.texts.clear()
    text = texts_of(tpch.connection, "tpch")[number]
    plan = planned(lowered(text, tpch.at(0)), tpch)
    assert plan.is_incremental, plan.reasons
    runner = Runner(tpch, plan)
    runner.fill()
    for cycle in range(1, CYCLES + 1):
        tpch.at(cycle)
        runner.with_bounds = cycle == 2
        runner.refresh()
        assert not runner.difference(), f"query {number}, refresh {cycle}\n{runner.difference()}"
