"""A view over a view: the parent's public SELECT over its storage table takes the parent's place.

A catalog view cannot be pinned to a version, its storage table can. Every occurrence gets names
of its own, so that a parent may be read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from grebe.compiler.algebra.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    Scan,
    SemiJoin,
    SetOperation,
    Stored,
    TopK,
    UnionAll,
    Unnest,
    Values,
    Windowed,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import Scalar, column, substitute
from grebe.sql_text import apart, plain


@dataclass(frozen=True, slots=True)
class Parent:
    """What a child needs of a view: its storage table, its public tree and its public names."""

    table: str
    public: Node
    outputs: tuple[tuple[str, str], ...]


def expanded(root: Node, parents: Mapping[str, Parent]) -> Node:
    """The tree with every scan of a view replaced by the view's own SELECT."""
    count = 0

    def visit(node: Node) -> Node:
        nonlocal count
        if isinstance(node, Scan) and node.table in parents:
            count += 1
            return _inlined(node, parents[node.table], f"p{count}_")
        return rebuilt(node, visit)

    return visit(root)


def _inlined(scan: Scan, parent: Parent, prefix: str) -> Node:
    def named(name: str) -> str:
        return apart(prefix + plain(name))

    body = relabelled(_over_table(parent.public, parent.table), named)
    internal = {public.lower(): named(own) for own, public in parent.outputs}
    outputs = tuple((name, column(internal[source.lower()])) for name, source in scan.pairs)
    return Projection(body, outputs)


def _over_table(node: Node, table: str) -> Node:
    if isinstance(node, Stored):
        return Scan(table, tuple((name, name) for name in node.names))
    return rebuilt(node, lambda item: _over_table(item, table))


def relabelled(node: Node, name: Callable[[str], str]) -> Node:
    """The same tree with every column under another name."""
    memo: dict[str, Node] = {}

    def visit(item: Node) -> Node:
        if item.digest not in memo:
            built = rebuilt(item, visit)
            relabel = _RELABELS.get(type(built))
            memo[item.digest] = relabel(built, _Labels(name)) if relabel else built
        return memo[item.digest]

    return visit(node)


@dataclass(frozen=True, slots=True)
class _Labels:
    """New names for columns, wherever a node holds them."""

    name: Callable[[str], str]

    def scalar(self, item: Scalar) -> Scalar:
        return substitute(
            item, {old: column(new) for old in item.columns if (new := self.name(old)) != old}
        )

    def scalars(self, items: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        return tuple(self.scalar(item) for item in items)

    def pairs(self, items: tuple[tuple[str, Scalar], ...]) -> tuple[tuple[str, Scalar], ...]:
        return tuple((self.name(own), self.scalar(item)) for own, item in items)

    def names(self, items: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.name(item) for item in items)


def _scan(node: Scan, to: _Labels) -> Node:
    return replace(node, pairs=tuple((to.name(own), source) for own, source in node.pairs))


def _listed(node: Values | UnionAll | SetOperation, to: _Labels) -> Node:
    return replace(node, names=to.names(node.names))


def _condition(node: OuterJoin | SemiJoin, to: _Labels) -> Node:
    return replace(node, on=to.scalar(node.on))


def _topk(node: TopK, to: _Labels) -> Node:
    order = tuple(replace(item, column=to.name(item.column)) for item in node.order)
    return replace(node, partition=to.names(node.partition), order=order)


def _unnest(node: Unnest, to: _Labels) -> Node:
    position = to.name(node.position) if node.position else None
    return replace(
        node,
        collection=to.scalar(node.collection),
        names=to.names(node.names),
        position=position,
    )


_RELABELS: Final[dict[type[Node], Callable[..., Node]]] = {
    Scan: _scan,
    Values: _listed,
    UnionAll: _listed,
    SetOperation: _listed,
    Filter: lambda node, to: replace(node, predicate=to.scalar(node.predicate)),
    Projection: lambda node, to: replace(node, outputs=to.pairs(node.outputs)),
    InnerJoin: lambda node, to: replace(node, on=to.scalars(node.on)),
    OuterJoin: _condition,
    SemiJoin: _condition,
    MarkJoin: lambda node, to: replace(node, on=to.scalar(node.on), name=to.name(node.name)),
    Aggregate: lambda node, to: replace(node, keys=to.names(node.keys), calls=to.pairs(node.calls)),
    Windowed: lambda node, to: replace(
        node, partition=to.names(node.partition), calls=to.pairs(node.calls)
    ),
    TopK: _topk,
    Unnest: _unnest,
}
