"""Decorrelation, the general way: the outer rows' values are joined into the subquery.

The distinct values of the columns that a subquery reads from the outer row form the *domain*.
Joined into the subquery, it makes every reference to the outer row a reference to the domain; each
operator on the way up keeps the domain's columns apart (as group keys, partitions, columns of set
operations), so that the result holds, for each outer value, the subquery's rows for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from grebe.compiler.algebra.functions import empty_value
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
    SetOperation,
    TopK,
    UnionAll,
    Unnest,
    Windowed,
)
from grebe.compiler.algebra.scalar import NULL, TRUE, Scalar, all_of, build, column, rename, same
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.shape import free_columns


class NotPushedError(Exception):
    """The domain cannot be joined into this relation."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """A relation with the domain's columns: pairs of (outer column, column that holds it here)."""

    node: Node
    domain: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that hold the domain."""
        return tuple(name for _, name in self.domain)


@dataclass(frozen=True, slots=True)
class Domain:
    """The distinct values of some columns of the outer relation; every use has its own names."""

    context: Context
    outer: Node
    columns: tuple[str, ...]

    def fresh(self) -> Pushed:
        pairs = tuple((name, self.context.fresh(name)) for name in self.columns)
        outputs = tuple((own, column(name)) for name, own in pairs)
        return Pushed(Distinct(Projection(self.outer, outputs)), pairs)


def push(context: Context, node: Node, outer: Node) -> Pushed:
    """The relation for all values that the outer relation has, with columns to join them by.

    Raises:
        NotPushedError: some operator on the way cannot carry the domain.
    """
    wanted = free_columns(node) & set(outer.columns)
    ordered = tuple(name for name in outer.columns if name in wanted)
    return _push(node, Domain(context, outer, ordered))


def _push(node: Node, domain: Domain) -> Pushed:
    if not free_columns(node) & set(domain.columns):
        one = domain.fresh()
        return Pushed(InnerJoin((one.node, node), ()), one.domain)
    rule = _RULES.get(type(node))
    if rule is None:
        raise NotPushedError(type(node).__name__.lower())
    return rule(node, domain)


def _filter(node: Filter, domain: Domain) -> Pushed:
    below = _push(node.input, domain)
    return Pushed(Filter(below.node, _here(node.predicate, below)), below.domain)


def _project(node: Projection, domain: Domain) -> Pushed:
    below = _push(node.input, domain)
    outputs = tuple((name, _here(item, below)) for name, item in node.outputs)
    carried = tuple((name, column(name)) for name in below.names)
    return Pushed(Projection(below.node, (*outputs, *carried)), below.domain)


def _distinct(node: Distinct, domain: Domain) -> Pushed:
    below = _push(node.input, domain)
    return Pushed(Distinct(_exactly(below, node.input.columns)), below.domain)


def _topk(node: TopK, domain: Domain) -> Pushed:
    below = _push(node.input, domain)
    partition = (*node.partition, *below.names)
    return Pushed(replace(node, input=below.node, partition=partition), below.domain)


def _unnest(node: Unnest, domain: Domain) -> Pushed:
    below = _push(node.input, domain)
    collection = _here(node.collection, below)
    return Pushed(replace(node, input=below.node, collection=collection), below.domain)


def _here(item: Scalar, below: Pushed) -> Scalar:
    """The expression over the domain's columns instead of the outer row's."""
    return rename(item, dict(below.domain))


def _exactly(below: Pushed, columns: tuple[str, ...]) -> Node:
    wanted = (*columns, *below.names)
    if below.node.columns == wanted:
        return below.node
    return Projection(below.node, tuple((name, column(name)) for name in wanted))


def _agree(one: Pushed, other: Pushed) -> list[Scalar]:
    pairs = zip(one.names, other.names, strict=True)
    return [same(column(left), column(right)) for left, right in pairs]


def _inner(node: InnerJoin, domain: Domain) -> Pushed:
    wanted = set(domain.columns)
    parts: list[Node] = []
    first: Pushed | None = None
    on: list[Scalar] = []
    for part in node.parts:
        if not free_columns(part) & wanted:
            parts.append(part)
            continue
        below = _push(part, domain)
        parts.append(below.node)
        if first is None:
            first = below
        else:
            on += _agree(first, below)
    if first is None:
        first = domain.fresh()
        parts.insert(0, first.node)
    moved = [_here(item, first) for item in node.on]
    return Pushed(InnerJoin(tuple(parts), (*moved, *on)), first.domain)


def _outer(node: OuterJoin, domain: Domain) -> Pushed:
    left = _push(node.left, domain)
    on = _here(node.on, left)
    if not node.full and not free_columns(node.right) & set(domain.columns):
        return Pushed(OuterJoin(left.node, node.right, on), left.domain)
    right = _push(node.right, domain)
    joined = OuterJoin(left.node, right.node, all_of([on, *_agree(left, right)]), node.full)
    if not node.full:
        return Pushed(joined, left.domain)
    context = domain.context
    merged = tuple((name, context.fresh(name)) for name in domain.columns)
    outputs = [(name, column(name)) for name in (*node.left.columns, *node.right.columns)]
    for (_, own), one, other in zip(merged, left.names, right.names, strict=True):
        outputs.append((own, build("COALESCE(:a, :b)", a=column(one), b=column(other))))
    return Pushed(Projection(joined, tuple(outputs)), merged)


def _semi(node: SemiJoin | MarkJoin, domain: Domain) -> Pushed:
    left = _push(node.left, domain)
    on = _here(node.on, left)
    if not free_columns(node.right) & set(domain.columns):
        return Pushed(replace(node, left=left.node, on=on), left.domain)
    right = _push(node.right, domain)
    both = all_of([*_agree(left, right), on])
    return Pushed(replace(node, left=left.node, right=right.node, on=both), left.domain)


def _aggregate(node: Aggregate, domain: Domain) -> Pushed:
    below = _push(node.input, domain)
    calls = tuple((name, _here(call, below)) for name, call in node.calls)
    grouped = replace(node, input=below.node, keys=(*node.keys, *below.names), calls=calls)
    if node.keys:
        return Pushed(grouped, below.domain)
    return _with_empty_groups(node, grouped, below, domain)


def _with_empty_groups(
    node: Aggregate, grouped: Aggregate, below: Pushed, domain: Domain
) -> Pushed:
    """An aggregate without keys has a row for every outer value, also where nothing matched."""
    context = domain.context
    empty = {name: Scalar.of(empty_value(call.ast, context.dialect)) for name, call in node.calls}
    filled = [name for name, value in empty.items() if value != NULL]
    raw = {name: context.fresh(name) for name in filled}
    calls = tuple((raw.get(name, name), call) for name, call in grouped.calls)
    every = domain.fresh()
    right = replace(grouped, calls=calls)
    joined = OuterJoin(every.node, right, all_of(_agree(every, below)))
    outputs = [
        (name, build("COALESCE(:x, :y)", x=column(raw[name]), y=value))
        if name in raw
        else (name, column(name))
        for name, value in empty.items()
    ]
    carried = tuple((name, column(name)) for name in every.names)
    return Pushed(Projection(joined, (*outputs, *carried)), every.domain)


def _window(node: Windowed, domain: Domain) -> Pushed:
    below = _push(node.input, domain)
    partition = (*node.partition, *below.names)
    calls = []
    for name, call in node.calls:
        tree = _here(call, below).copy()
        given = list(tree.args.get("partition_by") or [])
        tree.set("partition_by", [*given, *(column(own).copy() for own in below.names)])
        calls.append((name, Scalar.of(tree)))
    return Pushed(
        replace(node, input=below.node, partition=partition, calls=tuple(calls)), below.domain
    )


def _set(node: UnionAll | SetOperation, domain: Domain) -> Pushed:
    branches = []
    for branch in node.inputs:
        below = _push(branch, domain)
        branches.append(_exactly(below, branch.columns))
    pairs = tuple((name, domain.context.fresh(name)) for name in domain.columns)
    names = (*node.names, *(own for _, own in pairs))
    if isinstance(node, UnionAll):
        return Pushed(replace(node, branches=tuple(branches), names=names), pairs)
    left, right = branches
    return Pushed(replace(node, left=left, right=right, names=names), pairs)


_RULES: Final[dict[type[Node], Callable[..., Pushed]]] = {
    Filter: _filter,
    Projection: _project,
    InnerJoin: _inner,
    OuterJoin: _outer,
    SemiJoin: _semi,
    MarkJoin: _semi,
    Aggregate: _aggregate,
    Distinct: _distinct,
    Windowed: _window,
    TopK: _topk,
    Unnest: _unnest,
    UnionAll: _set,
    SetOperation: _set,
}


def joined_by(pushed: Pushed) -> Scalar:
    """The condition that gives each outer row the rows for its own values."""
    conditions = [same(column(outer), column(own)) for outer, own in pushed.domain]
    return all_of(conditions) if conditions else TRUE
