"""Small random databases with NULLs and duplicates, and the comparison of two queries over them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

import duckdb

from grebe.compiler.emit import emit
from grebe.compiler.lower import Lowered, Relation, lower

TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "r": (("k", "INT"), ("x", "INT"), ("s", "VARCHAR"), ("d", "DATE")),
    "t": (("k", "INT"), ("y", "INT"), ("s", "VARCHAR")),
    "u": (("y", "INT"), ("z", "INT"), ("q", "DECIMAL(10,2)")),
    "n": (("k", "INT"), ("arr", "INT[]"), ("st", "STRUCT(a INT, b STRUCT(c INT))")),
}

SOURCES = {name: Relation(name, columns) for name, columns in TABLES.items()}


def connect(seed: int, rows: int = 6) -> duckdb.DuckDBPyConnection:
    """A database whose tables hold random rows; about a fifth of the values are NULL."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    rng = random.Random(seed)
    for name, columns in TABLES.items():
        fields = ", ".join(f"{column} {kind}" for column, kind in columns)
        connection.execute(f"CREATE TABLE {name} ({fields})")
        for _ in range(rng.randint(0, rows)):
            values = ", ".join(_literal(rng, kind) for _, kind in columns)
            connection.execute(f"INSERT INTO {name} VALUES ({values})")
    return connection


def _literal(rng: random.Random, kind: str) -> str:
    if rng.random() < 0.2:
        return "NULL"
    number = str(rng.randint(0, 3))
    if kind == "VARCHAR":
        return rng.choice(("'a'", "'b'", "'C'", "''"))
    if kind == "DATE":
        return f"DATE '2024-0{rng.randint(1, 3)}-01'"
    if kind.endswith("[]"):
        items = ", ".join(rng.choice((number, "2", "NULL")) for _ in range(rng.randint(0, 3)))
        return f"[{items}]"
    if kind.startswith("STRUCT"):
        return f"{{'a': {number}, 'b': {{'c': {rng.randint(0, 3)}}}}}"
    return number


def bag(rows: Iterable[Sequence[object]]) -> Counter[str]:
    """The rows as a multiset; floats to twelve digits."""
    return Counter(repr(tuple(_rounded(value) for value in row)) for row in rows)


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return value


def lowered(sql: str, dialect: str = "duckdb") -> Lowered:
    """The query lowered over the tables of this module."""
    return lower(sql, dialect=dialect, sources=SOURCES)


def emitted(found: Lowered, dialect: str = "duckdb") -> str:
    """The text that the lowered query means."""
    assert found.root is not None, found.reasons
    assert found.root.columns == tuple(name for name, _ in found.outputs)
    return emit(found.root, dialect, lambda leaf: leaf.table)
