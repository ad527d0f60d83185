"""A definition as its user's characters, in which each table can be put in its place.

The text is kept as it was written, comments and all, with a mark in the place of every table:
what stands behind it (a pinned relation, an empty one that has its columns, a view's own SELECT)
is filled in later. Nothing else of the text is ever touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.nodes import Verbatim
from grebe.compiler.parser.parse import parse, place_of
from grebe.compiler.parser.spans import Span, spliced
from grebe.compiler.parser.tokens import tokens_of
from grebe.compiler.text.references import (
    Parts,
    Reference,
    References,
    loose_references,
    names_by_text,
    references,
)
from grebe.errors import DefinitionError, SqlSyntaxError, UnsupportedSQLError

MARK: Final = "\x00"
"""Stands before and behind the full name of a table."""


def tables_in(sql: str, dialect: str) -> list[Parts]:
    """The names of base tables as they are written, each once."""
    return list(dict.fromkeys(item.parts for item in references_in(sql, dialect).tables))


def spoken(sql: str) -> str:
    """The text as Spark can run it: QUALIFY is ours, and becomes a WHERE around its query."""
    if "QUALIFY" not in sql.upper():
        return sql
    try:
        tree = parse(sql, "spark")
    except DefinitionError:
        return sql
    if not any(select.args.get("qualify") for select in tree.find_all(exp.Select)):
        return sql
    return tree.sql("spark", comments=False)


def references_in(sql: str, dialect: str) -> References:
    """Where a text names tables; by its words alone, when the parser does not read it.

    Raises:
        UnsupportedSQLError: it cannot be told.
    """
    try:
        found = (
            None if names_by_text(sql, dialect) else references(sql, parse(sql, dialect), dialect)
        )
    except SqlSyntaxError:
        return loose_references(sql, dialect)
    if found is None:
        raise UnsupportedSQLError(
            "table_reference",
            "where the query names its tables cannot be told",
            hint="name tables plainly behind FROM and JOIN",
            where=place_of(None, sql),
        )
    return found


def anchored(sql: str, dialect: str, names: Mapping[Parts, str]) -> str:
    r"""The text with a mark for every table.

    >>> anchored("select s.t.a from s.t -- all", "spark", {("s", "t"): "lake.s.t"})
    'select `t`.a from \x00lake.s.t\x00 AS `t` -- all'
    """
    if MARK in sql:
        raise UnsupportedSQLError("character", "a definition cannot hold the character NUL")
    found = references_in(sql, dialect)
    marks = placed(found, dialect, lambda parts: f"{MARK}{names[parts]}{MARK}")
    return without_end(spliced(sql, marks), dialect)


def placed(
    found: References, dialect: str, relation: Callable[[Parts], str]
) -> list[tuple[Span, str]]:
    """What to put where, so that a text reads other relations than its tables."""
    parts = [(item.span, relation(item.parts) + _alias(item, dialect)) for item in found.tables]
    return [*parts, *((span, _quoted(name, dialect)) for span, name in found.qualifiers)]


def without_end(text: str, dialect: str) -> str:
    """The text up to its last token, without a semicolon; a comment behind it is of no use."""
    tokens = tokens_of(text, dialect)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if not tokens:
        return text
    end = tokens[-1].end + 1
    rest = text[end:].strip().strip(";").strip()
    return text[:end] if not rest else text.rstrip().rstrip(";")


def _alias(item: Reference, dialect: str) -> str:
    """A table without an alias is known by its last part."""
    return "" if item.aliased else f" AS {_quoted(item.parts[-1], dialect)}"


def filled(text: str, relation: Callable[[str], str]) -> str:
    r"""A marked text with its tables replaced by relations, which are names or `(SELECT …)`.

    >>> filled("SELECT t.a FROM \x00lake.s.t\x00 AS t", lambda name: "(SELECT 1 AS a)")
    'SELECT t.a FROM (SELECT 1 AS a) AS t'
    """
    pieces = text.split(MARK)
    pieces[1::2] = [relation(name) for name in pieces[1::2]]
    return "".join(pieces)


def named_in(text: str) -> list[str]:
    """The full names of the tables of a marked text, each once."""
    return list(dict.fromkeys(text.split(MARK)[1::2]))


def shown(text: str) -> str:
    """A marked text as a person can read it."""
    return text.replace(MARK, "")


def relation_of(node: Verbatim, dialect: str, relation: Callable[[str], str]) -> str:
    """The node as a relation with its own column names, over relations for its tables."""
    names = ", ".join(_quoted(name, dialect) for name in node.names)
    # A comment at the end of the text ends with its line.
    return f"(\n{filled(node.sql, relation)}\n) AS {_quoted('__grebe_text', dialect)} ({names})"


def as_expression(
    found: References, at: Reference, given: Sequence[tuple[Span, str]], dialect: str
) -> list[tuple[Span, str]]:
    """What to put where, so that one table is read as the expression of its name.

    An engine that accepts the text finds such an expression there, and no table.
    """
    other = _quoted("__grebe_other", dialect)
    rest = [(span, new) for span, new in given if span != at.span]
    alias = _alias(at, dialect)
    return [*rest, *((span, other) for span in found.ctes), (at.span, other + alias)]


def _quoted(name: str, dialect: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect)
