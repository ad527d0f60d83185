"""What nothing has to be computed for: rows of deltas and of earlier steps."""

from __future__ import annotations

from grebe.compiler.algebra.nodes import (
    At,
    Distinct,
    Empty,
    Filter,
    Named,
    Node,
    Projection,
    Scan,
    UnionAll,
)


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
