"""UNPIVOT: one branch of a union per column that becomes rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from grebe.compiler.algebra.nodes import Filter, Node, Projection, UnionAll
from grebe.compiler.algebra.scalar import Scalar, all_of, build, column, text
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.frame import Frame
from grebe.compiler.lower.scope import Environment, NamedSource
from grebe.compiler.reasons import ReasonCode
from grebe.sql_text import made


@dataclass(frozen=True, slots=True)
class _Turned:
    """Columns that become one row: what the row is called, and the columns' values."""

    label: str
    columns: tuple[str, ...]


def unpivoted(context: Context, frame: Frame, pivot: exp.Pivot, environment: Environment) -> Frame:
    """The relation with some columns as rows."""
    context.features.add("unpivot")
    label, values, items = _parts(pivot)
    turned = [_turned(context, frame, item, environment) for item in items]
    if not label or not all(len(item.columns) == len(values) for item in turned if item):
        context.invalid("UNPIVOT names one column for each value", pivot)
    known = [item for item in turned if item is not None]
    if len(known) < len(turned) or not known:
        context.refuse(ReasonCode.DYNAMIC_PIVOT, "UNPIVOT of this expression has no rule", pivot)
        return Frame(frame.node, (NamedSource((), (), open=True),), frame.star)
    used = {name for item in known for name in item.columns}
    kept = [pair for pair in frame.star if pair[1] not in used]
    branches = tuple(_branch(context, frame.node, kept, item) for item in known)
    publics = [*(name for name, _ in kept), label, *values]
    names = tuple(context.fresh(name) for name in publics)
    node: Node = UnionAll(branches, names)
    if not pivot.args.get("include_nulls"):
        node = Filter(node, _some_value(names[len(kept) + 1 :]))
    pairs = tuple(zip(publics, names, strict=True))
    alias = (pivot.alias,) if pivot.alias else ()
    return Frame(node, (NamedSource(alias, pairs),), pairs)


def _parts(pivot: exp.Pivot) -> tuple[str, list[str], list[exp.Expr]]:
    """The label's column, the values' columns, and what becomes rows."""
    fields = pivot.args.get("fields")
    if fields:
        field = fields[0]
        first = pivot.expressions[0]
        values = first.expressions if isinstance(first, exp.Tuple) else [first]
        return field.this.name, [item.name for item in values], list(field.expressions)
    into = pivot.args.get("into")
    if into is None:
        return "name", ["value"], list(pivot.expressions)
    return into.this.name, [item.name for item in into.expressions], list(pivot.expressions)


def _turned(
    context: Context, frame: Frame, item: exp.Expr, environment: Environment
) -> _Turned | None:
    alias = item.alias if isinstance(item, (exp.PivotAlias, exp.Alias)) else ""
    plain = item.this if isinstance(item, (exp.PivotAlias, exp.Alias)) else item
    trees = plain.expressions if isinstance(plain, exp.Tuple) else [plain.unnest()]
    resolver = frame.resolver(context, environment)
    found = []
    for tree in trees:
        name = resolver.scalar(tree).column if isinstance(tree, exp.Column) else None
        if name is None:
            return None
        found.append(name)
    publics = {own: name for name, own in frame.star}
    label = alias or "_".join(publics.get(name, name) for name in found)
    return _Turned(label, tuple(found))


def _branch(context: Context, node: Node, kept: list[tuple[str, str]], item: _Turned) -> Node:
    outputs: list[tuple[str, Scalar]] = [
        (context.fresh(public), column(own)) for public, own in kept
    ]
    outputs.append((context.fresh(made("label")), text(item.label)))
    outputs += [(context.fresh(name), column(name)) for name in item.columns]
    return Projection(node, tuple(outputs))


def _some_value(names: tuple[str, ...]) -> Scalar:
    """Rows whose values are all NULL are left out."""
    missing = all_of([build(":x IS NULL", x=column(name)) for name in names])
    return build("NOT :p", p=missing)
