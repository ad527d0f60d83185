"""How many rows a relation made from deltas will have: from metadata, never from reading rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grebe import thresholds
from grebe.compiler.algebra.nodes import At, Node, Scan, SemiJoin, walk
from grebe.compiler.algebra.scalar import conjuncts_of, equated


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
        return expected is not None and expected <= thresholds.BROADCAST_ROWS
