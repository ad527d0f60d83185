"""Which side of a join goes to every worker: said by us, because Spark cannot know.

Spark takes the size of a join to be the product of its inputs, so after the first join of a term
it shuffles whole tables to meet a handful of rows. A term starts from a delta, and joins follow
keys: the share of a table that changed is about the share of the join that changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from grebe.compiler.algebra.nodes import (
    At,
    Distinct,
    Empty,
    Filter,
    InnerJoin,
    Named,
    Node,
    Projection,
    Scan,
    SemiJoin,
    Small,
    UnionAll,
    walk,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import Scalar, conjuncts_of, equated

LIMIT: Final = 100_000
"""Rows that are expected at most for a relation to go to every worker."""


@dataclass(frozen=True, slots=True)
class SideSizes:
    """Rows of each source, and rows that changed in it, by table."""

    rows: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)
    stored: int | None = None
    """Rows of the view's own storage table."""
    widths: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """For integer columns, by table and column, how many different values there can be at most."""

    def expected(self, node: Node) -> float | None:
        """About how many rows a relation made from deltas has; None when that is not known."""
        rough = self._rough(node)
        if rough is None:
            return None
        semi = (item for item in walk(node) if isinstance(item, SemiJoin) and not item.anti)
        return max([rough, *(self._repeated(item) for item in semi)])

    def _repeated(self, node: SemiJoin) -> float:
        """At least so many rows of a source have one of some keys: values that occur often."""
        scan, keys = node.left, self._rough(node.right)
        if not isinstance(scan, Scan) or keys is None:
            return 0.0
        pairs, rows = dict(scan.pairs), self.rows.get(scan.table, 0)
        tied = [name for item in conjuncts_of(node.on) for name in equated(item) or ()]
        widths = [
            self.widths[scan.table, pairs[name]]
            for name in tied
            if name in pairs and (scan.table, pairs[name]) in self.widths
        ]
        return keys * rows / max(widths) if widths and len(widths) == len(tied) / 2 else 0.0

    def _rough(self, node: Node) -> float | None:
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


def is_at_hand(node: Node) -> bool:
    """True for rows of deltas and of earlier steps, which nothing has to be computed for."""
    match node:
        case Named() | Scan(at=At.DELTA) | Empty():
            return True
        case Filter() | Projection() | Distinct():
            return is_at_hand(node.input)
        case UnionAll():
            return all(is_at_hand(branch) for branch in node.branches)
    return False


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
