"""LATERAL VIEW, UNNEST, explode: row by row, so linear.

Law: ``d(unnest(R)) = unnest(dR)``, every element with its row's weight.
Needs: nothing.
Falls back when: never.
Example: ``SELECT id, e FROM t LATERAL VIEW explode(items) AS e`` -> the delta of t, exploded.
"""

from __future__ import annotations

from dataclasses import replace

from grebe.compiler.algebra.nodes import Node, Unnest
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import consolidated, weighted


def change(node: Unnest, of: Rules) -> Node:
    """The change of the input, unnested."""
    return weighted(replace(node, input=consolidated(of.change(node.input))), node.columns)
