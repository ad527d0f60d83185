"""TPC-DS: how each of the 99 queries is maintained, and that all are equal after a refresh.

`make test` takes every ninth; `make test-laws` takes them all and writes docs/evidence/tpcds.json.
"""

from __future__ import annotations

import json

import pytest

from compiler.laws.benchmarks import changing
from compiler.laws.engine import Database
from compiler.laws.plans import Runner, lowered, planned
from compiler.tpc import texts_of
from evidence import FOLDER, current_commit
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.reasons import ReasonCode

SCALE = 0.01
SOME = range(4, 100, 9)
MAY_BE_FULL = {ReasonCode.WINDOW_WITHOUT_PARTITION}


@pytest.fixture(scope="module")
def tpcds() -> Database:
    return changing("tpcds", SCALE, 1)


@pytest.mark.parametrize("number", SOME)
def test_query_is_equal_after_a_refresh(tpcds: Database, number: int) -> None:
    plan = refreshed(tpcds, number)
    assert {reason.code for reason in plan.reasons} <= MAY_BE_FULL


@pytest.mark.laws
@pytest.mark.timeout(0)
def test_all_99_are_classified_and_equal(tpcds: Database) -> None:
    plans = {number: refreshed(tpcds, number) for number in range(1, 100)}
    found = {
        str(number): {
            "strategy": str(plan.strategy),
            "reasons": sorted({str(reason.code) for reason in plan.reasons}),
        }
        for number, plan in plans.items()
    }
    incremental = sum(plan.is_incremental for plan in plans.values())
    document = {
        "commit": current_commit(),
        "scale": SCALE,
        "equal": len(plans),
        "incremental": incremental,
        "queries": found,
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "tpcds.json").write_text(json.dumps(document, indent=1) + "\n")
    for plan in plans.values():
        assert {reason.code for reason in plan.reasons} <= MAY_BE_FULL


def refreshed(tpcds: Database, number: int) -> RefreshPlan:
    """The plan of a query that was built, refreshed and compared."""
    tpcds.texts.clear()
    text = texts_of(tpcds.connection, "tpcds")[number]
    plan = planned(lowered(text, tpcds.at(0)), tpcds)
    runner = Runner(tpcds, plan)
    runner.fill()
    tpcds.at(1)
    runner.refresh()
    assert not runner.difference(), f"query {number}\n{runner.difference()}"
    return plan
