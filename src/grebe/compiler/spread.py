"""Which side of a join goes to every worker: said by us, because Spark cannot know.

Spark takes the size of a join to be the product of its inputs, so after the first join of a term
it shuffles whole tables to meet a handful of rows. A term starts from a delta, and joins follow
keys: the share of a table that changed is about the share of the join that changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from grebe.compiler.nodes import At, InnerJoin, Node, Scan, SemiJoin, Small, walk
from grebe.compiler.pin import rebuilt
from grebe.compiler.scalar import Scalar

LIMIT: Final = 100_000
"""Rows that are expected at most for a relation to go to every worker."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of each source, and rows that changed in it, by table."""

    rows: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)
    stored: int | None = None
    """Rows of the view's own storage table."""

    def expected(self, node: Node) -> float | None:
        """About how many rows a relation made from deltas has; None when that is not known."""
        share, largest = 0.0, 0
        for scan in walk(node):
            if not isinstance(scan, Scan):
                continue
            rows = self.rows.get(scan.table)
            if rows is None:
                return None
            largest = max(largest, rows)
            if scan.at is At.DELTA:
                changed = self.changed.get(scan.table, 0)
                share = max(share, changed / rows if rows else 1.0)
                largest = max(largest, changed)
        return share * largest if share else None

    def is_small(self, node: Node) -> bool:
        """True when the relation may go to every worker."""
        expected = self.expected(node)
        return expected is not None and expected <= LIMIT


def spread(node: Node, sizes: Sizes, memo: dict[str, Node] | None = None) -> Node:
    """The tree with the small sides of its joins marked."""
    memo = {} if memo is None else memo
    if node.digest not in memo:
        below = rebuilt(node, lambda item: spread(item, sizes, memo))
        memo[node.digest] = _marked(below, sizes)
    return memo[node.digest]


def _marked(node: Node, sizes: Sizes) -> Node:
    match node:
        case InnerJoin() if len(node.parts) > 1:
            return _one_after_the_other(node, sizes)
        case SemiJoin() if sizes.is_small(node.right):
            return replace(node, right=Small(node.right))
    return node


def _one_after_the_other(node: InnerJoin, sizes: Sizes) -> Node:
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
