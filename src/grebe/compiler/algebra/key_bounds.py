"""Key bounds: literal ranges that let a scan skip files, filled in once the deltas are known.

A join term reads its other parts only at the keys of its delta. Which keys those are is known
when the delta is; so the plan holds a place for "this column lies within the bounds of that
column of that source's delta", and `bind` puts literals there, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from grebe.compiler.algebra.nodes import (
    At,
    Consolidate,
    Distinct,
    Filter,
    InnerJoin,
    Node,
    Projection,
    Repeat,
    Scan,
    SemiJoin,
    Unnest,
    walk,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import TRUE, Scalar, build
from grebe.sql_text import made

WITHIN = made("within")
"""``__grebe_within(column, 'table', 'source column')``: a place for a range."""

Parameter = tuple[str, str]
"""A source and one of its columns, whose smallest and largest value in the delta are wanted."""

Bounds = Mapping[Parameter, tuple[Scalar, Scalar]]


def bounded(part: Node, links: Iterable[tuple[Scalar, Scalar]], delta: Node) -> Node:
    """The part with a place for the range of each column that an equality ties to the delta."""
    for mine, theirs in links:
        source = origin(delta, theirs.column)
        if mine.column and source and source[0].at is At.DELTA and origin(part, mine.column):
            place = exp.Anonymous(
                this=WITHIN,
                expressions=[
                    mine.copy(),
                    exp.Literal.string(source[0].table),
                    exp.Literal.string(source[1]),
                ],
            )
            part = Filter(part, Scalar.of(place))
    return part


def origin(node: Node, name: str | None) -> tuple[Scan, str] | None:
    """The scan and the table's column that a column is nothing but a copy of."""
    match node:
        case Scan():
            source = dict(node.pairs).get(name or "")
            return (node, source) if source else None
        case Projection():
            item = dict(node.outputs).get(name or "")
            return origin(node.input, item.column) if item else None
        case Filter() | Consolidate() | Repeat() | Distinct() | Unnest():
            return origin(node.input, name)
        case SemiJoin():
            return origin(node.left, name)
        case InnerJoin():
            return next((origin(part, name) for part in node.parts if name in part.columns), None)
    return None


def parameters(nodes: Iterable[Node]) -> tuple[Parameter, ...]:
    """The bounds that some trees have a place for."""
    found: dict[Parameter, None] = {}
    for root in nodes:
        for node in walk(root):
            parameter = _parameter(node)
            if parameter:
                found[parameter] = None
    return tuple(sorted(found))


def ranges(nodes: Iterable[Node]) -> dict[Parameter, tuple[tuple[str, str], ...]]:
    """For each parameter, the tables and columns that its range would filter."""
    found: dict[Parameter, dict[tuple[str, str], None]] = {}
    for root in nodes:
        for node in walk(root):
            parameter = _parameter(node)
            if parameter and isinstance(node, Filter):
                filtered = origin(node.input, node.predicate.ast.expressions[0].name)
                if filtered:
                    place = (filtered[0].table, filtered[1])
                    found.setdefault(parameter, {})[place] = None
    return {parameter: tuple(places) for parameter, places in sorted(found.items())}


def _parameter(node: Node) -> Parameter | None:
    if isinstance(node, Filter):
        tree = node.predicate.ast
        if isinstance(tree, exp.Anonymous) and tree.name == WITHIN:
            return tree.expressions[1].name, tree.expressions[2].name
    return None


def filled(node: Node, bounds: Bounds, memo: dict[str, Node] | None = None) -> Node:
    """The tree with every place filled by its range, or removed when there is none."""
    memo = {} if memo is None else memo
    if node.digest not in memo:
        below = rebuilt(node, lambda item: filled(item, bounds, memo))
        memo[node.digest] = _filled(below, bounds)
    return memo[node.digest]


def _filled(node: Node, bounds: Bounds) -> Node:
    parameter = _parameter(node)
    if parameter is None or not isinstance(node, Filter):
        return node
    low, high = bounds.get(parameter, (TRUE, TRUE))
    if low == TRUE:
        return node.input
    subject = Scalar.of(node.predicate.ast.expressions[0].copy())
    within = build(":x BETWEEN :low AND :high", x=subject, low=low, high=high)
    return replace(node, predicate=within)
