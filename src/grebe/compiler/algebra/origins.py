"""Where a column gets its type from, followed down through everything that hands columns on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    Scan,
    SemiJoin,
    TopK,
    Windowed,
)
from grebe.compiler.algebra.scalar import Scalar, column, likeness


@dataclass(frozen=True, slots=True)
class Origin:
    """An expression over the input of ``node``, or a column that ``node`` makes."""

    node: Node
    value: Scalar

    @property
    def is_scan(self) -> bool:
        """True for a column of a source."""
        return isinstance(self.node, Scan)


def origin(node: Node, name: str) -> Origin:
    """The literal or the column that gives a column its type."""
    match node:
        case Projection():
            item = likeness(dict(node.outputs)[name])
            if item.is_literal:
                return Origin(node, item)
            return origin(node.input, item.column) if item.column else Origin(node, column(name))
        case Filter() | Distinct() | TopK():
            return origin(node.input, name)
        case InnerJoin() | OuterJoin() | SemiJoin():
            return _among(node.inputs, name)
        case MarkJoin() | Windowed() | Aggregate():
            passed = name in _passed(node)
            return _among(node.inputs, name) if passed else Origin(node, column(name))
    return Origin(node, column(name))


def _among(parts: Sequence[Node], name: str) -> Origin:
    return next(origin(part, name) for part in parts if name in part.columns)


def _passed(node: MarkJoin | Windowed | Aggregate) -> Sequence[str]:
    """The columns that an operator hands on, besides those that it makes."""
    return node.keys if isinstance(node, Aggregate) else node.inputs[0].columns
