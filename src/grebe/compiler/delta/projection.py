"""SELECT list: a projection is linear.

Law: ``d(π(R)) = π(dR)``, weights kept.
Needs: deterministic expressions (an allow-list in `lower`).
Falls back when: never. Before an expression that can raise, the delta is consolidated (see filter).
Example: ``SELECT a + 1 AS b FROM t`` -> a + 1 and the weight from the delta of t.
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import WEIGHT, Node, Projection
from grebe.compiler.algebra.raising import can_raise
from grebe.compiler.algebra.scalar import column
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import consolidated


def change(node: Projection, of: Rules) -> Node:
    """The change of the input, projected."""
    below = of.change(node.input)
    if any(can_raise(item.ast, of.types) for _, item in node.outputs):
        below = consolidated(below)
    return Projection(below, (*node.outputs, (WEIGHT, column(WEIGHT))))
