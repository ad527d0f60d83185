"""Every operator's delta law on trees built by hand, over thousands of random databases each."""

from __future__ import annotations

import pytest

from compiler.laws.batching import batch, changed_by_batching
from compiler.laws.check import DeltaLaw, report, smallest
from compiler.laws.compositions import check_batch
from compiler.laws.databases import WILD_FLOATS, draw, tables_of
from compiler.laws.engine import Database, one_case
from compiler.laws.plans import batched, lowered_tree
from compiler.laws.trees import GLOBAL, TREES
from evidence import LongRun
from grebe.compiler.algebra.nodes import Node

CASES = 2_000
SINGLE = 200
SHORT = 40
"""Databases of their own in `make test`."""
ALL = {**TREES, **GLOBAL}
ALONE = {name: tree for name, tree in ALL.items() if changed_by_batching(tree)}


WITH_FLOATS = (
    "filter",
    "inner/two",
    "left",
    "full",
    "semi",
    "mark",
    "distinct/float",
    "aggregate/float",
    "window/rank",
    "top-k/per group",
)


@pytest.fixture(scope="module")
def databases() -> Database:
    return Database.of(draw(20_240_101, cases=CASES))


@pytest.mark.parametrize("name", ALL)
def test_law_holds_in_a_batch(databases: Database, name: str) -> None:
    root = batch(ALL[name])
    law = DeltaLaw.of(root, databases.types_of(root))
    found = law(databases)
    if found:
        rows, least = smallest(databases, law, found.cases())
        title = f"{name}: {len(found.cases())} of {CASES} databases"
        pytest.fail(report(title, databases.sql(root), rows, least))


@pytest.mark.parametrize("name", ALONE)
def test_law_holds_one_database_at_a_time(databases: Database, name: str) -> None:
    """The case id would change what these trees mean, or give a join an equality it has not."""
    check_alone(databases, ALONE[name], range(SHORT))


def test_laws_hold_for_nan_infinity_and_minus_zero() -> None:
    """Built and refreshed twice; sums of such floats are compared to nine digits."""
    tables = tables_of(WILD_FLOATS)
    databases = Database.of(draw(41, cases=1_000, cycles=2, tables=tables))
    for name in WITH_FLOATS:
        databases.texts.clear()
        check_batch(databases, name, batched(lowered_tree(TREES[name])), 2)


@pytest.mark.laws
@pytest.mark.timeout(0)
def test_laws_hold_one_database_at_a_time_often(long_run: LongRun) -> None:
    """A seed is 200 databases for every tree: ten seeds are the 2,000 of each."""
    for seed in long_run.seeds():
        databases = Database.of(draw(9_000 + seed, cases=SINGLE))
        for tree in ALONE.values():
            check_alone(databases, tree, range(SINGLE))
            long_run.add(trees=1, databases=SINGLE)


def check_alone(databases: Database, tree: Node, cases: range) -> None:
    law = None
    for case in cases:
        alone = one_case(databases, case)
        law = law or DeltaLaw.of(tree, alone.types_of(tree))
        found = law(alone)
        assert not found, f"case {case}\n{alone.sql(tree)}\n{found}"
