"""UNION ALL: linear.

Law: ``d(R + S) = dR + dS``.
Needs: nothing.
Falls back when: never.
Example: ``SELECT a FROM r UNION ALL SELECT b FROM s`` -> both deltas, one after the other.
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import WEIGHT, Node, UnionAll
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import weighted


def change(node: UnionAll, of: Rules) -> Node:
    """The changes of all branches."""
    deltas = tuple(weighted(of.change(branch), branch.columns) for branch in node.branches)
    return UnionAll(deltas, (*node.names, WEIGHT))
