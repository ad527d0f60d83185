"""Rows from arrays and maps, and subqueries that read what stands before them in FROM."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from grebe.compiler.algebra.nodes import InnerJoin, Node, OuterJoin, Projection, Unnest
from grebe.compiler.algebra.scalar import Scalar, all_of, build, column
from grebe.compiler.lower.block import Block
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.decorrelate_general import NotPushedError, joined_by, push
from grebe.compiler.lower.decorrelate_simple import pull
from grebe.compiler.lower.expressions import quoted
from grebe.compiler.lower.frame import Frame, aliased
from grebe.compiler.lower.laterals import Item
from grebe.compiler.lower.scope import Columns, Environment, NamedSource
from grebe.compiler.lower.shape import free_columns
from grebe.compiler.reasons import ReasonCode
from grebe.sql_text import made

_OUTER = (exp.ExplodeOuter, exp.PosexplodeOuter)
_WITH_POSITION = (exp.Posexplode, exp.PosexplodeOuter)


def is_generator(tree: exp.Expr) -> bool:
    """True for an item of FROM that may read the items before it."""
    function = isinstance(tree, exp.Table) and isinstance(tree.this, exp.Explode)
    return function or isinstance(tree, (exp.Lateral, exp.Unnest))


def as_series(context: Context, tree: exp.Expr) -> exp.Expr:
    """DuckDB's range and generate_series in FROM as the rows of the list that they give, too."""
    if context.dialect != "duckdb" or not isinstance(tree, exp.Table):
        return tree
    call = tree.this
    if not isinstance(call, exp.GenerateSeries) or tree.args.get("ordinality"):
        return tree
    own = "range" if call.args.get("is_end_exclusive") else "generate_series"
    given = tree.args.get("alias")
    alias = given.copy() if isinstance(given, exp.TableAlias) else exp.TableAlias()
    if alias.this is None:
        alias.set("this", exp.to_identifier(own))
    if not alias.columns:
        alias.set("columns", [exp.to_identifier(own)])
    rest = {key: tree.args[key] for key in ("joins", "sample") if tree.args.get(key)}
    return exp.Unnest(expressions=[call.copy()], alias=alias, **rest)


def generated(context: Context, left: Frame, join: exp.Join, environment: Environment) -> Frame:
    """The rows before, each with those that the item makes of it."""
    tree = join.this
    if isinstance(tree, exp.Lateral) and isinstance(tree.this, exp.Query):
        return _lateral(context, left, join, environment)
    outer = _join_keeps_rows(context, join)
    if isinstance(tree, exp.Unnest):
        frame = _unnest(context, left, tree, environment, outer=outer)
    else:
        frame = explode_view(context, left, tree, environment, outer=outer)
    on = join.args.get("on")
    if on is None or (isinstance(on, exp.Boolean) and on.this):
        return frame
    if outer:
        context.refuse(ReasonCode.JOIN_KIND, "an outer join to UNNEST has ON TRUE", join)
        return frame
    resolver = frame.resolver(context, environment)
    block = Block(context, frame.node, resolver.pending)
    block.filter(resolver.scalar(on))
    return Frame(block.node, frame.sources, frame.star)


def _join_keeps_rows(context: Context, join: exp.Join) -> bool:
    side = str(join.args.get("side") or "")
    if side in ("RIGHT", "FULL") or join.args.get("using") or join.args.get("method"):
        context.refuse(ReasonCode.JOIN_KIND, "this join to generated rows has no rule", join)
    return side == "LEFT"


@dataclass(frozen=True, slots=True)
class _Names:
    """What a generator's columns are called."""

    values: tuple[str, ...]
    position: str | None
    given: tuple[str, ...]
    """Those that the text gives; the others are the engine's."""


def explode_view(
    context: Context,
    frame: Frame,
    tree: exp.Expr,
    environment: Environment,
    *,
    outer: bool = False,
) -> Frame:
    """LATERAL VIEW [OUTER] explode(…) and posexplode(…)."""
    context.features.add("unnest")
    call = tree.this
    alias = tree.args.get("alias")
    given = [item.name for item in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if not isinstance(call, exp.Explode):
        message = f'"{type(call).__name__.lower()}" in LATERAL VIEW has no rule'
        context.refuse(ReasonCode.TABLE_FUNCTION, message, tree)
        return replace(frame, sources=(*frame.sources, NamedSource((), (), open=True)))
    resolver = frame.resolver(context, environment)
    collection = resolver.scalar(call.this)
    block = Block(context, frame.node, resolver.pending)
    block.need((collection,))
    names = _names(context, call, collection, given)
    keeps = outer or bool(tree.args.get("outer")) or isinstance(call, _OUTER)
    node, pairs = _exploded(context, block.node, collection, names, outer=keeps)
    qualifier = (tree.alias,) if tree.alias else ()
    return Frame(node, (*frame.sources, NamedSource(qualifier, pairs)), (*frame.star, *pairs))


def _names(context: Context, call: exp.Expr, collection: Scalar, given: list[str]) -> _Names:
    positioned = isinstance(call, _WITH_POSITION)
    kind = context.types.get(collection.column or "", "").upper()
    default = ["key", "value"] if kind.startswith("MAP") else ["col"]
    if positioned:
        default.insert(0, "pos")
    names = given or default
    if not 1 + positioned <= len(names) <= 2 + positioned:
        context.invalid(f"{len(names)} names stand for the columns of this function", call)
    if positioned:
        return _Names(tuple(names[1:]), names[0], tuple(given))
    return _Names(tuple(names), None, tuple(given))


def _exploded(
    context: Context, node: Node, collection: Scalar, names: _Names, *, outer: bool
) -> tuple[Node, Columns]:
    def fresh(name: str) -> str:
        return context.fresh(name if name in names.given else made(name))

    position = fresh(names.position) if names.position else None
    own = tuple(fresh(name) for name in names.values)
    exploded = Unnest(node, collection, own, outer, position)
    pairs = tuple(zip(names.values, own, strict=True))
    if names.position and position:
        pairs = ((names.position, position), *pairs)
    return exploded, pairs


def _unnest(
    context: Context, frame: Frame, tree: exp.Unnest, environment: Environment, *, outer: bool
) -> Frame:
    context.features.add("unnest")
    if len(tree.expressions) != 1:
        context.refuse(ReasonCode.TABLE_FUNCTION, "UNNEST of several arrays has no rule", tree)
    resolver = frame.resolver(context, environment)
    collection = resolver.scalar(tree.expressions[0])
    block = Block(context, frame.node, resolver.pending)
    block.need((collection,))
    alias = tree.args.get("alias")
    given = [item.name for item in alias.columns] if isinstance(alias, exp.TableAlias) else []
    offset = tree.args.get("offset")
    ordinal = offset.name if isinstance(offset, exp.Expr) else ("ordinality" if offset else None)
    names = _Names((given[0] if given else "unnest",), ordinal, tuple(given))
    node, pairs = _exploded(context, block.node, collection, names, outer=outer)
    if ordinal is not None:
        node, pairs = _counted_from_one(context, node, pairs)
        pairs = (*pairs[1:], pairs[0])
    qualifier = (tree.alias,) if tree.alias else ("unnest",)
    return Frame(node, (*frame.sources, NamedSource(qualifier, pairs)), (*frame.star, *pairs))


def _counted_from_one(context: Context, node: Node, pairs: Columns) -> tuple[Node, Columns]:
    (public, position), *rest = pairs
    shifted = context.fresh(public)
    kept = tuple((name, column(name)) for name in node.columns)
    value = build(":p + 1", p=column(position))
    return Projection(node, (*kept, (shifted, value))), ((public, shifted), *rest)


def explode_items(context: Context, block: Block, items: list[Item]) -> list[Item]:
    """The outputs with a generator among them turned into rows."""
    found = [call for item in items for call in item.tree.find_all(exp.Explode)]
    if not found:
        return items
    context.features.add("unnest")
    if len({call.sql() for call in found}) > 1:
        message = "several functions that give rows in one SELECT have no rule"
        context.refuse(ReasonCode.TABLE_FUNCTION, message, found[1])
    call = found[0]
    collection = Scalar.of(call.this.copy())
    block.need((collection,))
    given: list[str] = []
    for item in items:
        if isinstance(item.tree, exp.Aliases):
            given = [name.name for name in item.tree.expressions]
        elif item.tree is call and item.name:
            given = [item.name]
    kind = context.types.get(collection.column or "", "").upper()
    plain = not isinstance(call, _WITH_POSITION) and not kind.startswith("MAP")
    if kind.startswith("STRUCT"):
        context.refuse(ReasonCode.TABLE_FUNCTION, "UNNEST of a struct has no rule", call)
    names = _names(context, call, collection, given if len(given) != 1 or plain else [])
    node, pairs = _exploded(context, block.node, collection, names, outer=isinstance(call, _OUTER))
    block.node = node
    return [made for item in items for made in _replaced(context, item, call, pairs)]


def _replaced(context: Context, item: Item, call: exp.Expr, pairs: Columns) -> list[Item]:
    tree = item.tree.this if isinstance(item.tree, exp.Aliases) else item.tree
    if tree.find(exp.Explode) is None:
        return [item]
    if tree == call:
        if len(pairs) == 1:
            return [Item(item.name, quoted(pairs[0][1]))]
        return [Item(name, quoted(own)) for name, own in pairs]
    if len(pairs) > 1:
        context.invalid("a function with several columns stands alone in the SELECT list", call)
    text = call.sql()

    def change(node: exp.Expr) -> exp.Expr:
        same = isinstance(node, exp.Explode) and node.sql() == text
        return quoted(pairs[0][1]) if same else node

    return [Item(item.name, tree.copy().transform(change, copy=False))]


def _lateral(context: Context, left: Frame, join: exp.Join, environment: Environment) -> Frame:
    """A subquery that reads the row before it, as a join."""
    context.features.add("lateral")
    tree = join.this
    keeps = _join_keeps_rows(context, join)
    inside = environment.inside(left.scope(environment))
    query = context.lower_query(context, tree.this, inside)
    right = aliased(context, query, tree, ())
    node, conditions = _decorrelated(context, left.node, right.node, tree)
    both = Frame(node, (*left.sources, *right.sources), (*left.star, *right.star))
    on = join.args.get("on")
    resolver = both.resolver(context, environment)
    if on is not None:
        conditions = [*conditions, resolver.scalar(on)]
    if not keeps:
        block = Block(context, InnerJoin((left.node, node), ()), resolver.pending)
        block.filter(all_of(conditions))
        return replace(both, node=block.node)
    if resolver.pending:
        message = "a subquery in the ON of an outer lateral join has no rule"
        context.refuse(ReasonCode.SUBQUERY_IN_OUTER_JOIN, message, join)
    return replace(both, node=OuterJoin(left.node, node, all_of(conditions)))


def _decorrelated(
    context: Context, left: Node, right: Node, tree: exp.Expr
) -> tuple[Node, list[Scalar]]:
    outer = free_columns(right) & set(left.columns)
    pulled = pull(context, right, frozenset(outer), bag=True)
    if pulled is not None:
        return pulled.node, list(pulled.conditions)
    try:
        pushed = push(context, right, left)
    except NotPushedError as error:
        message = f"the lateral subquery reads the row before it through {error}"
        context.refuse(ReasonCode.CORRELATED_SUBQUERY, message, tree)
        return right, []
    return pushed.node, [joined_by(pushed)]
