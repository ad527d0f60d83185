"""Small questions about trees of nodes that several parts of lowering ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    SemiJoin,
    TopK,
    Unnest,
    Values,
    Windowed,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import Scalar, column, rename
from grebe.compiler.lower.context import Context


def scalars_of(node: Node) -> Iterable[Scalar]:
    """The expressions that one node evaluates over its inputs."""
    match node:
        case Filter():
            return (node.predicate,)
        case Projection():
            return (scalar for _, scalar in node.outputs)
        case InnerJoin():
            return node.on
        case OuterJoin() | SemiJoin() | MarkJoin():
            return (node.on,)
        case Aggregate() | Windowed():
            return (call for _, call in node.calls)
        case Unnest():
            return (node.collection,)
        case Values():
            return (scalar for row in node.rows for scalar in row)
    return ()


def with_names(node: Node, names: Mapping[str, str]) -> Node:
    """The relation with columns that it reads from around it under other names."""
    if not names or not free_columns(node) & set(names):
        return node

    def change(current: Node) -> Node:
        below = rebuilt(current, change)
        match below:
            case Filter():
                return replace(below, predicate=rename(below.predicate, names))
            case Projection():
                outputs = tuple((name, rename(item, names)) for name, item in below.outputs)
                return replace(below, outputs=outputs)
            case InnerJoin():
                return replace(below, on=tuple(rename(item, names) for item in below.on))
            case OuterJoin() | SemiJoin() | MarkJoin():
                return replace(below, on=rename(below.on, names))
            case Aggregate() | Windowed():
                calls = tuple((name, rename(call, names)) for name, call in below.calls)
                return replace(below, calls=calls)
            case Unnest():
                return replace(below, collection=rename(below.collection, names))
        return below

    return change(node)


def free_columns(node: Node) -> frozenset[str]:
    """The columns that a relation reads and does not have: those of the query around it."""
    found: set[str] = set()
    memo: set[str] = set()

    def visit(current: Node) -> None:
        if current.digest in memo:
            return
        memo.add(current.digest)
        have = {name for child in current.inputs for name in child.columns}
        for scalar in scalars_of(current):
            found.update(scalar.columns - have)
        for child in current.inputs:
            visit(child)

    visit(node)
    return frozenset(found)


def exactly(context: Context, node: Node, columns: Sequence[str]) -> Node:
    """The relation with exactly these columns, in this order, each under a name of its own."""
    if node.columns == tuple(columns):
        return node
    outputs: list[tuple[str, Scalar]] = []
    taken: set[str] = set()
    for name in columns:
        own = context.fresh(name) if name in taken else name
        taken.add(own)
        outputs.append((own, column(name)))
    return Projection(node, tuple(outputs))


def at_most_one_row(node: Node) -> bool:
    """True when the relation can never have two rows."""
    match node:
        case Aggregate():
            return not node.keys
        case TopK() if node.limit is not None and node.limit <= 1 and not node.partition:
            return True
        case Projection() | Filter() | Distinct() | Windowed() | TopK():
            return at_most_one_row(node.input)
        case SemiJoin() | MarkJoin():
            return at_most_one_row(node.left)
        case InnerJoin() | OuterJoin():
            partial = isinstance(node, OuterJoin) and node.full
            return not partial and all(at_most_one_row(part) for part in node.inputs)
    return isinstance(node, Values) and len(node.rows) <= 1


def exactly_one_row(node: Node) -> bool:
    """True when the relation always has one row, whatever its sources hold."""
    match node:
        case Aggregate():
            return not node.keys
        case Projection() | Windowed() | Distinct():
            return exactly_one_row(node.input)
        case MarkJoin():
            return exactly_one_row(node.left)
        case InnerJoin():
            return not node.on and all(exactly_one_row(part) for part in node.parts)
        case Values():
            return len(node.rows) == 1
    return False
