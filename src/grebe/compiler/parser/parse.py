"""Text to tree: one SELECT of the dialect, with typed errors that point into the text."""

from __future__ import annotations

import re
import sys
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from grebe.compiler.parser.chains import balance
from grebe.compiler.parser.comments import blanked
from grebe.compiler.parser.dialect import READ
from grebe.errors import SqlSyntaxError, UnsupportedSQLError, Where

DIALECTS: Final = ("spark", "duckdb")
_DEEPEST: Final = 6_000
"""Calls inside of each other: the parser makes two dozen for a bracket. Never lowered again, as others may be deep."""
_END: Final = "the end of the text"


def parse(text: str, dialect: str, file: str | None = None) -> exp.Query:
    """The tree of the one query that the text holds.

    Raises:
        ValueError: the dialect is not known.
        SqlSyntaxError: the text is not SQL of the dialect.
        UnsupportedSQLError: the text holds another statement, or several.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEPEST))
    if dialect not in DIALECTS:
        raise ValueError(f'dialect "{dialect}" is not known; known: {", ".join(DIALECTS)}')
    statements = [tree for tree in _trees(text, dialect, file) if not _is_nothing(tree)]
    if not statements:
        raise SqlSyntaxError("the definition holds no query", where=place_of(None, text, file))
    if len(statements) > 1:
        raise UnsupportedSQLError(
            "several_statements",
            "a definition is one query, not several statements",
            hint="put each view into a file of its own",
            where=place_of(statements[1], text, file),
        )
    found = _query(statements[0], text, file)
    balance(found)
    if dialect == "duckdb":
        for call in found.find_all(exp.Count):
            if call.this is None:  # `count()` is `count(*)`
                call.set("this", exp.Star())
    return found


def _trees(text: str, dialect: str, file: str | None) -> list[exp.Expr]:
    try:
        found = sqlglot.parse(blanked(text), dialect=READ[dialect])
        return [tree for tree in found if tree is not None]
    except ParseError as error:
        raise _syntax_error(error, text, file) from None
    except TokenError as error:
        message = str(error).split("\n", maxsplit=1)[0]
        raise SqlSyntaxError(_as_message(message), where=place_of(None, text, file)) from None
    except RecursionError:
        raise too_deep(text, file) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # The parser gives up on some malformed texts with whatever happened to break first.
        message = "the text is not SQL of the dialect"
        where = place_of(None, text, file)
        raise SqlSyntaxError(message, detail=str(error) or None, where=where) from None


def too_deep(text: str, file: str | None) -> UnsupportedSQLError:
    """The error for a text that is nested deeper than it can be read."""
    return UnsupportedSQLError(
        "nesting",
        "the query is nested too deeply",
        hint="split it into common table expressions",
        where=place_of(None, text, file),
    )


def _syntax_error(error: ParseError, text: str, file: str | None) -> SqlSyntaxError:
    first = error.errors[0] if error.errors else {}
    line, column = first.get("line"), first.get("col")
    marked = first.get("highlight") or ""
    message = _as_message(str(first.get("description") or "the text cannot be parsed"))
    if not isinstance(line, int) or not isinstance(column, int):
        return SqlSyntaxError(message, where=place_of(None, text, file))
    start = max(1, column - len(marked) + 1)
    where = Where(max(1, line), start, file, text, max(1, len(marked)))
    return SqlSyntaxError(message, where=where)


_TOKEN: Final = re.compile(
    r"<Token token_type: [\w.]+, text: (.*?), line: \d+, col: .*?>", re.DOTALL
)
_MISSING: Final = re.compile(r"required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")
_WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _as_message(text: str) -> str:
    """The parser's words as one of its users would say them.

    >>> _as_message("Required keyword: 'this' missing for <class 'sqlglot.expressions.query.Where'>.")
    'WHERE is not complete'
    >>> _as_message("Expected table name but got <Token token_type: X, text: SENTINEL, line: 1, col: 1, start: 0>")
    'expected table name but got the end of the text'
    """
    plain = text.strip().rstrip(".")
    plain = plain[:1].lower() + plain[1:]
    plain = _TOKEN.sub(lambda found: _END if found[1] == "SENTINEL" else f'"{found[1]}"', plain)
    return _MISSING.sub(lambda found: f"{_WORDS.sub(' ', found[1]).upper()} is not complete", plain)


def _is_nothing(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Semicolon)


def _query(tree: exp.Expr, text: str, file: str | None) -> exp.Query:
    inner = tree
    while isinstance(inner, (exp.Subquery, exp.Paren)) and not inner.args.get("alias"):
        if not isinstance(inner.this, exp.Expr):
            break
        if isinstance(inner, exp.Subquery) and any(
            inner.args.get(key) for key in ("order", "limit", "offset", "with_", "joins", "pivots")
        ):
            break
        inner = inner.this
    if isinstance(inner, exp.Query) and not isinstance(inner, exp.Table):
        return inner
    if isinstance(inner, (exp.Values, exp.Pivot)):
        return exp.select("*").from_(inner)
    kind = type(tree).__name__ if not isinstance(tree, exp.Command) else str(tree.this)
    raise UnsupportedSQLError(
        "not_a_query",
        f"a definition is a SELECT, not {kind.upper()}",
        where=place_of(tree, text, file),
    )


def place_of(tree: exp.Expr | None, text: str, file: str | None = None) -> Where:
    """Where a tree begins in the text: its first token that knows its place, else the parent's."""
    current = tree
    while current is not None:
        spot = _first_spot(current)
        if spot is not None:
            start, end = spot
            before = text[:start]
            line = before.count("\n") + 1
            column = start - (before.rfind("\n") + 1) + 1
            return Where(line, column, file, text, max(1, end - start + 1))
        current = current.parent
    return Where(1, 1, file, text)


def _first_spot(tree: exp.Expr) -> tuple[int, int] | None:
    found: tuple[int, int] | None = None
    for node in tree.walk():
        meta = node.meta
        start, end = meta.get("start"), meta.get("end")
        if isinstance(start, int) and isinstance(end, int) and (not found or start < found[0]):
            found = (start, end)
    return found


def plain(tree: exp.Query) -> exp.Query:
    """The tree with one form for what can be said in two: ``x IS NOT NULL`` is ``NOT x IS NULL``."""

    def change(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Is) and node.args.get("negate"):
            node.set("negate", None)
            built = exp.Not(this=node.copy())
            built.meta.update(node.meta)
            return built
        return node

    return tree.transform(change, copy=False)  # type: ignore[return-value]


def normalised(tree: exp.Expr, dialect: str) -> str:
    """The text of a tree without comments, with one spelling of names, spaces and functions.

    The tree is used up: nobody may read it afterwards.
    """
    plain = normalize_identifiers(tree, dialect=dialect)
    return plain.sql(dialect=dialect, comments=False, normalize_functions="upper", copy=False)
