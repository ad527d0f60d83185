"""SELECT: from FROM through WHERE, GROUP BY, HAVING, windows and QUALIFY to the output columns."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from grebe.compiler.algebra.nodes import Distinct, Order
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.lower.array_rows import explode_items
from grebe.compiler.lower.block import Block
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import Resolver
from grebe.compiler.lower.frame import Frame
from grebe.compiler.lower.grouping import has_aggregates
from grebe.compiler.lower.grouping_sets import Keys, aggregated, at_position, keys_of
from grebe.compiler.lower.laterals import Item
from grebe.compiler.lower.ordering import DROPPED, cut_of, directions, is_all, topk
from grebe.compiler.lower.relations import lower_from
from grebe.compiler.lower.scope import Environment, Query
from grebe.compiler.lower.shape import exactly
from grebe.compiler.lower.stars import expanded
from grebe.compiler.lower.windows import Windows
from grebe.compiler.reasons import ReasonCode
from grebe.sql_text import is_made, made

_CLAUSES = {
    "kind": "SELECT AS",
    "into": "INTO",
    "match": "MATCH_RECOGNIZE",
    "connect": "CONNECT BY",
    "prewhere": "PREWHERE",
    "settings": "SETTINGS",
    "format": "FORMAT",
    "options": "OPTION",
    "locks": "FOR UPDATE",
    "operation_modifiers": "a SELECT modifier",
    "exclude": "EXCLUDE after the list",
    "for_": "FOR",
}


@dataclass(slots=True)
class Parts:
    """The expressions of a SELECT, lifted level by level."""

    items: list[Item]
    having: exp.Expr | None = None
    qualify: exp.Expr | None = None
    order: list[exp.Expr] | None = None

    def trees(self) -> list[exp.Expr]:
        """Every expression that is evaluated above GROUP BY."""
        extra = [self.having, self.qualify, *(self.order or [])]
        return [*(item.tree for item in self.items), *(tree for tree in extra if tree is not None)]


def lower_select(context: Context, select: exp.Select, environment: Environment) -> Query:
    """The relation and output columns of one SELECT."""
    _check_clauses(context, select)
    frame = lower_from(context, select, environment)
    resolver = frame.resolver(context, environment)
    resolver.windows = {item.name.lower(): item for item in select.args.get("windows") or []}
    block = Block(context, frame.node, resolver.pending)
    parts = Parts(_items(context, select, frame, resolver))
    block.outputs = _read_by_others(parts.items, resolver)
    _where(context, select, resolver, block)
    keys = keys_of(context, select.args.get("group"), resolver, [i.tree for i in parts.items])
    _resolve_rest(context, select, resolver, parts, keys)
    if select.args.get("group") is not None or has_aggregates(parts.trees()):
        _aggregate(context, select, keys, block, parts)
    elif parts.having is not None:
        context.invalid("HAVING needs GROUP BY or an aggregate", select.args["having"])
    if parts.having is not None:
        context.features.add("having")
        block.filter(Scalar.of(parts.having))
    if context.dialect == "spark":  # which makes rows of a collection before it looks at windows
        parts.items = explode_items(context, block, parts.items)
    _windows(context, block, parts)
    if parts.qualify is not None:
        context.features.add("qualify")
        block.filter(Scalar.of(parts.qualify))
    return _output(context, select, block, parts)


def _check_clauses(context: Context, select: exp.Select) -> None:
    context.features.add("select")
    for key, words in _CLAUSES.items():
        if select.args.get(key):
            context.refuse(ReasonCode.UNSUPPORTED_CLAUSE, f"{words} has no rule", select)
    if select.args.get("sample"):
        context.stop("tablesample", "a sample gives other rows every time", select.args["sample"])
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        context.stop("distinct_on", "DISTINCT ON keeps arbitrary rows", distinct)
    if not select.expressions:
        context.stop("expression", "the SELECT list is empty", select)


def _items(context: Context, select: exp.Select, frame: Frame, resolver: Resolver) -> list[Item]:
    """The outputs, stars expanded; each may use the names of those before it."""
    items: list[Item] = []
    resolver.generators = resolver.laterals.open = True
    for tree in select.expressions:
        for name, expression in expanded(context, tree, frame, resolver):
            _check_name(context, name, tree)
            items.append(Item(name, expression))
            plain = isinstance(tree, exp.Column)
            if name and not plain:
                resolver.aliases.setdefault(name.lower(), expression)
    resolver.generators = resolver.laterals.open = False
    return items


def _read_by_others(items: list[Item], resolver: Resolver) -> dict[str, Item]:
    """The outputs with a column of their own; of several with one name the first is meant."""
    first = {item.name.lower(): item for item in reversed(items)}
    return {column: first[name] for column, name in resolver.laterals.columns.items()}


def _check_name(context: Context, name: str, tree: exp.Expr) -> None:
    if is_made(name):
        context.stop("reserved_name", f'the name "{name}" begins with the reserved prefix', tree)


def _where(context: Context, select: exp.Select, resolver: Resolver, block: Block) -> None:
    clause = select.args.get("where")
    if clause is None:
        return
    context.features.add("where")
    aliases = resolver.aliases
    if context.dialect == "spark":
        resolver.aliases = {}
    predicate = resolver.tree(clause.this)
    resolver.aliases = aliases
    if has_aggregates([predicate]):
        context.invalid("an aggregate cannot be in WHERE", clause, hint="use HAVING")
    if predicate.find(exp.Window):
        context.invalid("a window function cannot be in WHERE", clause, hint="use QUALIFY")
    block.filter(Scalar.of(predicate))


def _resolve_rest(
    context: Context, select: exp.Select, resolver: Resolver, parts: Parts, keys: Keys
) -> None:
    having, qualify = select.args.get("having"), select.args.get("qualify")
    if having is not None:
        parts.having = _having(having.this, resolver, keys)
    if qualify is not None:
        parts.qualify = resolver.tree(qualify.this)
    order = select.args.get("order") or select.args.get("sort")
    if order is not None:
        parts.order = [_order_tree(context, item, resolver, parts) for item in order.expressions]


def _having(tree: exp.Expr, resolver: Resolver, keys: Keys) -> exp.Expr:
    """An alias wins over a column, unless that column is grouped by or inside an aggregate."""
    aliases = resolver.aliases
    grouped = {scalar.column for scalar in keys.scalars}
    bare = {name.lower(): own for name, own in resolver.scope.star}
    resolver.aliases = {n: t for n, t in aliases.items() if bare.get(n) not in grouped}
    resolver.alias_first = True
    found = resolver.tree(tree)
    resolver.alias_first, resolver.aliases = False, aliases
    return found


def _order_tree(context: Context, item: exp.Expr, resolver: Resolver, parts: Parts) -> exp.Expr:
    tree = item.this if isinstance(item, exp.Ordered) else item
    plain = tree.unnest()
    if isinstance(plain, exp.Literal) and plain.is_int:
        return at_position(context, plain, [part.tree for part in parts.items]).copy()
    if is_all(plain):
        context.refuse(ReasonCode.UNSUPPORTED_CLAUSE, "ORDER BY ALL has no rule", item)
    resolver.alias_first = context.dialect == "spark" or isinstance(plain, exp.Column)
    outputs = {part.name.lower(): part.tree for part in parts.items if part.name}
    aliases, resolver.aliases = resolver.aliases, {**resolver.aliases, **outputs}
    found = resolver.tree(tree)
    resolver.alias_first, resolver.aliases = False, aliases
    return found


def _aggregate(
    context: Context, select: exp.Select, keys: Keys, block: Block, parts: Parts
) -> None:
    where = context.where(select.args.get("group") or select.expressions[0])
    lifted = aggregated(context, keys, block, parts.trees(), where)
    count = len(parts.items)
    for item, tree in zip(parts.items, lifted[:count], strict=True):
        item.tree = tree
    rest = iter(lifted[count:])
    parts.having = next(rest) if parts.having is not None else None
    parts.qualify = next(rest) if parts.qualify is not None else None
    parts.order = list(rest) if parts.order is not None else None


def _windows(context: Context, block: Block, parts: Parts) -> None:
    if not any(tree.find(exp.Window) for tree in parts.trees()):
        return
    for item in parts.items:
        if block.outputs and _reads_window(block, item):
            context.invalid("a window function cannot be inside another one", item.tree)
    windows = Windows(context, block)
    for item in parts.items:
        item.tree = windows.lift(item.tree)
    if parts.qualify is not None:
        parts.qualify = windows.lift(parts.qualify)
    if parts.order is not None:
        parts.order = [windows.lift(tree) for tree in parts.order]
    windows.finish()


def _reads_window(block: Block, item: Item) -> bool:
    """True when a window call is given an output that holds another one."""
    calls = [Scalar.of(call.copy()) for call in item.tree.find_all(exp.Window)]
    return any(tree.ast.find(exp.Window) for tree in block.missing(calls).values())


def _output(context: Context, select: exp.Select, block: Block, parts: Parts) -> Query:
    parts.items = explode_items(context, block, parts.items)
    scalars = [Scalar.of(item.tree.unnest()) for item in parts.items]
    hints = [item.name or made("expression") for item in parts.items]
    names = block.compute(list(zip(hints, scalars, strict=True)))
    publics = [item.name for item in parts.items]
    if select.args.get("distinct") is not None:
        context.features.add("distinct")
        block.node = Distinct(exactly(context, block.node, names))
        names = list(block.node.columns)
    columns = {scalar.text: name for scalar, name in zip(scalars, names, strict=True)}
    _sorted(context, select, block, parts, columns)
    return Query(block.node, tuple(zip(publics, names, strict=True)))


def _sorted(
    context: Context, select: exp.Select, block: Block, parts: Parts, outputs: dict[str, str]
) -> None:
    """Cut the rows; ``outputs`` gives the columns of outputs by the text of their expressions."""
    cut = cut_of(context, select)
    if parts.order is not None:
        context.features.add("order_by")
        if cut is None:
            context.note(DROPPED)
    if cut is None:
        return
    trees = [Scalar.of(tree.unnest()) for tree in parts.order or []]
    if select.args.get("distinct") is not None and any(s.text not in outputs for s in trees):
        context.invalid("ORDER BY of a DISTINCT query names its outputs", select)
    columns = [outputs.get(s.text) or block.compute([(made("sort"), s)])[0] for s in trees]
    clause = select.args.get("order") or select.args.get("sort")
    items = clause.expressions if clause is not None else []
    order = tuple(
        Order(name, *directions(context, item)) for name, item in zip(columns, items, strict=True)
    )
    block.node = topk(context, block.node, order, cut, select)
