"""Decorrelation, the simple way: conditions on the outer row are pulled up out of the subquery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

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
)
from grebe.compiler.algebra.scalar import Scalar, column, conjuncts_of, equals
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.shape import free_columns
from grebe.sql_text import made


@dataclass(frozen=True, slots=True)
class Pulled:
    """A relation that no longer reads the outer row, and the conditions that do."""

    node: Node
    conditions: tuple[Scalar, ...]


def pull(context: Context, node: Node, outer: frozenset[str], *, bag: bool) -> Pulled | None:
    """The relation without its conditions on the outer row, or None when that cannot be.

    ``bag`` says that the number of equal rows matters to whoever reads the relation.
    """
    if not free_columns(node) & outer:
        return Pulled(node, ())
    if isinstance(node, Aggregate):
        return _aggregate(context, node, outer) if node.keys else None
    if isinstance(node, OuterJoin) and node.full:
        return None
    rule = _RULES.get(type(node))
    return rule(context, node, outer, bag=bag) if rule is not None else None


def _filter(context: Context, node: Filter, outer: frozenset[str], *, bag: bool) -> Pulled | None:
    below = pull(context, node.input, outer, bag=bag)
    if below is None:
        return None
    stay = [item for item in conjuncts_of(node.predicate) if not item.columns & outer]
    up = [item for item in conjuncts_of(node.predicate) if item.columns & outer]
    current = below.node
    for item in stay:
        current = Filter(current, item)
    return Pulled(current, (*below.conditions, *up))


def _inner(context: Context, node: InnerJoin, outer: frozenset[str], *, bag: bool) -> Pulled | None:
    parts = [pull(context, part, outer, bag=bag) for part in node.parts]
    done = [part for part in parts if part is not None]
    if len(done) < len(parts):
        return None
    stay = tuple(item for item in node.on if not item.columns & outer)
    up = [item for item in node.on if item.columns & outer]
    lower = [item for part in done for item in part.conditions]
    return Pulled(InnerJoin(tuple(part.node for part in done), stay), (*lower, *up))


def _project(
    context: Context, node: Projection, outer: frozenset[str], *, bag: bool
) -> Pulled | None:
    if any(scalar.columns & outer for _, scalar in node.outputs):
        return None
    below = pull(context, node.input, outer, bag=bag)
    if below is None:
        return None
    needed = {name for item in below.conditions for name in item.columns} - outer
    missing = sorted(needed & set(below.node.columns) - set(node.columns))
    outputs = (*node.outputs, *((name, column(name)) for name in missing))
    return Pulled(Projection(below.node, outputs), below.conditions)


def _left_only(
    context: Context, node: SemiJoin | MarkJoin | OuterJoin, outer: frozenset[str], *, bag: bool
) -> Pulled | None:
    if node.on.columns & outer or free_columns(node.right) & outer:
        return None
    below = pull(context, node.left, outer, bag=bag)
    return None if below is None else Pulled(replace(node, left=below.node), below.conditions)


def _distinct(
    context: Context, node: Distinct, outer: frozenset[str], *, bag: bool
) -> Pulled | None:
    below = pull(context, node.input, outer, bag=bag)
    if below is None or not bag:
        return below
    needed = {name for item in below.conditions for name in item.columns} - outer
    if not needed <= set(node.columns):
        return None
    return Pulled(Distinct(below.node), below.conditions)


def _aggregate(context: Context, node: Aggregate, outer: frozenset[str]) -> Pulled | None:
    if any(call.columns & outer for _, call in node.calls):
        return None
    below = pull(context, node.input, outer, bag=True)
    keyed = keys_of(context, below, outer, node.keys) if below is not None else None
    if keyed is None:
        return None
    keys = (*node.keys, *(key for key in keyed.keys if key not in node.keys))
    return Pulled(replace(node, input=keyed.node, keys=keys), keyed.conditions)


_RULES: Final[dict[type[Node], Callable[..., Pulled | None]]] = {
    Filter: _filter,
    InnerJoin: _inner,
    Projection: _project,
    SemiJoin: _left_only,
    MarkJoin: _left_only,
    OuterJoin: _left_only,
    Distinct: _distinct,
}


@dataclass(frozen=True, slots=True)
class Keyed:
    """A relation, the columns that its conditions compare, and the conditions over them."""

    node: Node
    keys: tuple[str, ...]
    conditions: tuple[Scalar, ...]


def keys_of(
    context: Context, pulled: Pulled, outer: frozenset[str], grouped: tuple[str, ...] = ()
) -> Keyed | None:
    """The conditions as equalities with columns to group by, or None when they are not.

    Grouping by the inner side is right only if each outer value equals one inner value, which a
    lossy conversion between two types would break; so both types must be known to be alike.
    """
    keys: list[str] = []
    conditions: list[Scalar] = []
    new: list[tuple[str, Scalar]] = []
    for item in pulled.conditions:
        if item.columns - outer <= set(grouped):
            conditions.append(item)
            continue
        sides = _sides(item, outer)
        if sides is None or not alike(context, *sides):
            return None
        inner, outside = sides
        name = inner.column
        if name is None:
            name = context.fresh(made("key"))
            new.append((name, inner))
        if name not in keys:
            keys.append(name)
        conditions.append(equals(column(name), outside))
    node = pulled.node
    if new:
        kept = tuple((name, column(name)) for name in node.columns)
        node = Projection(node, (*kept, *new))
    return Keyed(node, tuple(keys), tuple(conditions))


def _sides(item: Scalar, outer: frozenset[str]) -> tuple[Scalar, Scalar] | None:
    """The inner and the outer side of an equality between them."""
    tree = item.ast.unnest()
    if not isinstance(tree, exp.EQ):
        return None
    sides = [Scalar.of(side.copy()) for side in (tree.this, tree.expression)]
    for inner, outside in (sides, sides[::-1]):
        if outside.columns and outside.columns <= outer and not inner.columns & outer:
            return inner, outside
    return None


_FAMILIES: Final = {
    **dict.fromkeys(
        ("TINYINT", "BYTE", "SMALLINT", "SHORT", "INT", "INTEGER", "BIGINT", "LONG"), "integer"
    ),
    **dict.fromkeys(("STRING", "VARCHAR", "TEXT"), "text"),
    **dict.fromkeys(("BOOLEAN", "BOOL"), "boolean"),
    "DATE": "date",
}
"""Types among which a comparison converts nothing, or nothing that could be lost."""


def alike(context: Context, left: Scalar, right: Scalar) -> bool:
    """True when equal values of both sides are one value: no conversion can lose anything."""
    first, second = _family(context, left), _family(context, right)
    return first is not None and first == second


def _family(context: Context, item: Scalar) -> str | None:
    if item.column is not None:
        text = context.types.get(item.column)
    elif isinstance(item.ast, exp.Cast):
        text = item.ast.to.sql(context.dialect)
    else:
        return None
    if not text:
        return None
    upper = text.upper().strip()
    exact = upper.startswith(("DECIMAL(", "TIMESTAMP"))
    return upper if exact else _FAMILIES.get(upper)
