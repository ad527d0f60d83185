"""WHERE, HAVING, QUALIFY: a filter is linear.

Law: ``d(σ_p(R)) = σ_p(dR)``.
Needs: nothing.
Falls back when: never. Before a predicate that can raise, the delta is consolidated: telescoped
joins hold pairs that never existed, and an expression on them may raise where the query does not.
Example: ``SELECT a FROM t WHERE a > 1`` -> the delta of t where a > 1.
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import Filter, Node
from grebe.compiler.algebra.raising import can_raise
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import consolidated


def change(node: Filter, of: Rules) -> Node:
    """The change of the input, filtered."""
    below = of.change(node.input)
    if can_raise(node.predicate.ast, of.types):
        below = consolidated(below)
    return Filter(below, node.predicate)
