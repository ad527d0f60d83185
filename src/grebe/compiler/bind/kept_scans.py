"""Which scans are given the rows near a change, kept on the driver, instead of the table.

`scan_limits` has told each scan which rows are enough for it. Where several need the same few rows of
a large source, one read of just those serves them all.
"""

from __future__ import annotations

from dataclasses import replace

from grebe import thresholds
from grebe.compiler.algebra.nodes import Node, Scan
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.bind.known import Known, NearFigures
from grebe.compiler.write.steps import Step


def keep_scans(step: Step, known: Known) -> tuple[Step, ...]:
    """A step whose scans say whether they read kept rows."""
    return (replace(step, node=_kept(step.node, known, {})),)


def is_kept(figures: NearFigures | None) -> bool:
    """True when few rows of a large source are expected, and somebody else needs them too."""
    if figures is None or (figures.scans < thresholds.KEPT_SCANS and not figures.is_shared):
        return False
    rows = figures.rows
    if rows is None or rows < thresholds.KEPT_SOURCE_ROWS or not figures.is_plain:
        return False
    if figures.keys is None:
        return False
    # No more different values than there are numbers in their range: so many rows at least for each.
    expected = figures.keys * max(1.0, rows / (figures.width or max(1, rows)))
    return expected <= min(thresholds.KEPT_ROWS, rows / thresholds.KEPT_SHARE)


def _kept(node: Node, known: Known, memo: dict[str, Node]) -> Node:
    if node.digest not in memo:
        memo[node.digest] = (
            _scan(node, known)
            if isinstance(node, Scan)
            else rebuilt(node, lambda item: _kept(item, known, memo))
        )
    return memo[node.digest]


def _scan(node: Scan, known: Known) -> Scan:
    if node.near is None or not is_kept(known.near(node, node.near)):
        return node
    return replace(node, near=replace(node.near, kept=True))
