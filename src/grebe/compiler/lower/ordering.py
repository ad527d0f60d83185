"""ORDER BY and LIMIT: a total order and a cut, or nothing at all."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from grebe.compiler.algebra.nodes import Node, Order, TopK
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.shape import at_most_one_row
from grebe.compiler.reasons import ReasonCode


@dataclass(frozen=True, slots=True)
class RowLimit:
    """How many rows are kept after how many are skipped."""

    limit: int | None
    offset: int


def is_all(tree: exp.Expr) -> bool:
    """True for the word ALL behind ORDER BY; a column of that name is quoted or qualified."""
    bare = isinstance(tree, exp.Column) and len(tree.parts) == 1
    return bare and tree.name.upper() == "ALL" and not tree.this.args.get("quoted")


def cut_of(context: Context, query: exp.Expr) -> RowLimit | None:
    """What LIMIT, FETCH and OFFSET say, or None when all rows are kept."""
    limit_tree, offset_tree = query.args.get("limit"), query.args.get("offset")
    limit = _limit(context, limit_tree) if limit_tree is not None else None
    offset = 0
    if offset_tree is not None:
        offset = _whole(context, offset_tree.expression, offset_tree) or 0
    if limit is None and not offset:
        return None
    context.features.add("limit")
    return RowLimit(limit, offset)


def _limit(context: Context, tree: exp.Expr) -> int | None:
    options = tree.args.get("limit_options")
    if options is not None and options.args.get("with_ties"):
        context.refuse(ReasonCode.LIMIT_WITH_TIES, "FETCH … WITH TIES has no rule", tree)
        return None
    if options is not None and options.args.get("percent"):
        context.refuse(ReasonCode.LIMIT_NOT_CONSTANT, "LIMIT by percentage has no rule", tree)
        return None
    if tree.args.get("expressions"):
        context.refuse(ReasonCode.UNSUPPORTED_CLAUSE, "LIMIT … BY has no rule", tree)
        return None
    value = tree.args.get("count") if isinstance(tree, exp.Fetch) else tree.expression
    if value is None:
        return 1
    if isinstance(value, exp.Column) and value.name.upper() == "ALL":
        return None
    if isinstance(value, exp.All) or (isinstance(value, exp.Var) and value.name.upper() == "ALL"):
        return None
    return _whole(context, value, tree)


def _whole(context: Context, tree: exp.Expr, clause: exp.Expr) -> int | None:
    plain = tree.unnest()
    if isinstance(plain, exp.Null):
        return None
    if isinstance(plain, exp.Literal) and not plain.is_string and plain.name.isdigit():
        return int(plain.name)
    context.refuse(ReasonCode.LIMIT_NOT_CONSTANT, "LIMIT and OFFSET must be whole numbers", clause)
    return None


def topk(
    context: Context, node: Node, order: tuple[Order, ...], cut: RowLimit, query: exp.Expr
) -> Node:
    """The rows that the cut keeps; ties are broken by the other columns at the end of lowering."""
    clause = query.args.get("limit") or query.args.get("offset")
    if not cut.offset and cut.limit != 0 and at_most_one_row(node):
        return node
    if not order:
        message = "LIMIT without ORDER BY keeps arbitrary rows"
        context.refuse(ReasonCode.LIMIT_WITHOUT_ORDER, message, clause, expressible=True)
    return TopK(node, (), order, cut.limit, cut.offset, context.where(clause))


def directions(context: Context, item: exp.Expr) -> tuple[bool, bool]:
    """Whether a sort key descends, and whether its NULLs come first, as the dialect has it."""
    if not isinstance(item, exp.Ordered):
        return False, context.dialect == "spark"
    return bool(item.args.get("desc")), bool(item.args.get("nulls_first"))


DROPPED = "ORDER BY without LIMIT is dropped: a stored table has no order"
