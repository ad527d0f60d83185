"""What all terms of a join share is joined once."""

from __future__ import annotations

import pytest

from grebe.compiler.algebra.key_bounds import filled
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import Node, Scan
from grebe.compiler.bind.factor import factored
from grebe.compiler.bind.prune import pruned
from grebe.compiler.delta import rules
from grebe.compiler.lower import Relation, lower

TABLES = {name: Relation(name, (("a", "int"), ("b", "int"))) for name in ("r", "s", "t")}


def change(sql: str, unchanged: str) -> Node:
    root = lower(sql, dialect="spark", sources=TABLES).root
    assert root is not None
    return filled(pruned(rules(Types("spark")).change(root), {unchanged}), {})


def scans(node: Node, table: str) -> int:
    """How often a table is read when the tree is written out."""
    own = isinstance(node, Scan) and node.table == table
    return own + sum(scans(item, table) for item in node.inputs)


@pytest.mark.parametrize("unchanged", ["r", "t"])
def test_a_source_at_the_end_of_a_chain_is_read_once(unchanged: str) -> None:
    chain = "SELECT r.a, t.b FROM r JOIN s ON r.a = s.a JOIN t ON s.b = t.b"
    before = change(chain, unchanged)
    assert scans(before, unchanged) == 2
    assert scans(factored(before), unchanged) == 1
    assert factored(before).columns == before.columns


def test_a_source_in_the_middle_stays_in_every_term() -> None:
    # Without it the two others have nothing in common but a product.
    chain = "SELECT r.a, t.b FROM r JOIN s ON r.a = s.a JOIN t ON s.b = t.b"
    before = change(chain, "s")
    assert factored(before) == before
