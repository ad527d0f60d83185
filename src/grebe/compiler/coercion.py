"""The branches of unions and set operations, cast to the types that the whole has.

An engine coerces the branches where it sees them side by side. A plan takes them apart: a branch
whose sources did not change is dropped, and keys go down into each branch. So the types that the
engine gives the whole are written into the branches. A bare NULL is always cast: alone it has no
type at all.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from grebe.compiler.nodes import Node, Project, SetOperation, UnionAll
from grebe.compiler.origins import origin
from grebe.compiler.pin import rebuilt
from grebe.compiler.scalar import NULL, cast, column, passed
from grebe.compiler.types import Types


def coerced(node: Node, types: Types, memo: dict[str, Node] | None = None) -> Node:
    """The same relation; every branch gives the types of the whole, where they are known."""
    memo = {} if memo is None else memo
    if node.digest not in memo:
        below = rebuilt(node, lambda item: coerced(item, types, memo))
        memo[node.digest] = _same_types(below, types)
    return memo[node.digest]


def _same_types(node: Node, types: Types) -> Node:
    if not isinstance(node, (UnionAll, SetOperation)):
        return node
    return rebuilt(node, lambda branch: _cast(branch, node, types))


def _cast(branch: Node, whole: UnionAll | SetOperation, types: Types) -> Node:
    given = branch.outputs if isinstance(branch, Project) else passed(branch.columns)
    kinds = [types.target(column(name)) for name in whole.names]
    outputs = tuple(
        (
            name,
            cast(item, kind, types.dialect)
            if kind and _differs(branch, name, kind, types)
            else item,
        )
        for (name, item), kind in zip(given, kinds, strict=True)
    )
    if outputs == tuple(given):
        return branch
    return Project(branch.input if isinstance(branch, Project) else branch, outputs)


def _differs(branch: Node, name: str, kind: str, types: Types) -> bool:
    """True when a column is known to have another type than the whole, or to have none."""
    source = origin(branch, name).value
    if source == NULL:
        return True
    own = types.of(column(name)) or types.of(source) or _literal_type(source.ast)
    return own is not None and not types.equal(own, kind)


def _literal_type(tree: exp.Expr) -> str | None:
    match tree:
        case exp.Boolean():
            return "BOOLEAN"
        case exp.Literal(is_string=True):
            return "STRING"
        case exp.Literal(is_int=True):
            return "INT" if abs(int(tree.name)) < _INT_RANGE else "BIGINT"
    return None


_INT_RANGE: Final = 2**31
