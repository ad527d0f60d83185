"""Stored rows are looked for only where the keys that changed lie.

Law: ``Stored ⋉ K = σ[low ≤ c ≤ high](Stored) ⋉ K`` where c must equal a column of K that holds no
NULL and lies between low and high. The keys are the result of an earlier step, so the range is
known when the step has run, and files of the storage table that lie elsewhere are not opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grebe.compiler.algebra.nodes import Filter, Named, Node, Projection, SemiJoin, Small, Stored
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import Scalar, conjuncts_of, equated

Range = Callable[[str, str, str], Scalar | None]
"""The condition on a stored column that equals a column of a step; None where it is of no use."""


def narrowed(node: Node, range_of: Range) -> Node:
    """The tree with the stored rows filtered before they meet the keys of a step."""
    if isinstance(node, SemiJoin) and isinstance(node.left, Stored) and not node.anti:
        stored: Node = node.left
        for own, step, column in _ties(node):
            condition = range_of(step, column, own)
            stored = stored if condition is None else Filter(stored, condition)
        return SemiJoin(stored, node.right, node.on)
    return rebuilt(node, lambda item: narrowed(item, range_of))


def _ties(node: SemiJoin) -> Iterator[tuple[str, str, str]]:
    """Stored columns that must equal a column of a step: (stored column, step, its column)."""
    for names in filter(None, map(equated, conjuncts_of(node.on))):
        for own, key in (names, names[::-1]):
            found = _step_column(node.right, key)
            if own in node.left.columns and found:
                yield own, *found


def _step_column(keys: Node, name: str) -> tuple[str, str] | None:
    """The step and its column that a column of the keys is a copy of."""
    match keys:
        case Named():
            return (keys.step, name) if name in keys.columns else None
        case Projection():
            item = dict(keys.outputs).get(name)
            return _step_column(keys.input, item.column) if item and item.column else None
        case Filter() | Small():
            return _step_column(keys.input, name)
    return None
