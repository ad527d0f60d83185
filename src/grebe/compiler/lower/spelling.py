"""Functions that the parser knows under another dialect's name, in the words of this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

Respelling = Callable[[exp.Expr], exp.Expr]


def respelled(tree: exp.Expr, dialect: str) -> exp.Expr:
    """The expression in a form whose text is right in the dialect; most stay as they are."""
    if dialect != "spark":
        return tree
    rule = _SPARK.get(type(tree))
    return tree if rule is None else rule(tree)


def _call(name: str, *keys: str) -> Respelling:
    """A call by name with the given parts of the node as arguments."""

    def change(tree: exp.Expr) -> exp.Expr:
        values = [tree.args[key].copy() for key in keys if tree.args.get(key) is not None]
        built = exp.Anonymous(this=name, expressions=values)
        built.meta.update(tree.meta)
        return built

    return change


def _percentile(tree: exp.Expr) -> exp.Expr:
    """PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x) as PERCENTILE(x, p)."""
    call, order = tree.this, tree.expression
    if not isinstance(call, exp.PercentileCont) or not isinstance(order, exp.Order):
        return tree
    if len(order.expressions) != 1 or call.args.get("expression") is not None:
        return tree
    key = order.expressions[0]
    share = call.this.copy()
    if key.args.get("desc"):
        share = exp.Sub(this=exp.Literal.number(1), expression=exp.paren(share, copy=False))
    built = exp.Quantile(this=key.this.copy(), quantile=share)
    built.meta.update(call.meta)
    return built


_SPARK: Final[dict[type[exp.Expr], Respelling]] = {
    exp.ToChar: _call("to_char", "this", "format"),
    exp.ParseJSON: _call("parse_json", "this"),
    exp.WithinGroup: _percentile,
}
