"""What types do to a plan: branches that are cast to the whole's, equalities that carry no key.

An engine coerces the branches where it sees them side by side. A plan takes them apart: a branch
whose sources did not change is dropped, and keys go down into each branch. So the types that the
engine gives the whole are written into the branches. A bare NULL is always cast: alone it has no
type at all.

And equalities of two columns, taken apart where their types are not known to be compared exactly:
"01" = 1 and 1 = "1", but "01" is not "1". A key must not be carried from one side to the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.known_types import Types, is_exact
from grebe.compiler.algebra.nodes import (
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    SemiJoin,
    SetOperation,
    UnionAll,
)
from grebe.compiler.algebra.origins import origin
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import (
    NULL,
    Scalar,
    all_of,
    build,
    cast,
    column,
    conjuncts_of,
    equated,
    passed,
    true_only,
)


def coerced(node: Node, types: Types, memo: dict[str, Node] | None = None) -> Node:
    """The same relation; every branch gives the types of the whole, where they are known."""
    memo = {} if memo is None else memo
    if node.digest not in memo:
        below = rebuilt(node, lambda item: coerced(item, types, memo))
        memo[node.digest] = _typed(below, types)
    return memo[node.digest]


def _typed(node: Node, types: Types) -> Node:
    match node:
        case UnionAll() | SetOperation():
            return rebuilt(node, lambda branch: _cast(branch, node, types))
        case InnerJoin():
            return replace(node, on=tuple(_apart(item, node, types) for item in node.on))
        case OuterJoin() | SemiJoin() | MarkJoin():
            return replace(node, on=_all_apart(node.on, node, types))
    return node


def _all_apart(on: Scalar, node: Node, types: Types) -> Scalar:
    """The condition; its own text where nothing is taken apart."""
    conjuncts = conjuncts_of(on)
    apart = [_apart(item, node, types) for item in conjuncts]
    return on if list(conjuncts) == apart else all_of(apart)


def _apart(item: Scalar, node: Node, types: Types) -> Scalar:
    """An equality by which no key is carried, if the types of its columns ask for that.

    COALESCE of one column is the column; but it is no longer a bare one.
    """
    names, inside = equated(item), true_only(item)
    if inside is not None:
        return build("COALESCE(:p, FALSE)", p=_all_apart(inside, node, types))
    if names is None or _compare_exactly(*(_kind(node, name, types) for name in names)):
        return item
    tree = item.copy()
    side = tree.this.unnest()
    tree.set("this", exp.Coalesce(this=side.copy(), expressions=[]))
    return Scalar.of(tree)


def _kind(node: Node, name: str, types: Types) -> str | None:
    part = next((item for item in node.inputs if name in item.columns), None)
    if part is None:
        return None
    return types.of(column(name)) or types.of(origin(part, name).value)


def _compare_exactly(one: str | None, other: str | None) -> bool:
    """True when equal values of the two types are the same value: numbers without a rounding."""
    if one is None or other is None:
        return False
    return one == other or (is_exact(one) and is_exact(other))


def _cast(branch: Node, whole: UnionAll | SetOperation, types: Types) -> Node:
    given = branch.outputs if isinstance(branch, Projection) else passed(branch.columns)
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
    return Projection(branch.input if isinstance(branch, Projection) else branch, outputs)


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
