"""UNION, EXCEPT and INTERSECT: branches matched by position, or by name where the text says so."""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.algebra.nodes import Node, Order, Projection, SetKind, SetOperation, UnionAll
from grebe.compiler.algebra.scalar import NULL, column
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.ordering import DROPPED, cut_of, directions, is_all, topk
from grebe.compiler.lower.scope import Environment, Query
from grebe.compiler.lower.shape import exactly
from grebe.compiler.reasons import ReasonCode
from grebe.sql_text import made


def lower_set(context: Context, tree: exp.SetOperation, environment: Environment) -> Query:
    """The relation and output columns of a set operation with its ORDER BY and LIMIT."""
    left, right = _branches(context, tree, environment)
    if tree.args.get("by_name"):
        left, right = _by_name(context, left, right)
    elif len(left.columns) != len(right.columns):
        one, other = len(left.columns), len(right.columns)
        context.invalid(f"the branches have {one} and {other} columns", tree.expression)
    query = _combined(context, tree, left, right)
    return cut(context, tree, query)


def _branches(
    context: Context, tree: exp.SetOperation, environment: Environment
) -> tuple[Query, Query]:
    left = context.lower_query(context, tree.this, environment)
    right = context.lower_query(context, tree.expression, environment)
    return left, right


def _by_name(context: Context, left: Query, right: Query) -> tuple[Query, Query]:
    names = list(left.columns)
    own = {name.lower() for name, _ in left.columns}
    names += [pair for pair in right.columns if pair[0].lower() not in own]
    return _padded(context, left, names), _padded(context, right, names)


def _padded(context: Context, query: Query, names: list[tuple[str, str]]) -> Query:
    own = {name.lower(): column_ for name, column_ in query.columns}
    outputs, pairs = [], []
    for name, _ in names:
        found = own.get(name.lower())
        fresh = context.fresh(name)
        outputs.append((fresh, column(found) if found else NULL))
        pairs.append((name, fresh))
    return Query(Projection(query.node, tuple(outputs)), tuple(pairs))


def _combined(context: Context, tree: exp.SetOperation, left: Query, right: Query) -> Query:
    distinct = tree.args.get("distinct")
    word = type(tree).__name__.lower()
    every = distinct is False or distinct is None
    context.features.add(f"{word}_all" if every else word)
    one = exactly(context, left.node, [name for _, name in left.columns])
    other = exactly(context, right.node, [name for _, name in right.columns])
    names = tuple(context.fresh(name or made("column")) for name, _ in left.columns)
    publics = [name for name, _ in left.columns]
    node: Node
    if every and isinstance(tree, exp.Union):
        node = UnionAll((*_flat(one), *_flat(other)), names)
    else:
        node = SetOperation(_kind(tree, every=every), one, other, names)
    return Query(node, tuple(zip(publics, names, strict=True)))


def _flat(node: Node) -> tuple[Node, ...]:
    return node.branches if isinstance(node, UnionAll) else (node,)


def _kind(tree: exp.SetOperation, *, every: bool) -> SetKind:
    if isinstance(tree, exp.Union):
        return SetKind.UNION
    if isinstance(tree, exp.Except):
        return SetKind.EXCEPT_ALL if every else SetKind.EXCEPT
    return SetKind.INTERSECT_ALL if every else SetKind.INTERSECT


def cut(context: Context, tree: exp.Expr, query: Query) -> Query:
    """The query with an ORDER BY and LIMIT that stand outside of it."""
    clause, kept = tree.args.get("order"), cut_of(context, tree)
    if clause is not None:
        context.features.add("order_by")
    if kept is None:
        if clause is not None:
            context.note(DROPPED)
        return query
    order = []
    for item in clause.expressions if clause is not None else []:
        name = _output(context, item.this if isinstance(item, exp.Ordered) else item, query)
        if name is not None:
            order.append(Order(name, *directions(context, item)))
    return Query(topk(context, query.node, tuple(order), kept, tree), query.columns)


def _output(context: Context, tree: exp.Expr, query: Query) -> str | None:
    plain = tree.unnest()
    if isinstance(plain, exp.Literal) and plain.is_int:
        place = int(plain.name)
        if 1 <= place <= len(query.columns):
            return query.columns[place - 1][1]
        context.invalid(f"position {place} is not in the SELECT list", plain)
    if isinstance(plain, exp.Column) and not is_all(plain):
        found = [own for name, own in query.columns if name.lower() == plain.name.lower()]
        if found:
            return found[0]
    message = "ORDER BY of a set operation names its outputs"
    context.refuse(ReasonCode.UNSUPPORTED_CLAUSE, message, tree)
    return None
