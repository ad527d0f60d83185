"""What is provable of a node, from the definition and the known types alone.

*Noise*: a value that depends on the order in which rows were added up (a float sum) is not the
same when it is computed again. Such a value must never identify a row: above it there is no
arithmetic on state and no deletion by value. The fact is inherited by everything above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.function_names import SINGLE
from grebe.compiler.algebra.functions import aggregate_kind
from grebe.compiler.algebra.known_types import Types
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
    SetOperation,
    TopK,
    UnionAll,
    Unnest,
    Values,
    Windowed,
    walk,
)
from grebe.compiler.algebra.scalar import Scalar

_EXACT_KINDS: Final = frozenset(
    {"count", "min", "max", "bool", "bit", "percentile", "ordered collection", "by"}
)
_SUMMING: Final = frozenset({"sum", "avg", "statistic"})
_MONOTONE: Final = (Scan, Values, Filter, Projection, InnerJoin, UnionAll, Unnest)


@dataclass(frozen=True, slots=True)
class Noise:
    """Columns whose values depend on order, and whether the very rows do."""

    columns: frozenset[str] = frozenset()
    rows: bool = False
    misused: tuple[Node, ...] = ()
    """Operators that would let such a value decide which rows are equal or belong together."""

    @property
    def silent(self) -> bool:
        """True when there is none."""
        return not self.columns and not self.rows


def noise(node: Node, types: Types, memo: dict[str, Noise] | None = None) -> Noise:
    """The noise of a node's output."""
    memo = {} if memo is None else memo
    if node.digest not in memo:
        memo[node.digest] = _noise(node, types, memo)
    return memo[node.digest]


def _noise(node: Node, types: Types, memo: dict[str, Noise]) -> Noise:
    below = [noise(item, types, memo) for item in node.inputs]
    given = Noise(
        frozenset().union(*(item.columns for item in below)),
        any(item.rows for item in below),
        tuple(dict.fromkeys(found for item in below for found in item.misused)),
    )
    match node:
        case Projection():
            kept = frozenset(name for name, item in node.outputs if item.columns & given.columns)
            return replace(given, columns=kept)
        case Filter():
            decided = bool(node.predicate.columns & given.columns)
            return replace(given, rows=given.rows or decided)
        case InnerJoin():
            # A condition of an inner join is a filter over all pairs.
            decided = any(item.columns & given.columns for item in node.on)
            return replace(given, rows=given.rows or decided)
        case Aggregate():
            return _aggregate(node, given, types)
        case Windowed():
            return _window(node, given, types)
        case UnionAll():
            return replace(given, columns=_by_position(node, below))
    return _deciding_noise(node, given, below)


def _by_position(node: UnionAll, below: Sequence[Noise]) -> frozenset[str]:
    return frozenset(
        name
        for branch, item in zip(node.branches, below, strict=True)
        for name, own in zip(node.names, branch.columns, strict=True)
        if own in item.columns
    )


def _deciding_noise(node: Node, given: Noise, below: Sequence[Noise]) -> Noise:
    """Noise of operators that compare rows: a noisy value must not take part in that."""
    if isinstance(node, Unnest):
        made = node.names if node.collection.columns & given.columns else ()
        return replace(given, columns=given.columns.union(made))
    compares_rows = given.rows and isinstance(node, (Distinct, SetOperation, TopK))
    looks_up = isinstance(node, (SemiJoin, MarkJoin, OuterJoin)) and below[1].rows
    if given.columns & _deciding(node) or compares_rows or looks_up:
        return Noise(given.columns, rows=True, misused=(*given.misused, node))
    return replace(given, columns=given.columns & frozenset(node.columns))


def _deciding(node: Node) -> frozenset[str]:
    """The columns by which an operator decides what belongs together."""
    match node:
        case OuterJoin() | SemiJoin() | MarkJoin():
            return node.on.columns
        case Distinct():
            return frozenset(node.columns)
        case SetOperation():
            return frozenset((*node.left.columns, *node.right.columns))
        case TopK():
            return frozenset((*node.partition, *(item.column for item in node.order)))
    return frozenset()


def _aggregate(node: Aggregate, below: Noise, types: Types) -> Noise:
    noisy = {
        name
        for name, call in node.calls
        if below.rows or call.columns & below.columns or not is_exact(call, types)
    }
    misused = (*below.misused, node) if below.columns & frozenset(node.keys) else below.misused
    return Noise(frozenset(noisy), below.rows or bool(misused), misused)


def is_exact(call: Scalar, types: Types) -> bool:
    """True when an aggregate gives the same value whatever the order of its rows."""
    tree = call.ast
    kind = aggregate_kind(tree)
    if kind in _EXACT_KINDS or (isinstance(tree, exp.Anonymous) and tree.name == SINGLE):
        return True
    if not isinstance(tree, (exp.Sum, exp.Avg)):
        return False
    inner = tree.this.expressions[0] if isinstance(tree.this, exp.Distinct) else tree.this
    exact = types.exact(Scalar.of(inner.copy()))
    averaged = isinstance(tree, exp.Avg)
    return exact is not None and not (averaged and _sums_as_double(exact.precision, types))


def _sums_as_double(precision: int, types: Types) -> bool:
    """Spark averages integers by a double sum: beyond 2^53 it depends on the order."""
    return types.dialect == "spark" and precision == _BIGINT_DIGITS


_BIGINT_DIGITS: Final = 19


def _window(node: Windowed, below: Noise, types: Types) -> Noise:
    noisy: set[str] = set()
    deciding: set[str] = set(node.partition)
    for name, call in node.calls:
        function = Scalar.of(call.ast.this.copy())
        summing = aggregate_kind(function.ast) in _SUMMING and not is_exact(function, types)
        if below.rows or call.columns & below.columns or summing:
            noisy.add(name)
        order = call.ast.args.get("order")
        deciding |= {item.name for item in order.find_all(exp.Column)} if order else set()
    misused = (*below.misused, node) if below.columns & deciding else below.misused
    return Noise(below.columns | noisy, below.rows or bool(misused), misused)


def is_monotone(node: Node) -> bool:
    """True when insertions into the sources can only insert into the result."""
    return all(isinstance(item, _MONOTONE) for item in walk(node))


def read_whole(node: Node) -> tuple[Node, ...]:
    """Operators whose change needs their whole input: global aggregates and global top-k."""
    return tuple(
        item
        for item in walk(node)
        if (isinstance(item, Aggregate) and not item.keys)
        or (isinstance(item, TopK) and not item.partition)
    )
