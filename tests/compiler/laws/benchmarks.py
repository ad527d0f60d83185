"""TPC-H and TPC-DS data that changes: versions and deltas of every table, made in SQL."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from compiler.laws.engine import Database
from compiler.tpc import open_benchmark, sources_of
from grebe.compiler.algebra.nodes import WEIGHT

NUMBERS = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE")


def changing(name: str, scale: float, cycles: int, *, share: int = 40) -> Database:
    """A benchmark's database with mixed changes on all tables; one row in ``share`` of each kind."""
    connection = open_benchmark(name, scale)
    connection.execute(
        "SET threads TO 1; SET memory_limit = '3GB'; SET max_temp_directory_size = '1GB'"
    )
    tables = sources_of(connection)
    for table, relation in tables.items():
        connection.execute(f'CREATE TABLE "{table}_0" AS SELECT * FROM "{table}"')
        columns = [(column, str(kind)) for column, kind in relation.columns]
        for cycle in range(1, cycles + 1):
            _next_version(connection, table, columns, cycle, share)
    return Database(connection, frozenset(tables)).at(min(1, cycles))


def _next_version(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    columns: list[tuple[str, str]],
    cycle: int,
    share: int,
) -> None:
    """Some rows go, some change their numbers, their dates or their keys, some come twice."""
    before, after = f"{table}_{cycle - 1}", f"{table}_{cycle}"
    luck = f"hash(__row * 31 + {cycle}) % {share}"
    numbered = f'SELECT *, ROW_NUMBER() OVER () AS __row FROM "{before}"'

    def rows(change: Callable[[str, str], str], chosen: str) -> str:
        items = ", ".join(f'{change(name, kind)} AS "{name}"' for name, kind in columns)
        return f"SELECT {items} FROM ({numbered}) WHERE {chosen}"

    parts = (
        rows(lambda name, _: f'"{name}"', f"{luck} > 3"),
        rows(_raised, f"{luck} = 1"),
        rows(_moved, f"{luck} = 2"),
        rows(_shifted, f"{luck} = 3"),
        rows(lambda name, _: f'"{name}"', f"{luck} = 4"),
    )
    connection.execute(f'CREATE TABLE "{after}" AS {" UNION ALL ".join(parts)}')
    both = f'SELECT *, 1 AS w FROM "{after}" UNION ALL SELECT *, -1 AS w FROM "{before}"'
    names = ", ".join(f'"{name}"' for name, _ in columns)
    connection.execute(
        f'CREATE TABLE "{table}_d{cycle}" AS SELECT {names}, CAST(SUM(w) AS BIGINT) AS {WEIGHT}'
        f" FROM ({both}) GROUP BY ALL HAVING SUM(w) <> 0"
    )


def _is_key(name: str) -> bool:
    return name.endswith(("key", "_sk", "_id", "number"))


def _raised(name: str, kind: str) -> str:
    number = kind.startswith(NUMBERS) and not _is_key(name)
    return f'CAST("{name}" + 1 AS {kind})' if number else f'"{name}"'


def _moved(name: str, kind: str) -> str:
    """A row that belongs to another one: its second and later keys are its neighbour's."""
    if not kind.startswith(NUMBERS) or not _is_key(name):
        return f'"{name}"'
    return f'COALESCE(LEAD("{name}", 3) OVER (ORDER BY __row), "{name}")'


def _shifted(name: str, kind: str) -> str:
    if kind == "DATE":
        return f'CAST("{name}" + INTERVAL 20 DAY AS DATE)'
    if kind == "VARCHAR":
        return f'COALESCE(LAG("{name}") OVER (ORDER BY __row), "{name}")'
    return f'NULLIF("{name}", "{name}")' if kind.startswith("DECIMAL") else f'"{name}"'
