"""A definition without an algebra: its own text, with every base table pinned where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count

from sqlglot import exp

from grebe.compiler.lower.scope import RESERVED, dotted
from grebe.compiler.parser.parse import parse
from grebe.compiler.parser.spans import spliced
from grebe.compiler.text.references import References
from grebe.compiler.text.verbatim import placed, references_in, without_end

Pinned = Callable[[tuple[str, ...]], str]
"""The text that reads a base table, given its name as it was written."""


def pinned_text(sql: str, dialect: str, read: Pinned) -> str:
    """The user's own characters with every base table replaced by what reads it at its version."""

    def relation(parts: tuple[str, ...]) -> str:
        return f"(SELECT * FROM {read(parts)})"

    found = references_in(sql, dialect)
    return without_end(spliced(sql, placed(found, dialect, relation)), dialect)


def expanded(sql: str, queries: Mapping[str, str]) -> str:
    """The text with some tables, named as they are written, replaced by queries."""
    tree = parse(sql, "duckdb")
    inners = {name.lower(): parse(text, "duckdb") for name, text in queries.items()}
    stem = _free_stem([tree, *inners.values()])
    shown = {
        name: f"({_renamed(inner, stem).sql('duckdb', comments=False)})"
        for name, inner in inners.items()
    }
    found = references_in(sql, "duckdb")
    hiding = tuple(item for item in found.tables if dotted(item.parts).lower() in shown)
    parts = placed(References(hiding), "duckdb", lambda parts: shown[dotted(parts).lower()])
    return spliced(sql, parts)


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
