"""Small makers of weighted relations that all rules share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grebe.compiler.algebra.nodes import (
    WEIGHT,
    At,
    Consolidate,
    Distinct,
    Empty,
    Filter,
    Node,
    Projection,
    Scan,
    SemiJoin,
    UnionAll,
    walk,
)
from grebe.compiler.algebra.scalar import Scalar, column, number
from grebe.sql_text import made

SIDE: Final = made("side")


def weighted(node: Node, columns: Sequence[str], weight: Scalar | None = None) -> Node:
    """The named columns and a weight: the node's own one unless another is given."""
    if weight is None and node.columns == (*columns, WEIGHT):
        return node
    outputs = (*((name, column(name)) for name in columns), (WEIGHT, weight or column(WEIGHT)))
    return Projection(node, outputs)


def plus(node: Node) -> Node:
    """Every row as an insertion."""
    return weighted(node, node.columns, number(1))


def minus(node: Node) -> Node:
    """Every row as a deletion."""
    return weighted(node, node.columns, number(-1))


def summed(*deltas: Node) -> Node:
    """The sum of deltas over the same columns."""
    return deltas[0] if len(deltas) == 1 else UnionAll(deltas, deltas[0].columns)


def with_side(node: Node, side: int) -> Node:
    """The rows with the side that they are of: 0 the new version, 1 the change."""
    outputs = ((name, column(name)) for name in node.columns)
    return Projection(node, (*outputs, (SIDE, number(side))))


def is_consolidated(node: Node) -> bool:
    """True when no two rows of the delta are equal but for their weights."""
    match node:
        case Scan(at=At.DELTA) | Consolidate() | Empty():
            return True
        case Filter() | SemiJoin():
            return is_consolidated(node.inputs[0])
        case Projection():
            kept = {item.column for _, item in node.outputs}
            return kept >= set(node.input.columns) and is_consolidated(node.input)
    return False


def consolidated(node: Node) -> Node:
    """The delta with equal rows added up."""
    return node if is_consolidated(node) else Consolidate(node)


def keys_of(delta: Node, names: Sequence[str]) -> Node:
    """The distinct values of some columns in a delta, each under its name with a mark.

    Summed first: a row that came and went inside the window touches nothing.
    """
    outputs = tuple((key_name(name), column(name)) for name in names)
    return Distinct(Projection(consolidated(delta), outputs))


def reads(node: Node) -> int:
    """How often versions of sources are read for a tree whose shared parts are computed once."""
    return sum(
        isinstance(below, Scan) and below.at is not At.DELTA
        for item in walk(node)
        for below in item.inputs
    )


def key_name(name: str) -> str:
    """The name of a key column: never the name of a column that it restricts."""
    return made(f"key_{name}")
