"""The test of the tests: every rule broken on purpose is noticed by its operator's law."""

from __future__ import annotations

import duckdb
import pytest

from compiler.laws.batching import batch
from compiler.laws.check import DeltaLaw, Difference
from compiler.laws.databases import draw
from compiler.laws.engine import Database, one_case
from compiler.laws.plans import IntegrityError, Runner, Sources, batched, lowered_tree, planned
from compiler.laws.trees import GLOBAL, TREES, aggregate, scan, sql
from compiler.mutations import MUTATIONS, Mutation, broken
from grebe.compiler.algebra.nodes import Filter, InnerJoin, MarkJoin, Node, Projection, SemiJoin
from grebe.compiler.algebra.scalar import column

CASES = 1_500
CYCLES = 2
ALONE = 150
STILL = frozenset({("s", 1), ("s", 0)})

_PAIRS = InnerJoin((scan("r"), scan("s")), (sql("r_a = s_a"),))
_RAISING = "CAST(CASE WHEN r_x = s_c THEN 'no number' ELSE '1' END AS INTEGER)"
_ON = f"r_a = s_a AND {_RAISING} = 1"
RAISING: dict[str, Node] = {
    "raises/project": Projection(_PAIRS, (("k", column("r_a")), ("v", sql(_RAISING)))),
    "raises/filter": Filter(_PAIRS, sql(f"{_RAISING} = 1")),
    "raises/anti": SemiJoin(scan("r"), scan("s"), sql(_ON), anti=True),
    "raises/mark": MarkJoin(scan("r"), scan("s"), sql(_ON), "m"),
    "raises/aggregate": aggregate(_PAIRS, ("r_a",), total=f"SUM({_RAISING})"),
    "raises/key": aggregate(
        Projection(
            SemiJoin(scan("r"), scan("s"), sql("r_a = s_a")),
            (("k", sql("CAST(r_s AS INTEGER)")), ("x", column("r_x"))),
        ),
        ("k",),
        middle="MEDIAN(x)",
    ),
}
ALL = {**TREES, **GLOBAL, **RAISING}


@pytest.fixture(scope="module")
def databases() -> Database:
    return Database.of(draw(3, cases=CASES, cycles=CYCLES))


@pytest.fixture(scope="module")
def half_still() -> Database:
    """Databases in which `s` stays empty of changes, so that its branches are pruned."""
    return Database.of(draw(4, cases=CASES, cycles=CYCLES, still=STILL))


@pytest.fixture(scope="module")
def never_side_by_side() -> Database:
    """Rows for which the raising expression raises only on a pair that never existed."""
    r = {"a": "INTEGER", "b": "INTEGER", "x": "INTEGER", "f": "DOUBLE", "s": "VARCHAR"}
    s = {"a": "INTEGER", "c": "INTEGER", "y": "DECIMAL(10,2)", "k": "BOOLEAN"}
    sources = Sources.of({"r": r, "s": s})
    alone = (9, 1, 5, 0.5, "no number")
    sources.take({"r": {(1, 1, 1, 0.5, "7"): 1, alone: 1}, "s": {(1, 2, None, True): 1}})
    sources.take(
        {
            "r": {(1, 1, 1, 0.5, "7"): -1, (1, 1, 2, 0.5, "7"): 1},
            "s": {(1, 2, None, True): -1, (1, 1, None, True): 1},
        }
    )
    return sources.database


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_broken_rule_is_noticed(mutation: Mutation, request: pytest.FixtureRequest) -> None:
    with broken(mutation):
        assert any(not holds(mutation.law, ALL[name], request) for name in mutation.trees), (
            f"nobody noticed: {mutation.what}"
        )


def test_the_same_laws_hold_when_nothing_is_broken(request: pytest.FixtureRequest) -> None:
    checked = {(mutation.law, name) for mutation in MUTATIONS for name in mutation.trees}
    for law, name in sorted(checked):
        assert holds(law, ALL[name], request), (law, name)


def test_there_are_enough_mutations() -> None:
    assert len(MUTATIONS) >= 40


def holds(law: str, tree: Node, request: pytest.FixtureRequest) -> bool:
    """True when the law holds; an error of the engine or of a check is a notice, too."""
    try:
        if law == "raise":
            return not delta_of(tree, request.getfixturevalue("never_side_by_side"))
        if law == "alone":
            return alone(tree, request.getfixturevalue("databases"))
        if law == "delta":
            return not delta_of(batch(tree), request.getfixturevalue("databases"))
        found = [
            applied(tree, request.getfixturevalue(name)) for name in ("databases", "half_still")
        ]
        return not any(found)
    except (duckdb.Error, IntegrityError):
        return False


def delta_of(root: Node, database: Database) -> Difference:
    database.texts.clear()
    return DeltaLaw.of(root, database.at(1).types_of(root))(database)


def alone(tree: Node, databases: Database) -> bool:
    """The delta law in databases of their own: in a batch, keys of other cases would hide a bug."""
    databases.at(1).texts.clear()
    law = None
    for case in range(ALONE):
        small = one_case(databases, case)
        law = law or DeltaLaw.of(tree, small.types_of(tree))
        if law(small):
            return False
    return True


def applied(tree: Node, database: Database) -> Difference | None:
    database.texts.clear()
    runner = Runner(database.at(0), planned(batched(lowered_tree(tree)), database))
    runner.fill()
    for cycle in range(1, CYCLES + 1):
        database.at(cycle)
        runner.refresh()
        found = runner.difference()
        if found:
            return found
    return None
