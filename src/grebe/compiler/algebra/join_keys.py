"""Columns of sources that a definition sets equal: its join keys, by table and column."""

from __future__ import annotations

from collections.abc import Iterable

from grebe.compiler.algebra.key_bounds import origin
from grebe.compiler.algebra.nodes import InnerJoin, MarkJoin, Node, OuterJoin, SemiJoin, walk
from grebe.compiler.algebra.scalar import conjuncts_of, equated

ColumnPlace = tuple[str, str]
"""A source and one of its columns."""


def join_keys(roots: Iterable[Node]) -> dict[ColumnPlace, frozenset[ColumnPlace]]:
    """For each column, the columns that some definitions make equal to it, itself among them."""
    groups: dict[ColumnPlace, set[ColumnPlace]] = {}
    for root in roots:
        for one, other in _pairs(root):
            merged = groups.get(one, {one}) | groups.get(other, {other})
            groups.update(dict.fromkeys(merged, merged))
    return {place: frozenset(group) for place, group in groups.items()}


def _pairs(root: Node) -> Iterable[tuple[ColumnPlace, ColumnPlace]]:
    for node in walk(root):
        match node:
            case InnerJoin():
                on = node.on
            case OuterJoin() | SemiJoin() | MarkJoin():
                on = conjuncts_of(node.on)
            case _:
                continue
        for names in filter(None, map(equated, on)):
            found = [_place(node, name) for name in names]
            if found[0] and found[1]:
                yield found[0], found[1]


def _place(node: Node, name: str) -> ColumnPlace | None:
    for part in node.inputs:
        if name in part.columns:
            found = origin(part, name)
            return (found[0].table, found[1]) if found else None
    return None
