"""Every operator's delta law on trees built by hand, over thousands of random databases each."""

from __future__ import annotations

import pytest

from compiler.laws.batching import batch, changed_by_batching
from compiler.laws.check import DeltaLaw, report, smallest
from compiler.laws.databases import draw
from compiler.laws.engine import Database, one_case
from compiler.laws.trees import GLOBAL, TREES
from grebe.compiler.nodes import Node

CASES = 4_000
SINGLE = 200
ALL = {**TREES, **GLOBAL}
ALONE = {name: tree for name, tree in ALL.items() if changed_by_batching(tree)}


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
    check_alone(databases, ALONE[name], range(SINGLE))


@pytest.mark.laws
@pytest.mark.parametrize("name", ALONE)
def test_law_holds_one_database_at_a_time_often(databases: Database, name: str) -> None:
    check_alone(databases, ALONE[name], range(SINGLE, SINGLE * 11))


def check_alone(databases: Database, tree: Node, cases: range) -> None:
    law = None
    for case in cases:
        alone = one_case(databases, case)
        law = law or DeltaLaw.of(tree, alone.types_of(tree))
        found = law(alone)
        assert not found, f"case {case}\n{alone.sql(tree)}\n{found}"
