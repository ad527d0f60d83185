"""Queries of every kind, with the common table expressions in front of them."""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.algebra.functions import refusal
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.relations import lower_relation
from grebe.compiler.lower.scope import Cte, Environment, Query
from grebe.compiler.lower.select import lower_select
from grebe.compiler.lower.sets import cut, lower_set
from grebe.compiler.reasons import ReasonCode
from grebe.sql_text import is_made

_UNSTEADY = (
    ReasonCode.NON_DETERMINISTIC,
    ReasonCode.SESSION_FUNCTION,
    ReasonCode.TIME_FUNCTION,
)


def lower_query(context: Context, tree: exp.Expr, environment: Environment) -> Query:
    """The relation and output columns of a query."""
    inside = _with(context, tree, environment)
    match tree:
        case exp.Select():
            return lower_select(context, tree, inside)
        case exp.SetOperation():
            return lower_set(context, tree, inside)
        case exp.Subquery() if isinstance(tree.this, (exp.Table, exp.Pivot)):
            frame = lower_relation(context, tree.this, inside)
            return cut(context, tree, Query(frame.node, frame.star))
        case exp.Subquery():
            return cut(context, tree, lower_query(context, tree.this, inside))
        case exp.Values() | exp.Table():
            frame = lower_relation(context, tree, inside)
            return cut(context, tree, Query(frame.node, frame.star))
    raise context.unsupported("query", f"{type(tree).__name__} is not a known query", tree)


def _with(context: Context, tree: exp.Expr, environment: Environment) -> Environment:
    clause = tree.args.get("with_")
    if clause is None:
        return environment
    context.features.add("cte")
    current = environment
    recursive = bool(clause.args.get("recursive"))
    for item in clause.expressions:
        name = item.alias.lower()
        columns = tuple(column.name for column in item.args["alias"].columns)
        if is_made(name):
            message = f'the name "{item.alias}" begins with the reserved prefix'
            context.stop("reserved_name", message, item)
        if not isinstance(item.this, exp.Query):
            context.stop("cte", "a common table expression holds a query", item)
        query = item.this
        if recursive and _mentions(query, name):
            message = f'the common table expression "{item.alias}" reads itself'
            context.refuse(ReasonCode.RECURSIVE_CTE, message, item)
            _refuse_unsteady(context, query)
            query = _anchor(context, query, name)
        cte = Cte(query, current, columns)
        current = Environment({**current.ctes, name: cte}, current.outer)
    return current


def _refuse_unsteady(context: Context, query: exp.Query) -> None:
    """What would give other rows every time, also where the query is not lowered."""
    for tree in query.find_all(exp.Func):
        found = refusal(tree, context.dialect)
        if found is not None and found.code in _UNSTEADY:
            context.refuse(found.code, found.message, tree)


def _anchor(context: Context, query: exp.Query, name: str) -> exp.Query:
    """The part that does not read itself: it says which columns there are."""
    current = query
    while isinstance(current, exp.SetOperation) and isinstance(current.this, exp.Query):
        current = current.this
        if not _mentions(current, name):
            return current
    message = f'"{name}" reads itself and has nothing to begin with'
    raise context.unsupported("recursive_cte", message, query)


def _mentions(tree: exp.Expr, name: str) -> bool:
    tables = tree.find_all(exp.Table)
    return any(t.name.lower() == name and not t.args.get("db") for t in tables)
