"""Deltas that a plan uses more than once become steps of their own, computed once.

An engine that writes a shared relation out wherever it is read (Spark does) would compute it again
each time, and a nest of outer joins would grow exponentially. A delta is small, so keeping it
costs little; relations that hold a whole source are never kept.

On Spark, a delta that its optimizer cannot take inside a larger statement is a step, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    At,
    Consolidate,
    Distinct,
    Empty,
    Filter,
    MarkJoin,
    Named,
    Node,
    Projection,
    Repeat,
    Scan,
    UnionAll,
    walk,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.plan.spark_marks import shows_marks
from grebe.compiler.write.steps import Compute, Step


def staged(steps: Sequence[Step], dialect: str) -> tuple[Step, ...]:
    """The steps with every shared delta computed once, before the step that first reads it."""
    uses = _uses(steps)
    kept: dict[str, Named] = {}
    result: list[Step] = []
    marked = dialect == "spark" and any(
        isinstance(node, MarkJoin) for step in steps for node in walk(step.node)
    )
    for step in steps:
        for node in walk(step.node):
            shared = uses[node.digest] > 1 and _is_worth_keeping(_with_named(node, kept))
            apart = marked and _must_stand_alone(node, kept)
            if node.digest not in kept and (shared or apart):
                name = f"shared_{len(kept) + 1}"
                result.append(Compute(name, _with_named(node, kept)))
                kept[node.digest] = Named(name, node.columns)
        result.append(replace(step, node=_with_named(step.node, kept)))
    return tuple(result)


def _must_stand_alone(node: Node, kept: dict[str, Named]) -> bool:
    """True for a delta whose statement Spark can optimize only by itself."""
    if not isinstance(node, UnionAll) or WEIGHT not in node.columns:
        return False
    return shows_marks(_with_named(node, kept))


def _uses(steps: Sequence[Step]) -> Counter[str]:
    """How often each relation would be written out."""
    uses: Counter[str] = Counter()
    seen: set[str] = set()
    stack = [step.node for step in steps]
    while stack:
        node = stack.pop()
        uses[node.digest] += 1
        if node.digest in seen:
            continue
        seen.add(node.digest)
        if isinstance(node, Empty):
            continue
        stack.extend(node.inputs)
        if isinstance(node, MarkJoin):
            stack.append(node.right)
    return uses


def _with_named(node: Node, kept: dict[str, Named]) -> Node:
    if node.digest in kept:
        return kept[node.digest]
    return rebuilt(node, lambda item: _with_named(item, kept))


def _is_worth_keeping(node: Node) -> bool:
    """True for a delta, or what was made from one alone, that takes more than reading to get."""
    top = node
    while isinstance(top, (Filter, Projection)):
        top = top.input
    is_small = WEIGHT in node.columns or isinstance(top, (Distinct, Aggregate))
    return is_small and not _is_cheap(node) and _comes_from_change(node)


def _is_cheap(node: Node) -> bool:
    match node:
        case Scan() | Named():
            return True
        case Filter() | Projection() | Consolidate() | Repeat() | Distinct():
            return _is_cheap(node.input)
        case UnionAll():
            return all(_is_cheap(branch) for branch in node.branches)
    return False


def _comes_from_change(node: Node) -> bool:
    return any(
        isinstance(item, Named) or (isinstance(item, Scan) and item.at is At.DELTA)
        for item in walk(node)
    )
