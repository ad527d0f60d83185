"""A few stored groups are read whole: one pass instead of two, when there are not many.

The plan reads the touched groups by their keys, and for that it keeps the change as a step of its
own. Where all stored rows are few, that is one more round trip than it is worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from grebe import thresholds
from grebe.compiler.algebra.nodes import Named, Node, SemiJoin, Stored
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.bind.situation import Situation, Steps
from grebe.compiler.plan.refresh_plan import Strategy
from grebe.compiler.write.steps import Compute, Step


def read_state_whole(steps: Steps, situation: Situation) -> Steps:
    """The steps with all stored groups read, where those are few."""
    stored = situation.facts.sizes.stored
    if situation.plan.strategy is not Strategy.GROUPS or stored is None:
        return steps
    return read_whole(steps) if stored <= thresholds.WHOLE_STATE_ROWS else steps


def read_whole(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with stored rows read whole, and steps that are then read once written in place."""
    loose = [replace(step, node=_loosened(step.node)) for step in steps]
    uses = Counter(
        node.step for step in loose for node in _occurrences(step.node) if isinstance(node, Named)
    )
    kept: dict[str, Node] = {}
    result: list[Step] = []
    for step in loose:
        node = _inlined(step.node, kept)
        if isinstance(step, Compute) and uses[step.name] == 1:
            kept[step.name] = node
        else:
            result.append(replace(step, node=node))
    return tuple(result)


def _loosened(node: Node) -> Node:
    if isinstance(node, SemiJoin) and isinstance(node.left, Stored) and not node.anti:
        return node.left
    return rebuilt(node, _loosened)


def _occurrences(node: Node) -> list[Node]:
    """The nodes as they are written out: what two others read counts twice."""
    return [node, *(below for item in node.inputs for below in _occurrences(item))]


def _inlined(node: Node, kept: dict[str, Node]) -> Node:
    if isinstance(node, Named):
        return kept.get(node.step, node)
    return rebuilt(node, lambda item: _inlined(item, kept))
