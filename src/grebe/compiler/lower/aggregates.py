"""Aggregate calls: FILTER written as CASE, orders made total, and the ones without a rule."""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.algebra.functions import AggregateKind, aggregate_kind, function_name, unwrapped
from grebe.compiler.lower.context import Context
from grebe.compiler.reasons import ReasonCode

_SKIPS_NULLS = frozenset(
    {
        AggregateKind.SUM,
        AggregateKind.AVG,
        AggregateKind.MIN,
        AggregateKind.MAX,
        AggregateKind.BOOL,
        AggregateKind.BIT,
    }
)


_ARRAYS = (exp.ArrayAgg, exp.ArrayUniqueAgg)


def normal_call(context: Context, tree: exp.Expr) -> exp.Expr:
    """The call in the one form that the rules know; reasons are remembered."""
    kind = aggregate_kind(tree)
    call = _with_separator(context, _filtered(tree, kind))
    name = function_name(unwrapped(call))
    context.features.add(_feature(unwrapped(call), name))
    if kind is AggregateKind.APPROX:
        message = f"{name}() is not exact"
        context.refuse(ReasonCode.APPROXIMATE_AGGREGATE, message, tree, expressible=True)
    elif kind is AggregateKind.ANY and not _has_order(call):
        message = f"{name}() takes whichever row comes first"
        context.refuse(ReasonCode.ORDER_DEPENDENT_AGGREGATE, message, tree, expressible=True)
    elif kind is AggregateKind.BY:
        return _tie_broken(context, call)
    elif kind is AggregateKind.COLLECTION or _has_order(call):
        return _ordered(context, call)
    return call


def _tie_broken(context: Context, tree: exp.Expr) -> exp.Expr:
    """MAX_BY and MIN_BY with the value itself as the second sort key: ties cannot matter then."""
    built = tree.copy()
    call = unwrapped(built)
    if not isinstance(call, (exp.ArgMax, exp.ArgMin)) or call.args.get("count") is not None:
        message = f"{function_name(call)}() takes whichever of several rows comes first"
        context.refuse(ReasonCode.ORDER_DEPENDENT_AGGREGATE, message, tree, expressible=True)
        return tree
    order = call.expression
    maker = "STRUCT" if context.dialect == "spark" else "ROW"
    pair = exp.Anonymous(this=maker, expressions=[order.copy(), call.this.copy()])
    known = exp.Not(this=exp.Is(this=exp.paren(order.copy()), expression=exp.null()))
    call.set("expression", exp.Case(ifs=[exp.If(this=known, true=pair)]))
    context.note("ties in MAX_BY and MIN_BY are broken by the value")
    return built


def _with_separator(context: Context, tree: exp.Expr) -> exp.Expr:
    """A joined text with its separator written out: the default differs between the dialects."""
    call = unwrapped(tree)
    if not isinstance(call, exp.GroupConcat) or call.args.get("separator") is not None:
        return tree
    built = tree.copy()
    separator = "" if context.dialect == "spark" else ","
    unwrapped(built).set("separator", exp.Literal.string(separator))
    return built


def _feature(call: exp.Expr, name: str) -> str:
    if isinstance(call.this, exp.Distinct):
        return f"{name}_distinct"
    return name


def _filtered(tree: exp.Expr, kind: AggregateKind | None) -> exp.Expr:
    """The call with its FILTER inside the argument, where a NULL argument counts for nothing."""
    if not isinstance(tree, exp.Filter):
        return tree
    call = tree.this.copy()
    predicate = tree.expression.this
    if isinstance(call, exp.CountIf):
        call.set("this", exp.and_(call.this, predicate))
        return call
    if isinstance(call, exp.Count):
        return _filtered_count(call, predicate)
    if kind not in _SKIPS_NULLS or not isinstance(call, exp.AggFunc):
        return tree
    argument = call.this
    if isinstance(argument, exp.Distinct):
        argument.set("expressions", [_when(predicate, item) for item in argument.expressions])
    else:
        call.set("this", _when(predicate, argument))
    return call


def _filtered_count(call: exp.Count, predicate: exp.Expr) -> exp.Expr:
    argument = call.this
    if isinstance(argument, exp.Distinct):
        argument.set("expressions", [_when(predicate, item) for item in argument.expressions])
        return call
    value = exp.Literal.number(1) if isinstance(argument, exp.Star) else argument
    rest = [_when(predicate, item) for item in call.expressions]
    return exp.Count(this=_when(predicate, value), expressions=rest or None, big_int=True)


def _when(predicate: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=predicate.copy(), true=value.copy())])


def _has_order(tree: exp.Expr) -> bool:
    call = unwrapped(tree)
    return isinstance(call.this, exp.Order)


def _sorted(tree: exp.Expr) -> exp.Expr:
    return exp.ArraySort(this=tree.copy(), nulls_first=exp.true())


def _ordered(context: Context, tree: exp.Expr) -> exp.Expr:
    """The call with the value itself as the last sort key: equal values cannot be told apart."""
    if context.dialect == "spark" and isinstance(unwrapped(tree), _ARRAYS):
        # Spark has no ORDER BY inside these, and gives them in any order.
        context.note("arrays of COLLECT_LIST, COLLECT_SET and ARRAY_AGG are sorted")
        return tree if isinstance(tree, exp.ArraySort) else _sorted(tree)
    built = tree.copy()
    call = unwrapped(built)
    argument = call.this
    given = argument.expressions if isinstance(argument, exp.Order) else []
    value = argument.this if isinstance(argument, exp.Order) else argument
    inner = value.expressions[0] if isinstance(value, exp.Distinct) else value
    if not isinstance(inner, exp.Expr):
        return tree
    keys = [item.copy() for item in given]
    if all(item.this != inner for item in keys):
        keys.append(exp.Ordered(this=inner.copy(), desc=False, nulls_first=True))
    call.set("this", exp.Order(this=value.copy(), expressions=keys))
    return built
