"""Joins that keep the rows of their left side: each output row comes from one left row.

Law: ``d(L op S) = (dL + G) op S_new - G op S_old`` for ``op`` a left outer, semi, anti or mark
join, and G the rows of L_old that a change of S may have touched: those with the key of a changed
row of S. Rows of G that turn out the same at both versions cancel.
Where S is groups that a condition picks, few rows of L meet one: then ``dL ⋉ S_new`` is computed
from S_new for the keys that changes of L may have touched, and dL for what is left of those.
Needs: an equality between the sides, a key of S that can be followed from its changed rows; S at
both versions, only for the keys of dL and G.
Falls back when: the condition can raise, or there is no such key: the laws of outer, semi and mark.
Example: ``r LEFT JOIN s ON r.a = s.a`` -> dr and the rows of r_old with a changed key, joined with
s_new, minus the latter joined with s_old.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    Distinct,
    Filter,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    SemiJoin,
    walk,
)
from grebe.compiler.algebra.scalar import Scalar, build, column, conjuncts_of
from grebe.compiler.delta.join import is_risky, links
from grebe.compiler.delta.restrict import Pair, mark_conjuncts, restrict
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.touch import Outputs, Touch, Untouchable
from grebe.compiler.delta.weighted import key_name, plus, reads, summed, weighted

Kept = OuterJoin | SemiJoin | MarkJoin


def change(node: Kept, of: Rules) -> Node | None:
    """The change of the join, or None where the law does not apply."""
    on = mark_conjuncts(node.on) if isinstance(node, MarkJoin) else conjuncts_of(node.on)
    ties = links(node.right.columns, frozenset(node.left.columns), on)
    if not ties or is_risky(node.on, node.inputs, of.types):
        return None
    try:
        keys = Touch(of, wide=True).keys(node.right, _named(theirs for theirs, _ in ties))
    except Untouchable:
        return None
    touched = plus(restrict(of.old(node.left), keys, _pairs(mine for _, mine in ties)))
    changed = of.change(node.left)
    met = _matched_first(node, changed, ties, of)
    arrived = summed(changed, touched) if met is None else touched
    needed = Distinct(Projection(arrived, _named(mine for _, mine in ties)))
    pairs = _pairs(theirs for theirs, _ in ties)
    new, old = (restrict(at(node.right), needed, pairs) for at in (of.new, of.old))
    of.record(node, __name__)
    return summed(
        *filter(None, [met]),
        weighted(replace(node, left=arrived, right=new), node.columns),
        weighted(
            replace(node, left=touched, right=old), node.columns, build("-:w", w=column(WEIGHT))
        ),
    )


def _matched_first(
    node: Kept, changed: Node, ties: Sequence[tuple[Scalar, Scalar]], of: Rules
) -> Node | None:
    """The changed left rows that meet a right one, right side first; None where it is not worth it.

    Groups that a condition has picked are few: rows of the left side are computed for these alone.
    """
    if not _is_picked(node):
        return None
    if not reads(changed) or any(map(_is_picked, walk(node.left))):
        return None  # a nest of them would be computed again and again
    try:
        keys = Touch(of, wide=True).keys(node.left, _named(mine for _, mine in ties))
    except Untouchable:
        return None
    right = restrict(of.new(node.right), keys, _pairs(theirs for theirs, _ in ties))
    few = Distinct(Projection(right, _named(theirs for theirs, _ in ties)))
    left = restrict(changed, few, _pairs(mine for _, mine in ties))
    return weighted(replace(node, left=left, right=right), node.columns)


def _is_picked(node: Node) -> bool:
    return isinstance(node, SemiJoin) and not node.anti and _picks_groups(node.right)


def _picks_groups(node: Node) -> bool:
    match node:
        case Filter(input=Aggregate()):
            return True
        case Filter() | Projection() | Distinct():
            return _picks_groups(node.inputs[0])
    return False


def _named(items: Iterable[Scalar]) -> Outputs:
    return tuple((key_name(f"tie_{place}"), item) for place, item in enumerate(items))


def _pairs(items: Iterable[Scalar]) -> list[Pair]:
    return [(item, name) for name, item in _named(items)]
