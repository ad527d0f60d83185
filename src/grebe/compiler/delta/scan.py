"""Scan of a source.

Law: ``d(scan) = the source's consolidated change feed``.
Needs: the source's window to be readable; nothing is stored.
Falls back when: the window is not readable (expired, replaced, schema changed): engine's business.
Example: ``SELECT a FROM t`` -> the rows of t's delta with their weights.
"""

from __future__ import annotations

from dataclasses import replace

from grebe.compiler.algebra.nodes import At, Empty, Node, Scan, Values
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import plus


def change(node: Scan, _: Rules) -> Node:
    """The delta of the source, the used columns only."""
    return replace(node, at=At.DELTA)


def constant(node: Values | Empty, _: Rules) -> Node:
    """Nothing: constant rows never change."""
    return Empty(plus(node))
