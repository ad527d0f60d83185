"""A definition without an algebra: its own text, with every base table pinned where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count

from sqlglot import exp

from grebe.compiler.lower.scope import RESERVED, dotted
from grebe.compiler.parse import parse
from grebe.compiler.program.columns import names_cte
from grebe.errors import InternalError

Pinned = Callable[[tuple[str, ...]], str]
"""The text that reads a base table, given its name as it was written."""


def pinned_text(sql: str, dialect: str, read: Pinned) -> str:
    """The query with every base table replaced by what reads it at its version."""
    tree = parse(sql, dialect)
    for table in list(base_tables(tree)):
        table.replace(_subquery(table, dialect, read))
    if not all(t.args.get("when") or t.args.get("version") for t in base_tables(tree)):
        raise InternalError.broken("a base table is left without its version")
    return tree.sql(dialect=dialect, comments=False)


def base_tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """The tables of a query that are no common table expressions."""
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not names_cte(table):
            yield table


def _parts(table: exp.Table) -> tuple[str, ...]:
    return tuple(part.name for part in table.parts)


def _subquery(table: exp.Table, dialect: str, read: Pinned) -> exp.Expr:
    inner: exp.Expr = exp.maybe_parse(f"SELECT * FROM {read(_parts(table))}", dialect=dialect)
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
    joins = table.args.get("joins")
    return exp.Subquery(this=inner, alias=alias.copy(), joins=joins)


def expanded(sql: str, queries: Mapping[str, str]) -> str:
    """The text with some tables, named as they are written, replaced by queries."""
    tree = parse(sql, "duckdb")
    inners = {name.lower(): parse(text, "duckdb") for name, text in queries.items()}
    stem = _free_stem([tree, *inners.values()])
    for table in list(base_tables(tree)):
        inner = inners.get(dotted(_parts(table)).lower())
        if inner is not None:
            alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
            shown = _renamed(inner.copy(), stem)
            joins = table.args.get("joins")
            table.replace(exp.Subquery(this=shown, alias=alias.copy(), joins=joins))
    return tree.sql("duckdb", comments=False)


def _free_stem(trees: Iterable[exp.Expr]) -> str:
    """The beginning of names that none of the queries has."""
    names = {item.name.lower() for tree in trees for item in tree.find_all(exp.Identifier)}
    stems = (f"kept{number}_" for number in count(1))
    return next(stem for stem in stems if not any(name.startswith(stem) for name in names))


def _renamed(tree: exp.Expr, stem: str) -> exp.Expr:
    """The tree with its own hidden names spelled so that a definition may use them."""
    for item in tree.find_all(exp.Identifier):
        if item.name.startswith(RESERVED):
            item.set("this", f"{stem}{item.name.removeprefix(RESERVED)}")
    return tree
