"""Affected keys: the rule for operators that are independent per key and have no cheaper one.

Law: ``d(Q) = Q(new ⋉ K) - Q(old ⋉ K)`` with K the distinct keys (null-safe) of the rows
that changed below, or more keys.
Used for window functions (K: PARTITION BY), top-k (K: its partition) and aggregates without a
linear form (K: GROUP BY).
Needs: both versions of the input, only for the touched keys.
Falls back when: a window function has no PARTITION BY (`window-without-partition`). Without keys
an aggregate or a top-k reads its whole input at both versions.
Example: ``RANK() OVER (PARTITION BY g ORDER BY x)`` -> the touched partitions, ranked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from grebe.compiler.algebra.nodes import Aggregate, Node, TopK, Windowed
from grebe.compiler.algebra.scalar import column
from grebe.compiler.delta.restrict import restrict_columns
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.touch import Touch, Untouchable
from grebe.compiler.delta.weighted import key_name, keys_of, minus, plus, summed


def change(node: Windowed | TopK, of: Rules) -> Node:
    """The touched partitions as they are, minus as they were."""
    return recomputed(node, node.partition, of)


def recomputed(node: Windowed | TopK | Aggregate, names: Sequence[str], of: Rules) -> Node:
    """The operator over the touched keys at the new version, minus the same at the old one."""
    new, old = of.new(node.input), of.old(node.input)
    if names:
        keys = _touched(node.input, names, of)
        new, old = restrict_columns(new, keys, names), restrict_columns(old, keys, names)
    return summed(plus(replace(node, input=new)), minus(replace(node, input=old)))


def _touched(below: Node, names: Sequence[str], of: Rules) -> Node:
    """Keys of the changed rows below; where none can be followed, those of the change itself."""
    outputs = tuple((key_name(name), column(name)) for name in names)
    with suppress(Untouchable):
        return Touch(of, wide=True).keys(below, outputs)
    return keys_of(of.change(below), names)
