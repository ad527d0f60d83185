"""FROM: tables, common table expressions, subqueries, and what is joined to them."""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.algebra.nodes import Scan, Values
from grebe.compiler.algebra.scalar import NULL, Scalar
from grebe.compiler.lower.array_rows import as_series, explode_view, generated, is_generator
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.frame import (
    Frame,
    aliased,
    crossed,
    no_rows_needed,
    of_query,
    renamed,
)
from grebe.compiler.lower.joins import join_frames
from grebe.compiler.lower.pivot import pivoted
from grebe.compiler.lower.scope import Environment, NamedSource, Query
from grebe.compiler.reasons import ReasonCode
from grebe.sql_text import made

_REFUSED_TABLE_PARTS = {
    "sample": ("tablesample", "TABLESAMPLE gives other rows every time"),
    "version": ("time_travel", "a definition reads its sources at the versions of the refresh"),
    "when": ("time_travel", "a definition reads its sources at the versions of the refresh"),
    "changes": ("time_travel", "a definition reads tables, not their changes"),
    "partition": ("partition", "a definition reads whole tables"),
    "rows_from": ("table_function", "ROWS FROM is not known"),
    "only": ("only", "ONLY is not known"),
}


def lower_from(context: Context, select: exp.Select, environment: Environment) -> Frame:
    """The relation that FROM, its joins and its lateral views give."""
    clause = select.args.get("from_")
    if clause is None:
        return no_rows_needed(context)
    trees = select.args.get("joins") or []
    frame = _joined(context, clause.this, trees, environment)
    for lateral in select.args.get("laterals") or []:
        frame = explode_view(context, frame, lateral, environment)
    return frame


def _joined(
    context: Context, first: exp.Expr, joins: list[exp.Join], environment: Environment
) -> Frame:
    """In DuckDB joins bind tighter than commas: what stands between them is joined on its own."""
    done: list[Frame] = []
    current = lower_relation(context, first, environment)
    for join in joins:
        tree = as_series(context, join.this)
        if is_generator(tree):
            if tree is not join.this:
                join = join.copy()
                join.set("this", tree)
            whole = crossed([*done, current])
            done, current = [], generated(context, whole, join, environment)
        elif _is_comma(context, join):
            done.append(current)
            current = lower_relation(context, tree, environment)
            context.features.add("join")
        else:
            right = lower_relation(context, tree, environment)
            if done and _reads_earlier(context, [current, right], join, environment):
                done, current = [], crossed([*done, current])
            current = join_frames(context, current, right, join, environment)
    return crossed([*done, current])


def _reads_earlier(
    context: Context, frames: list[Frame], join: exp.Join, environment: Environment
) -> bool:
    """True when ON names a table before the comma, which DuckDB allows."""
    tree = join.args.get("on")
    if tree is None or context.dialect != "duckdb" or join.args.get("side") in ("RIGHT", "FULL"):
        return False
    scope = crossed(frames).scope(environment.inside(None))
    columns = (column for column in tree.find_all(exp.Column) if column.table)
    return any(
        not any(source.answers((column.table.lower(),)) for source in scope.sources)
        for column in columns
    )


def _is_comma(context: Context, join: exp.Join) -> bool:
    """True for a comma that separates whole joins: in Spark it joins like any other word."""
    words = ("on", "using", "side", "method", "kind")
    return context.dialect == "duckdb" and not any(join.args.get(key) for key in words)


def lower_relation(context: Context, tree: exp.Expr, environment: Environment) -> Frame:
    """One item of FROM with the joins that are nested in it."""
    tree = as_series(context, tree)
    match tree:
        case _ if is_generator(tree):
            join = exp.Join(this=tree.copy())
            frame = generated(context, no_rows_needed(context), join, environment)
        case exp.Table():
            frame = _table(context, tree, environment)
        case exp.Pivot():
            frame = pivoted(
                context, lower_relation(context, tree.this, environment), [tree], environment
            )
        case exp.Subquery() if isinstance(tree.this, (exp.Table, exp.Pivot)):
            frame = lower_relation(context, tree.this, environment)
            frame = _under_alias(frame, tree)
        case exp.Subquery():
            if tree.args.get("sample"):
                context.stop("tablesample", "TABLESAMPLE gives other rows every time", tree)
            query = context.lower_query(context, tree, environment)
            frame = aliased(context, query, tree, ())
        case exp.Values():
            frame = _values(context, tree, environment)
        case _:
            return refused(context, tree)
    if tree.args.get("pivots"):
        frame = pivoted(context, frame, tree.args["pivots"], environment)
    joins = tree.args.get("joins") or []
    if joins and not isinstance(tree, exp.Values):
        frame = _nested_joins(context, frame, joins, environment)
    return frame


def _nested_joins(
    context: Context, frame: Frame, joins: list[exp.Join], environment: Environment
) -> Frame:
    current = frame
    for join in joins:
        right = lower_relation(context, join.this, environment)
        current = join_frames(context, current, right, join, environment)
    return current


def refused(context: Context, tree: exp.Expr) -> Frame:
    """A relation without a rule: the reason is kept, and any name is taken to be its column."""
    name = type(tree.this if isinstance(tree, exp.Table) else tree).__name__.lower()
    context.refuse(ReasonCode.TABLE_FUNCTION, f'"{name}" in FROM has no rule', tree)
    node = Values((context.fresh(made(name)),), ((NULL,),))
    alias = (tree.alias,) if tree.alias else ()
    return Frame(node, (NamedSource(alias, (), open=True),), ())


def _under_alias(frame: Frame, tree: exp.Subquery) -> Frame:
    return of_query(Query(frame.node, frame.star), (tree.alias,)) if tree.alias else frame


def _table(context: Context, tree: exp.Table, environment: Environment) -> Frame:
    for key, (feature, message) in _REFUSED_TABLE_PARTS.items():
        if tree.args.get(key):
            context.stop(feature, message, tree)
    if not isinstance(tree.this, (exp.Identifier, exp.Dot)):
        return refused(context, tree)
    parts = tuple(part.name for part in tree.parts)
    cte = environment.ctes.get(parts[0].lower()) if len(parts) == 1 else None
    if cte is not None:
        query = context.lower_query(context, cte.query, cte.environment)
        return aliased(context, renamed(context, query, cte.columns, tree), tree, parts)
    return _scan(context, tree, parts)


def _scan(context: Context, tree: exp.Table, parts: tuple[str, ...]) -> Frame:
    relation = context.relation(parts, tree)
    pairs: list[tuple[str, str]] = []
    for name, type_text in relation.columns:
        own = context.fresh(name)
        pairs.append((own, name))
        if type_text is not None:
            context.types[own] = type_text
    node = Scan(relation.name, tuple(pairs))
    columns = tuple((name, own) for own, name in pairs)
    return aliased(context, Query(node, columns), tree, parts)


def _with_alias(tree: exp.Values) -> exp.Values:
    """VALUES whose alias the parser took for one of the last value."""
    last = tree.expressions[-1]
    cells = last.expressions if isinstance(last, exp.Tuple) else [last]
    if not cells or not isinstance(cells[-1], exp.Alias):
        return tree
    built = tree.copy()
    inner = built.expressions[-1].expressions[-1]
    alias = built.args.get("alias") or exp.TableAlias()
    alias.set("this", exp.to_identifier(inner.alias))
    inner.replace(inner.this)
    built.set("alias", alias)
    return built


def _values(context: Context, tree: exp.Values, environment: Environment) -> Frame:
    tree = _with_alias(tree)
    rows: list[tuple[Scalar, ...]] = []
    resolver = no_rows_needed(context).resolver(context, environment)
    for item in tree.expressions:
        cells = item.expressions if isinstance(item, exp.Tuple) else [item]
        rows.append(tuple(resolver.scalar(cell) for cell in cells))
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        context.invalid("the rows of VALUES differ in length", tree)
    if resolver.pending:
        context.refuse(
            ReasonCode.UNSUPPORTED_EXPRESSION, "a subquery inside VALUES has no rule", tree
        )
    alias = tree.args.get("alias")
    given = [item.name for item in alias.columns] if isinstance(alias, exp.TableAlias) else []
    first = 1 if context.dialect == "spark" else 0
    names = [*given, *(f"col{i + first}" for i in range(len(given), width))][:width]
    own = tuple(context.fresh(name if name in given else made(name)) for name in names)
    pairs = tuple(zip(names, own, strict=True))
    source = NamedSource((tree.alias,) if tree.alias else (), pairs)
    return Frame(Values(own, tuple(rows)), (source,), pairs)
