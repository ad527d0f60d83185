"""Names that generated SQL might be tempted to use, given to a random query and its tables.

A query of the laws uses short names of its own (`r`, `t1.a`, `c3`). Each of them is replaced by one
from the pool, in all places and in any letter case, so that the query means the same as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from re import compile as pattern
from string import ascii_lowercase

from sqlglot import TokenType
from sqlglot.dialects.duckdb import DuckDB

from compiler.laws.databases import TableOf
from grebe.program.duckdb_text import ident

_LOWER = ascii_lowercase
_UPPER = str.maketrans(_LOWER, _LOWER.upper())
"""Only these letters have two cases in names, to DuckDB."""

POOL = (
    *("id", "row", "rows", "stored", "found", "ids", "copies", "source", "delta", "changes"),
    *("key", "c", "q", "build", "present", "wanted", "weight", "value", "type", "name", "date"),
    *("order", "group", "all", "select", "from", "where", "table", "end", "case", "null", "true"),
    *("Definition", "VISIBLE", "merged", "touched", "held", "Mixed Case", 'a "quote"', "it's"),
    *("a.b", "dl.main.t", " ", "two  blanks", "--", "/*", ";", "$1", "?", "{x}", "%s", "é", "日"),
    *("t", "x", "n", "s1", "own", "window", "seen", "cursor", "look", "query", "history"),
    *("snapshot_id", "change_type", "mv", "ivm", "grebe", "grebe_rows", "_grebe_n", "count", "sum"),
    *("column", "columns", "1", "lambda", "struct", "map", "list", "filter", "main", "temp"),
)
"""Without `rowid`: an output of that name is refused, and is tried by itself."""

_BASE = frozenset("rst")
_OWN = pattern(r"[a-z]|[tqcklup]\d+(_i)?|j_[a-z]")
_RELATION = pattern(r"[tqku]\d+(_i)?")


@dataclass(slots=True)
class Disguise:
    """The names of one database: what its tables, columns and aliases are called instead."""

    seed: int
    tables: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    rng: Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = Random(f"names {self.seed}")

    def table(self, name: str) -> str:
        return self._drawn(self.tables, name)

    def column(self, name: str) -> str:
        return self._drawn(self.columns, name)

    def _drawn(self, known: dict[str, str], name: str) -> str:
        if name not in known:
            taken = {other.lower() for other in known.values()}
            free = [item for item in POOL if item.lower() not in taken]
            known[name] = self.rng.choice(free) if free else f"id_{len(known)}"
        return known[name]

    def over(self, tables: Mapping[str, TableOf]) -> dict[str, TableOf]:
        """The same tables with other names."""
        return {self.table(name): self._table(table) for name, table in tables.items()}

    def _table(self, table: TableOf) -> TableOf:
        columns = tuple(replace(item, name=self.column(item.name)) for item in table.columns)
        return TableOf(self.table(table.name), columns)

    def query(self, sql: str) -> str:
        """A query of the laws over these tables."""
        tokens = DuckDB().tokenize(sql)
        made, end = [], 0
        for place, token in enumerate(tokens):
            before = tokens[place - 1] if place else None
            after = tokens[place + 1] if place + 1 < len(tokens) else None
            is_call = (
                after is not None
                and after.token_type is TokenType.L_PAREN
                and (before is None or before.token_type is not TokenType.ALIAS)
            )
            if token.token_type is not TokenType.VAR or is_call or not _OWN.fullmatch(token.text):
                continue
            reads = before is not None and before.token_type in (TokenType.FROM, TokenType.JOIN)
            made += [sql[end : token.start], self._spelled(token.text, reads=reads)]
            end = token.end + 1
        return "".join([*made, sql[end:]])

    def _spelled(self, name: str, *, reads: bool) -> str:
        if reads and name in _BASE:
            return ident(self.table(name))
        known = self.relations if _RELATION.fullmatch(name) else self.columns
        drawn = self._drawn(known, name)
        return ident(drawn.translate(_UPPER) if self.rng.random() < 0.2 else drawn)
