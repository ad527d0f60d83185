"""A definition at one version: the same tree with every scan pinned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from grebe.compiler.algebra.nodes import (
    At,
    InnerJoin,
    Node,
    OuterJoin,
    Scan,
    SemiJoin,
    SetOperation,
    UnionAll,
)
from grebe.compiler.algebra.nodes import MarkJoin as Mark


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with its inputs changed; the node itself when none did."""
    inputs = tuple(change(item) for item in node.inputs)
    if inputs == node.inputs:
        return node
    match node:
        case InnerJoin():
            return replace(node, parts=inputs)
        case UnionAll():
            return replace(node, branches=inputs)
        case OuterJoin() | SemiJoin() | Mark() | SetOperation():
            return replace(node, left=inputs[0], right=inputs[1])
    field = "like" if hasattr(node, "like") else "input"
    return replace(node, **{field: inputs[0]})  # type: ignore[arg-type]


def pinned(node: Node, at: At, memo: dict[tuple[str, At], Node] | None = None) -> Node:
    """The tree with every scan of the definition at the given version."""
    memo = {} if memo is None else memo
    key = (node.digest, at)
    if key not in memo:
        if isinstance(node, Scan):
            memo[key] = replace(node, at=at) if node.at is At.QUERY else node
        else:
            memo[key] = rebuilt(node, lambda item: pinned(item, at, memo))
    return memo[key]
