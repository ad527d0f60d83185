"""TPC-H and TPC-DS: data, schemas and query texts from DuckDB's extensions."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import duckdb
from sqlglot import exp, parse_one

from grebe.compiler.lower import Relation


def open_benchmark(name: str, scale: float) -> duckdb.DuckDBPyConnection:
    """A database with the tables of "tpch" or "tpcds" at a scale factor."""
    package = import_module(f"duckdb_extension_{name}")
    folder = Path(package.__file__ or "").parent
    extension = next(folder.rglob(f"{name}.duckdb_extension"))
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{extension}'")
    generate = "dbgen" if name == "tpch" else "dsdgen"
    connection.execute(f"CALL {generate}(sf = {scale})")
    return connection


def sources_of(connection: duckdb.DuckDBPyConnection) -> dict[str, Relation]:
    """The tables of a database as sources of a query."""
    rows = connection.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " WHERE table_schema = 'main' ORDER BY table_name, ordinal_position"
    ).fetchall()
    columns: dict[str, list[tuple[str, str]]] = {}
    for table, column, kind in rows:
        columns.setdefault(table, []).append((column, kind))
    return {table: Relation(table, tuple(found)) for table, found in columns.items()}


def texts_of(connection: duckdb.DuckDBPyConnection, name: str) -> dict[int, str]:
    """The query texts by number, every output with a name of its own."""
    rows = connection.execute(f"SELECT query_nr, query FROM {name}_queries()").fetchall()
    return {number: with_names(text) for number, text in rows}


def with_names(text: str, dialect: str = "duckdb") -> str:
    """The query with an alias for each output that has none or that repeats another's."""
    tree = parse_one(text, dialect=dialect)
    select = tree
    while not isinstance(select, exp.Select):
        select = select.this
    seen: set[str] = set()
    for index, item in enumerate(select.expressions):
        name = item.alias_or_name.lower()
        named = isinstance(item, (exp.Alias, exp.Column)) and name not in seen
        if not named and not isinstance(item, exp.Star):
            plain = item.this if isinstance(item, exp.Alias) else item
            name = f"output_{index + 1}"
            select.expressions[index].replace(exp.alias_(plain.copy(), name))
        seen.add(name)
    return tree.sql(dialect=dialect)
