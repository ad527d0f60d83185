"""The SELECT list with its stars written out."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import Resolver, quoted
from grebe.compiler.lower.frame import Frame
from grebe.compiler.lower.scope import Columns
from grebe.errors import UnknownColumnError, UnknownTableError


def expanded(
    context: Context, tree: exp.Expr, frame: Frame, resolver: Resolver
) -> Iterator[tuple[str, exp.Expr]]:
    """Pairs of (public name, resolved expression) for one item of the list."""
    match tree:
        case exp.Star():
            _known(context, frame, tree)
            yield from _star(context, tree, frame.star, resolver)
        case exp.Column() if isinstance(tree.this, exp.Star):
            yield from _star(context, tree.this, _of_table(context, tree, frame), resolver)
        case exp.Alias():
            yield tree.alias, resolver.tree(tree.this)
        case exp.Aliases():
            yield (
                "",
                exp.Aliases(
                    this=resolver.tree(tree.this),
                    expressions=[item.copy() for item in tree.expressions],
                ),
            )
        case exp.Column():
            yield tree.name, resolver.tree(tree)
        case exp.Dot() if isinstance(tree.expression, exp.Identifier):
            yield tree.expression.name, resolver.tree(tree)
        case _:
            yield "", resolver.tree(tree)


def _known(context: Context, frame: Frame, tree: exp.Expr) -> None:
    if not frame.sources:
        context.invalid("a star needs FROM", tree)


def _of_table(context: Context, tree: exp.Column, frame: Frame) -> Columns:
    qualifier = tuple(part.name.lower() for part in tree.parts[:-1])
    found = [source for source in frame.sources if source.answers(qualifier)]
    if not found:
        known = [".".join(source.qualifier) for source in frame.sources if source.qualifier]
        raise UnknownTableError.named(".".join(qualifier), known, where=context.where(tree))
    return tuple(pair for source in found for pair in source.columns)


def _star(
    context: Context, star: exp.Star, columns: Columns, resolver: Resolver
) -> Iterator[tuple[str, exp.Expr]]:
    without = _names(star, "except_")
    replaced = {item.alias.lower(): item.this for item in star.args.get("replace") or []}
    renamed = {item.this.name.lower(): item.alias for item in star.args.get("rename") or []}
    known = [name for name, _ in columns]
    for name in [*without, *replaced, *renamed]:
        if name not in {own.lower() for own in known}:
            raise UnknownColumnError.named(name, known, where=context.where(star))
    for name, own in columns:
        low = name.lower()
        if low in without:
            continue
        if low in replaced:
            yield name, resolver.tree(replaced[low])
        else:
            yield renamed.get(low, name), quoted(own, star)


def _names(star: exp.Star, key: str) -> list[str]:
    found = star.args.get(key) or []
    return [item.name.lower() for item in found]
