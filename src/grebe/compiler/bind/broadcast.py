"""Which side of a join goes to every worker: said by us, because Spark cannot know.

Spark takes the size of a join to be the product of its inputs, so after the first join of a term
it shuffles whole tables to meet a handful of rows. A term starts from a delta, and joins follow
keys: the share of a table that changed is about the share of the join that changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grebe.compiler.algebra.nodes import (
    Distinct,
    Filter,
    InnerJoin,
    Node,
    Projection,
    SemiJoin,
    Small,
    UnionAll,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.bind.at_hand import is_at_hand
from grebe.compiler.bind.situation import Situation, Steps
from grebe.compiler.bind.sizes import SideSizes


def mark_small_sides(steps: Steps, situation: Situation) -> Steps:
    """The steps with the small sides of their joins marked."""
    sizes = situation.facts.sizes
    return tuple(replace(step, node=spread(step.node, sizes)) for step in steps)


def spread(node: Node, sizes: SideSizes, memo: dict[str, Node] | None = None) -> Node:
    """The tree with the small sides of its joins marked."""
    memo = {} if memo is None else memo
    if node.digest not in memo:
        below = rebuilt(node, lambda item: spread(item, sizes, memo))
        memo[node.digest] = _marked(below, sizes)
    return memo[node.digest]


def _marked(node: Node, sizes: SideSizes) -> Node:
    match node:
        case InnerJoin() if len(node.parts) > 1:
            return _one_after_the_other(node, sizes)
        case SemiJoin():
            right = _with_copies(node.right) if is_at_hand(node.right) else node.right
            small = sizes.is_small(right)
            return replace(node, right=Small(right) if small else right)
    return node


def _with_copies(node: Node) -> Node:
    """Keys to be met: that some occur twice makes no difference, and is not worth a shuffle."""
    match node:
        case Distinct():
            return _with_copies(node.input)
        case UnionAll() | Projection() | Filter():
            return rebuilt(node, _with_copies)
    return node


def _one_after_the_other(node: InnerJoin, sizes: SideSizes) -> Node:
    """The join as a chain whose left side is marked for as long as it stays small."""
    joined, waiting = node.parts[0], list(node.on)
    for place, part in enumerate(node.parts[1:], start=1):
        if not sizes.is_small(joined):
            return InnerJoin((joined, *node.parts[place:]), tuple(waiting))
        bound = {*joined.columns, *part.columns}
        ready = tuple(item for item in waiting if item.columns <= bound)
        waiting = _without(waiting, ready)
        joined = InnerJoin((Small(joined), part), ready)
    return joined


def _without(items: Sequence[Scalar], taken: Sequence[Scalar]) -> list[Scalar]:
    return [item for item in items if item not in taken]
