"""What is left of a tree when some sources did not change: empty branches are dropped.

Pure and exact: a scan of an unchanged source reads the same rows at both versions, and its delta
has none. Everything else follows from the algebra of the empty relation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    At,
    Consolidate,
    Distinct,
    Empty,
    Filter,
    InnerJoin,
    MarkJoin,
    Named,
    Node,
    OuterJoin,
    Projection,
    Repeat,
    Scan,
    SemiJoin,
    SetKind,
    SetOperation,
    Small,
    TopK,
    UnionAll,
    Unnest,
    Windowed,
    walk,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import number
from grebe.compiler.bind.at_hand import is_at_hand
from grebe.compiler.bind.known import Known
from grebe.compiler.bind.situation import Situation, Steps
from grebe.compiler.write.steps import AppendStep, CheckStep, Compute, MergeStep, Step


def drop_unchanged(steps: Steps, situation: Situation) -> Steps:
    """The steps without what unchanged sources leave empty.

    A relation that nothing has to be computed for is written into those that read it.
    """
    unchanged = situation.facts.unchanged
    if unchanged.issuperset(situation.plan.tables):
        return ()
    known: dict[str, Node] = {}
    left: list[Step] = []
    for step in steps:
        node = pruned(step.node, unchanged, known)
        if isinstance(step, Compute) and is_at_hand(node):
            known[Named(step.name, step.node.columns).digest] = node
        elif not isinstance(node, Empty):
            left.append(replace(step, node=node))
    return tuple(left)


def stop_without_writes(steps: Steps, situation: Situation) -> Steps:
    """No step at all where nothing would be written: no row of the view changes."""
    del situation
    return () if all(isinstance(step, (Compute, CheckStep)) for step in steps) else steps


def pruned(node: Node, unchanged: Collection[str], memo: dict[str, Node] | None = None) -> Node:
    """The tree without the branches that unchanged sources make empty.

    ``memo`` holds what is known already: a step that turned out empty is put there by its digest.
    """
    memo = {} if memo is None else memo
    if node.digest not in memo:
        below = rebuilt(node, lambda item: pruned(item, unchanged, memo))
        memo[node.digest] = _simplified(below, unchanged)
    return memo[node.digest]


def drop_empty(step: Step, known: Known) -> tuple[Step, ...]:
    """A step without the branches that earlier ones left empty; none where nothing is left to do."""
    empty = {
        item.step
        for item in walk(step.node)
        if isinstance(item, Named) and known.is_empty(item.step)
    }
    left = replace(step, node=without_empty(step.node, empty))
    writes = isinstance(left, (CheckStep, AppendStep, MergeStep))
    return () if writes and isinstance(left.node, Empty) else (left,)


def without_empty(node: Node, empty: Collection[str]) -> Node:
    """The tree without the branches that some steps leave empty, by their names."""
    named = (item for item in walk(node) if isinstance(item, Named) and item.step in empty)
    known: dict[str, Node] = {item.digest: Empty(item) for item in named}
    return pruned(node, (), known) if known else node


def _simplified(node: Node, unchanged: Collection[str]) -> Node:
    match node:
        case Scan() if node.table in unchanged:
            return _unchanged_scan(node)
        case SemiJoin():
            return _semi(node)
        case UnionAll():
            return _union(node)
    return Empty(node) if _has_no_rows(node) else node


def _has_no_rows(node: Node) -> bool:
    """True when the inputs alone say that nothing comes out."""
    empty = [isinstance(item, Empty) for item in node.inputs]
    match node:
        case (
            Filter() | Projection() | Consolidate() | Repeat() | Distinct() | Windowed() | Unnest()
        ):
            return empty[0]
        case TopK() | MarkJoin() | Small():
            return empty[0]
        case Aggregate():
            return empty[0] and bool(node.keys)
        case InnerJoin():
            return any(empty)
        case OuterJoin():
            return empty[0] and (empty[1] or not node.full)
        case SetOperation():
            return _set_operation_is_empty(node.kind, *empty)
    return False


def _unchanged_scan(node: Scan) -> Node:
    if node.at is At.DELTA:
        return Empty(node)
    return replace(node, at=At.NEW) if node.at is At.OLD else node


def _semi(node: SemiJoin) -> Node:
    if isinstance(node.left, Empty):
        return Empty(node)
    if isinstance(node.right, Empty):
        return node.left if node.anti else Empty(node)
    return node


def _union(node: UnionAll) -> Node:
    full = _uncancelled([item for item in node.branches if not isinstance(item, Empty)])
    if not full:
        return Empty(node)
    if len(full) == 1 and full[0].columns == node.names:
        return full[0]
    return node if len(full) == len(node.branches) else UnionAll(full, node.names)


def _uncancelled(branches: Sequence[Node]) -> tuple[Node, ...]:
    """The branches without pairs of the same rows that come and go."""
    left = list(branches)
    for branch in branches:
        opposite = _opposite(branch)
        if branch in left and opposite in left:
            left.remove(branch)
            left.remove(opposite)
    return tuple(left)


def _opposite(branch: Node) -> Node | None:
    """The same rows as deletions, of rows that are all insertions."""
    if not isinstance(branch, Projection) or dict(branch.outputs).get(WEIGHT) != number(1):
        return None
    gone = ((name, number(-1) if name == WEIGHT else item) for name, item in branch.outputs)
    return Projection(branch.input, tuple(gone))


def _set_operation_is_empty(kind: SetKind, left: bool, right: bool) -> bool:
    if kind is SetKind.UNION:
        return left and right
    if kind in (SetKind.INTERSECT, SetKind.INTERSECT_ALL):
        return left or right
    return left
