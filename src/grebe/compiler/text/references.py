"""Where a text names tables, so that others can stand in their place and nothing else moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from grebe.compiler.parser.spans import Span, span_of
from grebe.compiler.parser.tokens import tokens_of

Parts = tuple[str, ...]

_BEFORE_TABLE: Final = ("FROM", "JOIN", "TABLE")
_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)


@dataclass(frozen=True, slots=True)
class Reference:
    """One place where a text reads a table."""

    span: Span
    parts: Parts
    aliased: bool
    """True when the text gives it another name; else it is known by its last part."""


@dataclass(frozen=True, slots=True)
class References:
    """Everything in a text that names its tables."""

    tables: tuple[Reference, ...]
    qualifiers: tuple[tuple[Span, str], ...] = ()
    """What stands before columns as `schema.table`, and the last part of it."""
    doubtful: tuple[Reference, ...] = ()
    """Tables that have the name of a common table expression elsewhere in the text."""
    ctes: tuple[Span, ...] = ()
    """Where common table expressions of those names are defined and read."""


def base_tables(tree: exp.Expr, hidden: frozenset[str] = frozenset()) -> Iterator[exp.Table]:
    """The references to tables, without those to common table expressions."""
    clause = tree.args.get("with_")
    inside = hidden
    if isinstance(clause, exp.With):
        for item in clause.expressions:
            name = item.alias.lower()
            own = inside | {name} if clause.args.get("recursive") else inside
            yield from base_tables(item.this, own)
            inside = inside | {name}
    if isinstance(tree, exp.Table) and isinstance(tree.this, (exp.Identifier, exp.Dot)):
        hides = len(tree.parts) == 1 and tree.name.lower() in inside
        if not hides:
            yield tree
    for child in tree.iter_expressions():
        if child is not clause and not isinstance(child, exp.Hint):
            yield from base_tables(child, inside)


def references(text: str, tree: exp.Expr, dialect: str) -> References | None:
    """The tables that a parsed text reads; None when one of them has no place in the text."""
    tables = list(base_tables(tree))
    found: list[Reference] = []
    for table in tables:
        span = _span_of_name(table)
        if span is None:
            return None
        # `TABLE t` takes no alias.
        alone = text[: span.start].rstrip().upper().endswith("TABLE")
        aliased = alone or bool(table.args.get("alias"))
        found.append(Reference(span, tuple(part.name for part in table.parts), aliased))
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    doubtful = [item for item in found if len(item.parts) == 1 and item.parts[0].lower() in names]
    ctes = _places_of_ctes(tree, tables, {item.parts[0].lower() for item in doubtful})
    if ctes is None or not _all_found(text, found, tree, dialect):
        return None
    qualifiers = tuple(_qualifiers(tree, found))
    return References(tuple(found), qualifiers, tuple(doubtful), ctes)


def _span_of_name(table: exp.Table) -> Span | None:
    """The characters of the name alone: `(t AS x JOIN u …)` is read as the table t with a join."""
    first, last = (span_of(part) for part in (table.parts[0], table.parts[-1]))
    return Span(first.start, last.end) if first and last else span_of(table)


def _places_of_ctes(
    tree: exp.Expr, tables: Sequence[exp.Table], names: set[str]
) -> tuple[Span, ...] | None:
    """Where expressions of these names are defined and read."""
    if not names:
        return ()
    own = {id(table) for table in tables}
    places: list[Span | None] = [
        span_of(cte.args["alias"].this)
        for cte in tree.find_all(exp.CTE)
        if cte.alias.lower() in names
    ]
    places.extend(
        span_of(table)
        for table in tree.find_all(exp.Table)
        if id(table) not in own and len(table.parts) == 1 and table.name.lower() in names
    )
    known = [place for place in places if place is not None]
    return tuple(known) if len(known) == len(places) else None


def _qualifiers(tree: exp.Expr, tables: Sequence[Reference]) -> Iterator[tuple[Span, str]]:
    """Columns that name an unaliased table together with its schema."""
    written = {tuple(part.lower() for part in item.parts) for item in tables if not item.aliased}
    for column in tree.find_all(exp.Column):
        before = column.parts[:-1]
        lowered = tuple(part.name.lower() for part in before)
        if len(lowered) < 2 or not any(name[-len(lowered) :] == lowered for name in written):
            continue
        first, last = span_of(before[0]), span_of(before[-1])
        if first is not None and last is not None:
            yield Span(first.start, last.end), before[-1].name


def _names(qualifier: Parts, table: Parts) -> bool:
    """True when a qualifier says a table's name, in full or without its first parts."""
    length = min(len(qualifier), len(table))
    return length > 1 and qualifier[-length:] == table[-length:]


def _all_found(text: str, found: Sequence[Reference], tree: exp.Expr, dialect: str) -> bool:
    """False when a name behind FROM or JOIN is neither a table nor a common table expression."""
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    starts = {item.span.start for item in found}
    for span, parts, _ in _chains(text, dialect):
        if span.start not in starts and not (len(parts) == 1 and parts[0].lower() in ctes):
            return False
    return True


def names_by_text(text: str, dialect: str) -> bool:
    """True where a name is a string: ``IDENTIFIER('s.t')`` may be any table, function or column.

    >>> names_by_text("SELECT a FROM IDENTIFIER('s.t')", "spark")
    True
    >>> names_by_text("SELECT identifier FROM s.t", "spark")
    False
    """
    return dialect == "spark" and any(
        one.text.upper() == "IDENTIFIER"
        and one.token_type is not TokenType.IDENTIFIER
        and two.token_type is TokenType.L_PAREN
        for one, two in pairwise(tokens_of(text, dialect))
    )


def loose_references(text: str, dialect: str) -> References:
    """The tables that a text seems to read, told by its words alone: for texts without a tree."""
    tokens = tokens_of(text, dialect)
    ctes = {
        tokens[i].text.lower()
        for i in range(len(tokens) - 2)
        if tokens[i].token_type in _NAMES
        and tokens[i + 1].text.upper() == "AS"
        and tokens[i + 2].token_type is TokenType.L_PAREN
    }
    return References(
        tuple(
            Reference(span, parts, aliased)
            for span, parts, aliased in _chains(text, dialect)
            if len(parts) > 1 or parts[0].lower() not in ctes
        )
    )


def _chains(text: str, dialect: str) -> Iterator[tuple[Span, Parts, bool]]:
    """Dotted names that stand where a table can: behind FROM, JOIN or TABLE; whether aliased."""
    tokens = tokens_of(text, dialect)
    for index, token in enumerate(tokens):
        word = token.text.upper()
        if word not in _BEFORE_TABLE or token.token_type in _NAMES:
            continue
        if _is_part_of_call(tokens, index):
            continue
        at: int | None = index + 1
        while at is not None:
            chain = _chain(tokens, at)
            end = at + 2 * len(chain) - 1
            following = tokens[end] if end < len(tokens) else None
            called = following is not None and following.token_type is TokenType.L_PAREN
            if not chain or called:  # a query or a table function
                break
            span = Span(chain[0].start, chain[-1].end + 1)
            alone = word == "TABLE"  # `TABLE t` takes no alias
            yield span, tuple(item.text for item in chain), alone or _is_alias(following)
            at = _behind_comma(tokens, end) if word == "FROM" else None


def _behind_comma(tokens: Sequence[Token], at: int) -> int | None:
    """Where the next table of a list begins, behind the alias of the one before."""
    if at < len(tokens) and _is_alias(tokens[at]):
        at += 2 if tokens[at].text.upper() == "AS" else 1
    is_comma = at < len(tokens) and tokens[at].token_type is TokenType.COMMA
    return at + 1 if is_comma else None


def _is_part_of_call(tokens: Sequence[Token], index: int) -> bool:
    """True for the FROM of `EXTRACT(YEAR FROM x)`, `TRIM(a FROM b)`, `IS DISTINCT FROM`."""
    if index and tokens[index - 1].text.upper() == "DISTINCT":
        return True
    depth = 0
    for token in reversed(tokens[:index]):
        if token.token_type is TokenType.R_PAREN:
            depth += 1
        elif token.token_type is TokenType.L_PAREN:
            if depth == 0:
                return True
            depth -= 1
        elif depth == 0 and token.text.upper() in ("SELECT", "FROM", "JOIN"):
            return False
    return False


def _chain(tokens: Sequence[Token], start: int) -> list[Token]:
    found: list[Token] = []
    at = start
    while at < len(tokens) and tokens[at].token_type in _NAMES:
        found.append(tokens[at])
        if at + 1 >= len(tokens) or tokens[at + 1].token_type is not TokenType.DOT:
            break
        at += 2
    return found


_CLAUSES: Final = frozenset(
    [
        "WHERE",
        "GROUP",
        "ORDER",
        "HAVING",
        "LIMIT",
        "JOIN",
        "LEFT",
        "RIGHT",
        "INNER",
        "FULL",
        "CROSS",
        "ON",
        "USING",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "LATERAL",
        "SORT",
        "CLUSTER",
        "DISTRIBUTE",
        "PIVOT",
        "UNPIVOT",
        "WINDOW",
        "QUALIFY",
        "NATURAL",
        "SEMI",
        "ANTI",
        "MINUS",
        "OFFSET",
    ]
)


def _is_alias(token: Token | None) -> bool:
    if token is None:
        return False
    return token.text.upper() == "AS" or (
        token.token_type in _NAMES and token.text.upper() not in _CLAUSES
    )
