"""Parsed trees with their parts changed; the given tree stays as it is."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from grebe.compiler.algebra.functions import unwrapped

Change = Callable[[exp.Expr], exp.Expr]


def mapped(tree: exp.Expr, change: Change) -> exp.Expr:
    """The same node with each expression it holds changed."""
    arguments: dict[str, object] = {}
    for key, value in tree.args.items():
        if isinstance(value, exp.Expr):
            arguments[key] = change(value)
        elif isinstance(value, list):
            arguments[key] = [change(i) if isinstance(i, exp.Expr) else i for i in value]
        else:
            arguments[key] = value
    built = type(tree)(**arguments)
    if tree.meta:
        built.meta.update(tree.meta)
    return built


def mapped_inside(tree: exp.Expr, change: Change) -> exp.Expr:
    """A window's function with its arguments changed, through IGNORE NULLS and FILTER."""
    if unwrapped(tree) is tree:
        return mapped(tree, change)

    def inside(item: exp.Expr) -> exp.Expr:
        return mapped_inside(item, change) if item is tree.this else change(item)

    return mapped(tree, inside)
