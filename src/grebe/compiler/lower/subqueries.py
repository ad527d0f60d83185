"""Subqueries as joins: EXISTS, IN, ANY and ALL as semi or mark joins, scalars as outer joins."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from grebe.compiler.algebra.function_names import SINGLE
from grebe.compiler.algebra.functions import empty_value
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    SemiJoin,
    TopK,
)
from grebe.compiler.algebra.scalar import NULL, TRUE, Scalar, all_of, build, column, substitute
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.decorrelate_general import NotPushedError, Pushed, joined_by, push
from grebe.compiler.lower.decorrelate_simple import Keyed, keys_of, pull
from grebe.compiler.lower.pending import Kind, Pending
from grebe.compiler.lower.scope import Query
from grebe.compiler.lower.shape import at_most_one_row, exactly_one_row, free_columns, with_names
from grebe.compiler.reasons import ReasonCode
from grebe.sql_text import made


@dataclass(frozen=True, slots=True)
class _Matched:
    """The right side of a semi or mark join: which pairs of rows belong together, and the test."""

    node: Node
    belong: tuple[Scalar, ...]
    test: Scalar


def join_semi(context: Context, left: Node, item: Pending, *, anti: bool) -> Node:
    """The left rows for which the test is TRUE; ``anti``: for which its negation is."""
    found = _matched(context, left, item, exact=anti)
    if found is None:
        return left
    test = build("COALESCE(:p, TRUE)", p=found.test) if anti and found.test != TRUE else found.test
    return SemiJoin(left, found.node, all_of([*found.belong, test]), anti)


def join_mark(context: Context, left: Node, item: Pending) -> Node:
    """The left rows with the test's value: TRUE, FALSE, or NULL when it is unknown."""
    found = _matched(context, left, item, exact=True)
    if found is None:
        return Projection(left, (*((n, column(n)) for n in left.columns), (item.name, NULL)))
    # A pair that may or may not belong does not belong: only the test itself can be unknown.
    belong = [build("COALESCE(:p, FALSE)", p=condition) for condition in found.belong]
    return MarkJoin(left, found.node, all_of([*belong, found.test]), item.name)


def _matched(context: Context, left: Node, item: Pending, *, exact: bool) -> _Matched | None:
    """The right side and its test; ``exact`` when unknown must be told from FALSE."""
    query = _lowered(context, item)
    node = query.node
    if item.kind is Kind.EXISTS:
        query = Query(_bare(node), query.columns)
        node = query.node
    elif len(query.columns) != len(item.operands):
        wanted, given = len(item.operands), len(query.columns)
        context.invalid(f"{wanted} values are compared with {given} columns", item.query)
    outer = free_columns(node) & set(left.columns)
    test = _test(item, query)
    if exact and context.dialect == "duckdb":
        test = _as_duckdb(test, item, query)
    if not outer:
        return _Matched(node, (), test)
    pulled = pull(context, node, outer, bag=False)
    if pulled is not None:
        kept = {name for _, name in query.columns}
        if item.kind is Kind.EXISTS or kept <= set(pulled.node.columns):
            return _Matched(pulled.node, pulled.conditions, test)
    pushed = _pushed(context, node, left, item)
    return None if pushed is None else _Matched(pushed.node, (joined_by(pushed),), test)


def _lowered(context: Context, item: Pending) -> Query:
    """The subquery over the outer row as it is where they are joined."""
    query = context.lower_query(context, item.query, item.environment)
    return Query(with_names(query.node, dict(item.renamed)), query.columns)


def _pushed(context: Context, node: Node, left: Node, item: Pending) -> Pushed | None:
    try:
        return push(context, node, left)
    except NotPushedError as error:
        message = f"the subquery reads the outer row through {error}, which has no rule"
        context.refuse(ReasonCode.CORRELATED_SUBQUERY, message, item.query)
        return None


def _bare(node: Node) -> Node:
    """Whether a row exists depends neither on its columns nor on a LIMIT of one or more."""
    current = node
    while isinstance(current, (Projection, Distinct, TopK)):
        if isinstance(current, TopK) and (current.offset or current.limit == 0):
            break
        current = current.input
    return current


def _test(item: Pending, query: Query) -> Scalar:
    if item.kind is Kind.EXISTS:
        return TRUE
    pairs = zip(item.operands, query.columns, strict=True)
    parts = []
    for operand, (_, name) in pairs:
        compared = item.compare(this=_wrapped(operand), expression=column(name).copy())
        parts.append(Scalar.of(compared))
    test = all_of(parts)
    return build("NOT :p", p=test) if item.negated else test


def _as_duckdb(test: Scalar, item: Pending, query: Query) -> Scalar:
    """Where rows of several columns are compared, DuckDB says unknown as soon as one is NULL."""
    if len(item.operands) < 2:
        return test
    values = [*item.operands, *(column(name) for _, name in query.columns)]
    missing = [exp.Is(this=_wrapped(value), expression=exp.null()) for value in values]
    unknown = exp.If(this=exp.or_(*missing, copy=False), true=exp.null())
    return Scalar.of(exp.Case(ifs=[unknown], default=test.copy()))


def _wrapped(operand: Scalar) -> exp.Expr:
    tree = operand.copy()
    return tree if isinstance(tree, (exp.Column, exp.Literal)) else exp.paren(tree, copy=False)


def join_scalar(context: Context, left: Node, item: Pending) -> Node:
    """The left rows with the subquery's one value, NULL when it has no row."""
    query = _lowered(context, item)
    if len(query.columns) != 1:
        context.invalid("a subquery used as a value has exactly one column", item.query)
    value = query.columns[0][1]
    outer = free_columns(query.node) & set(left.columns)
    if not outer:
        return _uncorrelated(context, left, query.node, value, item.name)
    node = query.node
    done = _grouped(context, left, node, value, item.name)
    if done is None:
        done = _looked_up(context, left, node, value, item.name)
    if done is not None:
        return done
    pushed = _pushed(context, node, left, item)
    if pushed is None:
        return Projection(left, (*((n, column(n)) for n in left.columns), (item.name, NULL)))
    return _general(context, left, node, pushed, value, item.name)


def _single(name: str, value: str) -> tuple[str, Scalar]:
    call = exp.Anonymous(this=SINGLE, expressions=[column(value).copy()])
    return name, Scalar.of(call)


def _uncorrelated(context: Context, left: Node, node: Node, value: str, name: str) -> Node:
    if exactly_one_row(node):
        right: Node = Projection(node, ((name, column(value)),))
    else:
        right = Aggregate(node, (), (_single(name, value),))
    return InnerJoin((left, right), ())


def _grouped(context: Context, left: Node, node: Node, value: str, name: str) -> Node | None:
    """An aggregate over equalities with the outer row: group by their inner sides."""
    peeled = _peel(node, value)
    if peeled is None:
        return None
    aggregate, expression = peeled
    outer = frozenset(left.columns)
    if expression.columns & outer or any(call.columns & outer for _, call in aggregate.calls):
        return None
    keyed = _keyed(context, aggregate.input, outer)
    if keyed is None or not keyed.keys:
        return None
    if not expression.columns <= {own for own, _ in aggregate.calls}:
        return None
    grouped = Aggregate(keyed.node, keyed.keys, aggregate.calls, aggregate.where)
    return _Filled(grouped, keyed, expression).joined(context, left, name)


@dataclass(frozen=True, slots=True)
class _Filled:
    """A subquery by its groups, and its value as an expression over their calls."""

    grouped: Aggregate
    keyed: Keyed
    expression: Scalar

    def joined(self, context: Context, left: Node, name: str) -> Node:
        """The left rows with the value; where no group matches, with its calls at their empty."""
        calls = dict(self.grouped.calls)
        empty = {
            own: Scalar.of(empty_value(calls[own].ast, context.dialect))
            for own in self.expression.columns
        }
        nothing = substitute(self.expression, empty)
        on = all_of(self.keyed.conditions)
        kept = tuple((own, column(own)) for own in self.keyed.keys)
        if nothing == NULL:
            return OuterJoin(left, Projection(self.grouped, (*kept, (name, self.expression))), on)
        found, raw = context.fresh(made("found")), context.fresh(name)
        right = Projection(self.grouped, (*kept, (raw, self.expression), (found, TRUE)))
        chosen = build(
            "CASE WHEN :found THEN :raw ELSE :nothing END",
            found=column(found),
            raw=column(raw),
            nothing=nothing,
        )
        passed = tuple((own, column(own)) for own in left.columns)
        return Projection(OuterJoin(left, right, on), (*passed, (name, chosen)))


def _keyed(context: Context, node: Node, outer: frozenset[str]) -> Keyed | None:
    pulled = pull(context, node, outer, bag=True)
    return None if pulled is None else keys_of(context, pulled, outer)


def _peel(node: Node, value: str) -> tuple[Aggregate, Scalar] | None:
    """An aggregate without keys and the value as an expression over its calls."""
    expression = column(value)
    current = node
    while isinstance(current, Projection):
        expression = substitute(expression, dict(current.outputs))
        current = current.input
    if isinstance(current, Aggregate) and not current.keys:
        return current, expression
    return None


def _looked_up(context: Context, left: Node, node: Node, value: str, name: str) -> Node | None:
    """A look-up by equalities with the outer row: at most one row per key, or it raises."""
    if isinstance(node, Aggregate) and not node.keys:
        return None
    if _peel(node, value) is not None:
        return None
    keyed = _keyed(context, node, frozenset(left.columns))
    if keyed is None or not keyed.keys or value not in keyed.node.columns:
        return None
    right = Aggregate(keyed.node, keyed.keys, (_single(name, value),))
    return OuterJoin(left, right, all_of(keyed.conditions))


def _general(
    context: Context, left: Node, node: Node, pushed: Pushed, value: str, name: str
) -> Node:
    if at_most_one_row(node):
        kept = tuple((own, column(own)) for own in pushed.names)
        right: Node = Projection(pushed.node, (*kept, (name, column(value))))
    else:
        right = Aggregate(pushed.node, pushed.names, (_single(name, value),))
    return OuterJoin(left, right, joined_by(pushed))
