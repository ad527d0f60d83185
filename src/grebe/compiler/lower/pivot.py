"""PIVOT with the values written in the text: one aggregate with a filtered call per value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from grebe.compiler.algebra.functions import aggregate_kind, empty_value
from grebe.compiler.algebra.nodes import Aggregate, Node, Projection
from grebe.compiler.algebra.scalar import Scalar, build, column
from grebe.compiler.lower.aggregates import normal_call
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import Resolver
from grebe.compiler.lower.frame import Frame
from grebe.compiler.lower.scope import Columns, Environment, NamedSource
from grebe.compiler.lower.unpivot import unpivoted
from grebe.compiler.reasons import ReasonCode
from grebe.sql_text import made


@dataclass(frozen=True, slots=True)
class _Value:
    """One value of a pivoted column: when a row has it, and what its column is called."""

    test: exp.Expr
    name: str


@dataclass(frozen=True, slots=True)
class _Call:
    """One aggregate of PIVOT with its alias, "" when it has none."""

    tree: exp.Expr
    name: str


def pivoted(
    context: Context, frame: Frame, pivots: Sequence[exp.Pivot], environment: Environment
) -> Frame:
    """The relation turned by its PIVOT and UNPIVOT clauses, one after the other."""
    current = frame
    for pivot in pivots:
        turn = unpivoted if pivot.args.get("unpivot") else _pivoted
        current = turn(context, current, pivot, environment)
    return current


def _pivoted(context: Context, frame: Frame, pivot: exp.Pivot, environment: Environment) -> Frame:
    context.features.add("pivot")
    if len({own for _, own in frame.star}) < len(frame.star):
        context.invalid("the columns of a pivoted relation have names of their own", pivot)
    resolver = frame.resolver(context, environment)
    fields = pivot.args.get("fields") or pivot.expressions
    calls = _calls(context, pivot, resolver)
    values = _values(context, fields, resolver)
    if values is None or calls is None or resolver.pending:
        context.refuse(
            ReasonCode.DYNAMIC_PIVOT, "the columns of this PIVOT depend on the data", pivot
        )
        return Frame(frame.node, (NamedSource((), (), open=True),), frame.star)
    read = {name for field in fields for name in resolver.scalar(field.this).columns}
    read.update(name for call in calls for name in Scalar.of(call.tree.copy()).columns)
    groups = _groups(context, frame, pivot, resolver, read)
    names = _names(context, pivot, values, calls)
    return _built(context, frame.node, pivot, groups, _filtered(context, values, calls), names)


def _calls(context: Context, pivot: exp.Pivot, resolver: Resolver) -> list[_Call] | None:
    trees = pivot.expressions if pivot.args.get("fields") else pivot.args.get("using") or []
    found = []
    for tree in trees:
        plain = tree.this if isinstance(tree, exp.Alias) else tree
        resolved = resolver.tree(plain)
        if aggregate_kind(resolved) is None:
            return None
        found.append(_Call(resolved, tree.alias if isinstance(tree, exp.Alias) else ""))
    return found or None


def _values(
    context: Context, fields: Sequence[exp.Expr], resolver: Resolver
) -> list[_Value] | None:
    """Every combination of the fields' values, or None when they are not written out."""
    lists: list[list[_Value]] = []
    for field in fields:
        if not isinstance(field, exp.In) or not field.expressions or field.args.get("query"):
            return None
        one = [_value(item, resolver.tree(field.this), resolver) for item in field.expressions]
        kept = [item for item in one if item is not None]
        if len(kept) < len(one):
            return None
        lists.append(kept)
    found = []
    for chosen in product(*lists):
        test = exp.and_(*(item.test.copy() for item in chosen))
        found.append(_Value(test, "_".join(item.name for item in chosen)))
    return found or None


def _value(item: exp.Expr, pivoted_by: exp.Expr, resolver: Resolver) -> _Value | None:
    alias = item.alias if isinstance(item, (exp.PivotAlias, exp.Alias)) else ""
    plain = item.this if isinstance(item, (exp.PivotAlias, exp.Alias)) else item
    if plain.find(exp.Column, exp.Query):
        return None
    resolved = resolver.tree(plain)
    lefts = pivoted_by.expressions if isinstance(pivoted_by, exp.Tuple) else [pivoted_by]
    rights = resolved.expressions if isinstance(resolved, exp.Tuple) else [resolved]
    if len(lefts) != len(rights) or (len(rights) > 1 and not alias):
        return None
    pairs = zip(lefts, rights, strict=True)
    tests = [exp.NullSafeEQ(this=a.copy(), expression=b.copy()) for a, b in pairs]
    return _Value(exp.and_(*tests), alias or plain.name)


def _groups(
    context: Context, frame: Frame, pivot: exp.Pivot, resolver: Resolver, read: set[str]
) -> Columns:
    clause = pivot.args.get("group")
    if clause is None:
        return tuple(pair for pair in frame.star if pair[1] not in read)
    found = []
    for tree in clause.expressions:
        name = resolver.scalar(tree).column
        if name is None:
            context.invalid("GROUP BY of a PIVOT names columns", tree)
        found.append((tree.name, name))
    return tuple(found)


def _filtered(
    context: Context, values: Sequence[_Value], calls: Sequence[_Call]
) -> list[tuple[exp.Expr, Scalar]]:
    """The test and the call of each output column, values outside, calls inside."""
    found = []
    for value in values:
        for call in calls:
            where = exp.Where(this=value.test.copy())
            tree = exp.Filter(this=call.tree.copy(), expression=where)
            found.append((value.test, Scalar.of(normal_call(context, tree))))
    return found


def _names(
    context: Context, pivot: exp.Pivot, values: Sequence[_Value], calls: Sequence[_Call]
) -> list[str]:
    given = [item.name for item in pivot.args.get("columns") or []]
    if len(given) == len(values) * len(calls):
        return given
    if len(calls) > 1 and not all(call.name for call in calls):
        context.stop("pivot", "several aggregates of a PIVOT need aliases", pivot)
    return [
        f"{value.name}_{call.name}" if call.name else value.name
        for value in values
        for call in calls
    ]


def _built(
    context: Context,
    node: Node,
    pivot: exp.Pivot,
    groups: Columns,
    calls: Sequence[tuple[exp.Expr, Scalar]],
    names: Sequence[str],
) -> Frame:
    own = [context.fresh(name) for name in names]
    filtered = [(name, call) for name, (_, call) in zip(own, calls, strict=True)]
    keys = tuple(dict.fromkeys(name for _, name in groups))
    outputs = list(own)
    filled: list[tuple[str, Scalar]] = []
    for index, (test, call) in enumerate(calls):
        # Spark pivots by a first value: where no row has the pivoted value, there is no value.
        if context.dialect == "spark" and not isinstance(empty_value(call.ast, "spark"), exp.Null):
            present = exp.Case(ifs=[exp.If(this=test.copy(), true=exp.Literal.number(1))])
            rows = context.fresh(made("rows"))
            filtered.append((rows, Scalar.of(exp.Count(this=present, big_int=True))))
            outputs[index] = context.fresh(names[index])
            value = build("CASE WHEN :n > 0 THEN :x END", n=column(rows), x=column(own[index]))
            filled.append((outputs[index], value))
    found: Node = Aggregate(node, keys, tuple(filtered), context.where(pivot))
    if filled:
        kept = tuple((name, column(name)) for name in found.columns)
        found = Projection(found, (*kept, *filled))
    pairs = (*groups, *zip(names, outputs, strict=True))
    alias = (pivot.alias,) if pivot.alias else ()
    return Frame(found, (NamedSource(alias, pairs),), pairs)
