"""Generated queries under hostile names: tables, columns, aliases and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

import duckdb

from compiler.laws.databases import tables_of
from compiler.laws.engine import Database, one_case, original
from hostile import disguised, drawn, words_in

PLAIN: Final = tuple(
    dict.fromkeys(
        name
        for table in tables_of().values()
        for name in (table.name, *(column.name for column in table.columns))
    )
)
"""The tables and columns of the random databases."""
_BESIDE: Final = r"[nv]|p\d+"
"""What a query puts beside columns that it does not name: nothing else may be called like it."""
_ALIASES: Final = r"[a-z]\d+(_i)?|j_[a-z]|[ue]"


def names_of(seed: int) -> dict[str, str]:
    """Hostile names of the tables and columns of a random database."""
    return drawn(PLAIN, Random(seed))


def hostile(database: Database, sql: str, names: Mapping[str, str], seed: int) -> str:
    """A generated query over tables with these names, its own names hostile, too.

    An alias may be called like a column, unless DuckDB itself finds that ambiguous.
    """
    rng = Random(seed)
    beside = drawn(words_in(sql, _BESIDE), rng, without=names.values())
    aliases = [word for word in words_in(sql, _ALIASES) if word not in beside]
    small = one_case(database.at(1), 0)
    for without in (beside.values(), (*beside.values(), *names.values())):
        rest = drawn(aliases, rng, without=without)
        text = disguised(sql, {**rest, **beside, **names}, '"')
        try:
            small.rows(f"EXPLAIN {original(small, text)}")
        except duckdb.BinderException:
            continue
        except duckdb.Error:
            pass
        break
    return text
