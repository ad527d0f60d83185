"""The stored rows that a refresh may replace: read once, with their row ids, and kept.

Every strategy compares the stored rows of some keys with what they should be, and later finds the
same rows again to delete them. A program reads them once, before their values are cast, so that a
large view costs one scan of its keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grebe.compiler.algebra.nodes import Named, Node, Projection, SemiJoin, Stored, walk
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.write.steps import Compute, Step

HELD = "held"
"""The step that keeps the rows."""
ROW_ID = "__grebe_id"
_CHANGED = "changed"


def holding(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with the stored rows of the touched keys as a step of its own, if there are any."""
    found = {semi.digest: semi for step in steps for semi in _readings(step.node)}
    if len(found) != 1:
        return tuple(steps)
    (semi,) = found.values()
    known: dict[str, Node] = {}
    made: list[Step] = []
    keys = semi.right.input if isinstance(semi.right, Projection) else semi.right
    if not isinstance(keys, Named):
        known[keys.digest] = Named(_CHANGED, keys.columns)
        made.append(Compute(_CHANGED, keys))
    with_id = Stored((*semi.left.columns, ROW_ID))
    made.append(Compute(HELD, SemiJoin(with_id, _known(semi.right, known), semi.on)))
    known[semi.digest] = Named(HELD, semi.columns)
    first = next(n for n, step in enumerate(steps) if _readings(step.node))
    rest = [replace(step, node=_known(step.node, known)) for step in steps[first:]]
    return (*steps[:first], *made, *rest)


def _readings(root: Node) -> list[SemiJoin]:
    """The places where stored rows are found by their keys."""
    return [
        node
        for node in walk(root)
        if isinstance(node, SemiJoin) and isinstance(node.left, Stored) and not node.anti
    ]


def _known(node: Node, known: dict[str, Node]) -> Node:
    if node.digest in known:
        return known[node.digest]
    return rebuilt(node, lambda item: _known(item, known))
