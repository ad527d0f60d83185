"""SQL text for DuckDB: names, literals, variables and checks, quoted by `grebe.sql_text`."""

from __future__ import annotations

from collections.abc import Iterable

from grebe import sql_text
from grebe.sql_text import quote_path


def ident(*parts: str) -> str:
    """A quoted, dotted name.

    >>> ident("dl", "main", 'an "odd" name')
    '"dl"."main"."an ""odd"" name"'
    """
    return quote_path(*parts, dialect="duckdb")


def literal(value: str) -> str:
    """A string literal.

    >>> literal("it's")
    "'it''s'"
    """
    return sql_text.literal(value, "duckdb")


def listed(names: Iterable[str]) -> str:
    """Quoted names, separated by commas."""
    return ", ".join(ident(name) for name in names)


def variable(name: str) -> str:
    """The value of a session variable."""
    return f"getvariable({literal(name)})"


def assign(name: str, query: str) -> str:
    """The statement that keeps the one value of a query in a session variable."""
    return f"SET VARIABLE {name} = (\n{query}\n)"


def require_none(query: str, message: str) -> str:
    """The statement that raises when a query gives any row."""
    return assign(
        "__grebe_checked",
        f"SELECT CASE WHEN COUNT(*) > 0 THEN error({literal(message)}) ELSE TRUE END FROM (\n"
        f"{query}\n) AS __grebe_wrong",
    )


def keep(name: str, query: str) -> str:
    """The statement that keeps the rows of a query until the end of the transaction."""
    return f"CREATE OR REPLACE TEMP TABLE {temporary(name)} AS\n{query}"


def temporary(name: str) -> str:
    """The name of a kept relation."""
    return ident("temp", "main", f"__grebe_{name}")


def same(left: str, right: str, names: Iterable[str], signed: Iterable[str] = ()) -> str:
    """Null-safe equality of some columns of two relations; TRUE without any.

    Those of ``signed`` are the same to readers, too: -0.0 is not 0.0.
    """
    tests = [f"{ident(left, name)} IS NOT DISTINCT FROM {ident(right, name)}" for name in names]
    for name in signed:
        one, two = (f"CAST({ident(side, name)} AS VARCHAR)" for side in (left, right))
        tests.append(f"{one} IS NOT DISTINCT FROM {two}")
    return " AND ".join(tests) or "TRUE"
