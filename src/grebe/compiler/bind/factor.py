"""What all terms of a join share is joined once, after their sum.

Law: ``Σ (X_i ⋈ C) = (Σ X_i) ⋈ C``. A source that did not change stands in every term of a
telescoped join; only when the deltas are known is it known which one that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grebe.compiler.algebra.nodes import InnerJoin, Node, Projection, UnionAll
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import Scalar, passed
from grebe.compiler.bind.situation import Situation, Steps


def factor_terms(steps: Steps, situation: Situation) -> Steps:
    """The steps with common parts of joined terms joined once."""
    del situation
    return tuple(replace(step, node=factored(step.node)) for step in steps)


def factored(node: Node, memo: dict[str, Node] | None = None) -> Node:
    """The tree with common parts of joined terms taken out of their sum."""
    memo = {} if memo is None else memo
    if node.digest not in memo:
        below = rebuilt(node, lambda item: factored(item, memo))
        memo[node.digest] = _factored(below) if isinstance(below, UnionAll) else below
    return memo[node.digest]


def _factored(node: UnionAll) -> Node:
    terms = [term for term in map(_term, node.branches) if term is not None]
    if len(terms) < max(2, len(node.branches)) or not _alike(terms):
        return node
    joins = [join for join, _ in terms]
    first, outputs = terms[0]
    common = [part for part in first.parts if all(part in join.parts for join in joins)]
    rests = [[part for part in join.parts if part not in common] for join in joins]
    if not common or not all(_is_connected(rest, first.on) for rest in rests):
        return node
    names = tuple(name for part in rests[0] for name in part.columns)
    inside = tuple(item for item in first.on if item.columns <= set(names))
    sums = tuple(Projection(_joined(rest, inside), passed(names)) for rest in rests)
    outside = tuple(item for item in first.on if item not in inside)
    return Projection(InnerJoin((UnionAll(sums, names), *common), outside), outputs)


def _term(node: Node) -> tuple[InnerJoin, tuple[tuple[str, Scalar], ...]] | None:
    if isinstance(node, Projection) and isinstance(node.input, InnerJoin):
        return node.input, node.outputs
    return None


def _alike(terms: Sequence[tuple[InnerJoin, tuple[tuple[str, Scalar], ...]]]) -> bool:
    """True when the terms differ in their parts alone."""
    join, outputs = terms[0]
    return all(
        set(other.on) == set(join.on)
        and shown == outputs
        and set(other.columns) == set(join.columns)
        for other, shown in terms[1:]
    )


def _is_connected(parts: Sequence[Node], on: Sequence[Scalar]) -> bool:
    """True when conditions tie the parts together: a sum of products would be a loss."""
    if not parts:
        return False
    bound, waiting = set(parts[0].columns), list(parts[1:])
    while waiting:
        tied = [part for part in waiting if _is_tied(set(part.columns), bound, on)]
        if not tied:
            return False
        bound.update(name for part in tied for name in part.columns)
        waiting = [part for part in waiting if part not in tied]
    return True


def _is_tied(own: set[str], bound: set[str], on: Sequence[Scalar]) -> bool:
    return any(
        item.columns & own and item.columns & bound and item.columns <= own | bound for item in on
    )


def _joined(parts: Sequence[Node], on: tuple[Scalar, ...]) -> Node:
    return parts[0] if len(parts) == 1 and not on else InnerJoin(tuple(parts), on)
