"""The aggregate of a SELECT: plain keys, or GROUPING SETS, ROLLUP and CUBE as one aggregate."""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.functions import aggregates_in
from grebe.compiler.lower.block import Block
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import Resolver
from grebe.compiler.lower.grouping import Grouping
from grebe.compiler.nodes import Aggregate
from grebe.compiler.scalar import Scalar


def aggregated(
    context: Context,
    select: exp.Select,
    resolver: Resolver,
    block: Block,
    items: list[exp.Expr],
    trees: list[exp.Expr],
) -> list[exp.Expr]:
    """The expressions over the aggregate, which is now on top of the relation."""
    keys = _keys(context, select.args.get("group"), resolver, items)
    if keys:
        context.features.add("group_by")
    scalars = list({key.text: key for key in keys}.values())
    names = block.compute([(_hint(key), key) for key in scalars])
    texts = {scalar.text: name for scalar, name in zip(scalars, names, strict=True)}
    grouping = Grouping(context, block, texts)
    lifted = [grouping.lift(tree) for tree in trees]
    block.join_subqueries(call for _, call in grouping.scalars)
    where = context.where(select.args.get("group") or select)
    unique = tuple(dict.fromkeys(names))
    block.node = Aggregate(block.node, unique, tuple(grouping.scalars), where)
    block.computed = {}
    return lifted


def _hint(key: Scalar) -> str:
    return key.column or "key"


def _keys(
    context: Context, group: exp.Group | None, resolver: Resolver, items: list[exp.Expr]
) -> list[Scalar]:
    if group is None:
        return []
    if group.args.get("all"):
        return [Scalar.of(i.unnest()) for i in items if not any(True for _ in aggregates_in(i))]
    return [key_of(context, tree, resolver, items) for tree in group.expressions]


def key_of(
    context: Context, tree: exp.Expr, resolver: Resolver, items: list[exp.Expr]
) -> Scalar:
    """A key as an expression below the aggregate."""
    plain = tree.unnest()
    if isinstance(plain, exp.Literal) and plain.is_int:
        place = int(plain.name)
        if not 1 <= place <= len(items):
            context.invalid(f"position {place} is not in the SELECT list", plain)
        found = items[place - 1].copy()
    else:
        found = resolver.tree(plain)
    if any(True for _ in aggregates_in(found)) or found.find(exp.Window):
        context.invalid("GROUP BY cannot hold an aggregate or a window function", tree)
    return Scalar.of(found.unnest())
