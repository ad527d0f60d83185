"""An expression that is kept as its user's characters: columns in, a value out.

Where the parser reads something else than the engine does, the characters themselves go into the
algebra. Nothing is known of such an expression but the columns that it reads; it may raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark
from sqlglot.generator import Generator

from grebe.compiler.parser.spans import Span, span_of
from grebe.errors import InternalError

_HOLE: Final = "\x00"
"""Stands in the characters where a column is read."""
_CAST: Final = "cast"


class Opaque(exp.Expression):
    """Characters with holes, and the trees that fill them, in order."""

    arg_types = {"this": True, "expressions": False}  # noqa: RUF012  # how the parser's library declares parts


class OpaqueLiteral(Opaque):
    """A constant in the characters of its user, such as ``DATE '2026-01-31'``."""


def opaque(pieces: Sequence[str], parts: Sequence[exp.Expr]) -> Opaque:
    """Characters with a tree between every two pieces."""
    if any(_HOLE in piece for piece in pieces):
        raise InternalError.broken("a definition holds the character that marks columns")
    return Opaque(this=_HOLE.join(pieces), expressions=list(parts))


def literal(text: str, cast: exp.Cast) -> OpaqueLiteral:
    """A constant that is written as it was; as a cast where another engine runs it."""
    built = OpaqueLiteral(this=text, expressions=[])
    built.meta[_CAST] = cast
    return built


def _literal(generator: Any, tree: OpaqueLiteral) -> str:  # noqa: ANN401
    cast = tree.meta.get(_CAST)
    return generator.sql(cast) if cast is not None else str(tree.this)


def _written(generator: Any, tree: Opaque) -> str:  # noqa: ANN401  # each dialect's own class
    pieces = tree.this.split(_HOLE)
    filled = [pieces[0]]
    for part, piece in zip(tree.expressions, pieces[1:], strict=True):
        plain = isinstance(part, exp.Column)
        inside = generator.sql(part)
        filled += [inside if plain else f"({inside})", piece]
    return f"({''.join(filled)})"


for _class in (Generator, Spark.Generator, DuckDB.Generator):
    _class.TRANSFORMS[Opaque] = _written
Generator.TRANSFORMS[OpaqueLiteral] = lambda _, tree: str(tree.this)
Spark.Generator.TRANSFORMS[OpaqueLiteral] = lambda _, tree: str(tree.this)
DuckDB.Generator.TRANSFORMS[OpaqueLiteral] = _literal


def holes_of(
    tree: exp.Expr, whole: Span, is_call: Callable[[exp.Expr], bool]
) -> list[tuple[Span, exp.Expr]] | None:
    """What an expression reads: columns, and calls over rows, each with its span, in order.

    None when one of them has no span.
    """
    found: list[tuple[Span, exp.Expr]] = []
    waiting = list(tree.iter_expressions())
    while waiting:
        node = waiting.pop()
        if not isinstance(node, exp.Column) and not is_call(node):
            waiting.extend(node.iter_expressions())
            continue
        span = span_of(node)
        if span is None or not whole.holds(span):
            return None
        found.append((span, node))
    return sorted(found, key=lambda item: item[0])
