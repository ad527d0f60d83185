"""Expressions that give NULL where they would raise.

A plan evaluates keys nearer to the sources than the query does, on rows that the query drops before
it evaluates anything: a row without a partner, or one that WHERE excludes. Such a row may raise.
There it does not matter what it gives, as long as it does not: the query drops the row anyway.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.raising import raising
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.parser.chains import LONG, links

_SPARK: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "try_add",
    exp.Sub: "try_subtract",
    exp.Mul: "try_multiply",
    exp.Div: "try_divide",
}


def forgiving(item: Scalar) -> Scalar | None:
    """The expression without its errors, or None when an engine has no such form of it."""
    risky = raising(item.ast, Types())
    if not risky:
        return item
    if any(len(links(tree)) > LONG for tree in risky):
        return None  # one call inside of the other, as many as the chain has operands
    if all(type(tree) is exp.Cast or type(tree) in _SPARK for tree in risky):
        return Scalar.of(exp.Try(this=item.copy()))
    return None


def spelled(tree: exp.Expr, dialect: str) -> exp.Expr:
    """The tree with TRY as the engine spells it; the caller gives the tree away.

    >>> from sqlglot import parse_one
    >>> spelled(parse_one("TRY(CAST(a AS INT) / 2)"), "spark").sql("spark")
    'TRY_DIVIDE(TRY_CAST(a AS INT), 2)'
    >>> spelled(parse_one("x + TRY(1 / (a / CAST(b AS INT)))"), "spark").sql("spark")
    'x + TRY_DIVIDE(1, (TRY_DIVIDE(a, TRY_CAST(b AS INT))))'
    """
    if dialect != "spark":
        return tree
    return tree.transform(_without_try, copy=False)


def _without_try(tree: exp.Expr) -> exp.Expr:
    return _tried(tree.this) if isinstance(tree, exp.Try) else tree


def _tried(tree: exp.Expr) -> exp.Expr:
    """From the leaves up: an argument may raise before what it is an argument of."""
    for node in reversed(list(tree.walk())):
        form = _form(node)
        if node is tree:
            tree = form
        elif form is not node:
            node.replace(form)
    return tree


def _form(tree: exp.Expr) -> exp.Expr:
    if type(tree) is exp.Cast:
        # Spark is asked for the safe form by name, or the parser writes a plain CAST.
        return exp.TryCast(**{**tree.args, "safe": True})
    name = _SPARK.get(type(tree))
    if name is None:
        return tree
    return exp.Anonymous(this=name, expressions=[tree.this, tree.args["expression"]])
