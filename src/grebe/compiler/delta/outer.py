"""LEFT and FULL outer joins with any ON condition (a RIGHT join is a LEFT one, sides exchanged).

A LEFT join with an equality between its sides: see matched. Otherwise:
Law: ``d(L ⟕ S) = d(L ⋈ S) + d(L ▷ S) × NULL``; FULL adds ``NULL × d(S ▷ L)``.
Needs: what the inner and the anti join need. Rows are matched by counts, never by "the right
columns are NULL": preserved rows with NULL keys are rows too.
Falls back when: never.
Example: ``r LEFT JOIN s ON r.a = s.a`` -> the change of the inner join, and NULL-extended rows of
r that lost their last match or got their first.
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import Empty, InnerJoin, Node, OuterJoin, SemiJoin
from grebe.compiler.algebra.scalar import FALSE, conjuncts_of
from grebe.compiler.delta import keyed_joins
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import summed, weighted


def change(node: OuterJoin, of: Rules) -> Node:
    """The change of the matches and of the rows without one."""
    by_key = None if node.full else keyed_joins.change(node, of)
    if by_key is not None:
        return by_key
    parts = [of.change(InnerJoin((node.left, node.right), conjuncts_of(node.on)))]
    parts.append(_unmatched(node, node.left, node.right, of))
    if node.full:
        parts.append(_unmatched(node, node.right, node.left, of))
    return summed(*parts)


def _unmatched(node: OuterJoin, kept: Node, other: Node, of: Rules) -> Node:
    """NULL-extended by an outer join with no rows, which gives the NULLs their types."""
    alone = of.change(SemiJoin(kept, other, node.on, anti=True))
    extended = OuterJoin(alone, Empty(of.new(other)), FALSE)
    return weighted(extended, node.columns)
