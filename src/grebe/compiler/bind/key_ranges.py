"""Rows are looked for only where the keys that changed lie.

Of sources: the plan left a place for the range of a delta's keys (`algebra/key_bounds.py`), which is
known when the delta is read. Of stored rows, where the keys are the result of an earlier step:
Law: ``Stored ⋉ K = σ[low ≤ c ≤ high](Stored) ⋉ K`` where c must equal a column of K that holds no
NULL and lies between low and high. The range is known when that step has run, and files of the
storage table that lie elsewhere are not opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from grebe.compiler.algebra.key_bounds import filled
from grebe.compiler.algebra.nodes import Filter, Named, Node, Projection, SemiJoin, Small, Stored
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import Scalar, conjuncts_of, equated
from grebe.compiler.bind.known import Known
from grebe.compiler.bind.situation import Situation, Steps
from grebe.compiler.write.steps import Compute, Step

Range = Callable[[str, str, str], Scalar | None]
"""The condition on a stored column that equals a column of a step; None where it is of no use."""


def fill_key_bounds(steps: Steps, situation: Situation) -> Steps:
    """The steps with the ranges of the deltas' keys in their places."""
    bounds = situation.facts.bounds
    return tuple(replace(step, node=filled(step.node, bounds)) for step in steps)


def narrow_stored(step: Step, known: Known) -> tuple[Step, ...]:
    """A step that reads stored rows by keys of an earlier one, in their range."""
    if not isinstance(step, Compute):
        return (step,)
    return (replace(step, node=narrowed(step.node, known.range_of)),)


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
