"""Scans that are told which rows are enough: with no row more, every view is still right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.laws.databases import draw
from compiler.laws.engine import Database, one_case
from compiler.laws.plans import IntegrityError, Runner, Sources, lowered_tree, planned
from compiler.laws.trees import GLOBAL, TREES
from compiler.mutations import Mutation, broken
from grebe.compiler.algebra.nodes import RowsNear, Scan, SemiJoin, walk
from grebe.compiler.bind import DeltaFacts, bind
from grebe.compiler.bind.sizes import SideSizes
from grebe.compiler.plan.refresh_plan import RefreshPlan

CASES = 2
ALL = {**TREES, **GLOBAL}
SQL = {
    "a nest of members": "SELECT r.a, r.x FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a)"
    " AND NOT EXISTS (SELECT 1 FROM t WHERE t.c = r.a AND t.z <> r.x)",
    "an aggregate beside its rows": "SELECT r.a, r.x, q.n FROM r"
    " LEFT JOIN (SELECT b, COUNT(*) AS n FROM r GROUP BY b) AS q ON q.b = r.a",
    "three in a row": "SELECT r.x, s.c, t.z FROM r JOIN s ON r.a = s.a JOIN t ON t.c = s.c",
    "by a number of another type": "SELECT r.a, s.c, t.z FROM r JOIN s ON r.a = s.a"
    " LEFT JOIN t ON t.c = CAST(s.a AS BIGINT)",
    "sets": "SELECT a FROM r WHERE a IN (SELECT a FROM s UNION SELECT c FROM t)"
    " EXCEPT ALL SELECT c FROM s",
}
TABLES = {
    "r": {"a": "INT", "b": "INT", "x": "INT"},
    "s": {"a": "INT", "c": "INT"},
    "t": {"c": "INT", "z": "INT"},
}


@pytest.fixture(scope="module")
def databases() -> Database:
    return Database.of(draw(11, cases=CASES, cycles=2))


@pytest.mark.parametrize("name", ALL)
def test_near_rows_are_enough(databases: Database, name: str) -> None:
    plan = None
    for case in range(CASES):
        small = one_case(databases, case)
        small.texts.clear()
        one = lowered_tree(ALL[name])
        plan = plan or planned(one, small.at(1))
        runner = Runner(small.at(0), plan)
        runner.fill()
        for cycle in (1, 2):
            small.at(cycle)
            runner.refresh()
            assert not runner.difference(), f"{name}, case {case}, refresh {cycle}"


@pytest.mark.parametrize("name", SQL)
def test_views_by_near_rows(name: str) -> None:
    differing(SQL[name])


def differing(sql: str) -> None:
    sources = Sources.of(TABLES)
    sources.take(
        {
            "r": {(k, k % 3, k % 5): 1 for k in range(12)} | {(None, 1, 1): 2, (1, None, 4): 1},
            "s": {(k, (k * 7) % 5): 1 for k in range(0, 12, 2)} | {(None, None): 1},
            "t": {(k % 6, k): 1 for k in range(9)} | {(None, 0): 1},
        }
    )
    runner = Runner.build(sql, sources)
    for changes in (
        {"s": {(2, 4): -1, (3, 1): 1}},
        {"r": {(None, 1, 1): -1, (5, 1, 1): 1}, "t": {(None, 0): -1, (5, 9): 1}},
        {"s": {(None, None): -1, (7, None): 1}, "t": {(0, 0): -1}},
        {"r": {(1, None, 4): -1, (7, 7, 7): 2}, "s": {(7, None): -1}, "t": {(7, 7): 1}},
    ):
        sources.take(changes)
        runner.refresh()
        assert not runner.difference(), (sql, changes)


def test_a_delta_that_is_forgotten_is_noticed(databases: Database) -> None:
    forgotten = Mutation(
        "one delta of several",
        "bind.scan_limits",
        "frozenset().union(*(item.deltas for item in known))",
        "known[0].deltas",
        (),
    )
    with broken(forgotten):
        wrong = (_is_wrong(lambda name=name: differing(SQL[name])) for name in SQL)
        trees = (
            "aggregate/over left by a nullable key",
            "anti/over join",
            "left/nest",
            "left/chain",
        )
        more = (_is_wrong(lambda n=n: test_near_rows_are_enough(databases, n)) for n in trees)
        assert any(wrong) or any(more)


def _is_wrong(check: Callable[[], None]) -> bool:
    try:
        check()
    except (AssertionError, IntegrityError):
        return True
    return False


def plan_of(sql: str, tables: dict[str, dict[str, str]]) -> RefreshPlan:
    sources = Sources.of(tables)
    sources.take({})
    return Runner.compiled(sql, sources)


def nears(
    plan: RefreshPlan, *unchanged: str, never_null: frozenset[tuple[str, str]]
) -> set[RowsNear]:
    sizes = SideSizes({"r": 1000, "s": 1000, "t": 1000}, {"r": 1, "s": 1, "t": 1})
    steps = bind(plan, DeltaFacts(frozenset(unchanged), sizes=sizes, never_null=never_null))
    scans = (node for step in steps for node in walk(step.node) if isinstance(node, Scan))
    return {scan.near for scan in scans if scan.near}


def test_every_scan_of_a_join_is_told_which_rows_are_enough() -> None:
    plan = plan_of("SELECT r.x, s.c FROM r JOIN s ON r.a = s.a", TABLES)
    assert nears(plan, never_null=frozenset()) == {
        RowsNear("a", (("r", "a"),)),
        RowsNear("a", (("s", "a"),)),
    }


def test_columns_of_two_types_say_nothing() -> None:
    tables = TABLES | {"s": {"a": "DOUBLE", "c": "INT"}}
    plan = plan_of("SELECT r.x, s.c FROM r JOIN s ON r.a = s.a", tables)
    assert not nears(plan, never_null=frozenset())


def test_keys_without_null_are_compared_plainly() -> None:
    plan = plan_of("SELECT x, (SELECT MAX(c) FROM s WHERE s.a = r.a) AS m FROM r", TABLES)
    unsure, sure = (
        [
            node.on.text
            for step in bind(plan, DeltaFacts(sizes=SideSizes({}, {}), never_null=known))
            for node in walk(step.node)
            if isinstance(node, SemiJoin)
        ]
        for known in (frozenset(), frozenset({("s", "a"), ("r", "a")}))
    )
    assert sum("IS NOT DISTINCT" in text for text in sure) < sum(
        "IS NOT DISTINCT" in text for text in unsure
    )
