"""Random databases that change: thousands of small ones in one set of tables, told apart by a case id.

A row is drawn as indexes into the domains of its columns (-1 is NULL), so that drawing, changing and
consolidating thousands of databases are a few numpy calls. Equal seeds give equal databases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from grebe.compiler.algebra.nodes import WEIGHT
from grebe.sql_text import quote

CASE: Final = "case_id"
"""The column that tells the databases of one batch apart."""

CASES: Final = "cases"
"""The table with every case id once; it never changes."""

NULL: Final = -1

Codes = np.ndarray
"""One row per table row: the case id, then an index into the domain of each column."""


@dataclass(frozen=True, slots=True)
class ColumnOf:
    """A column: its DuckDB type and the values that occur in it, the likeliest first."""

    name: str
    type: str
    domain: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class TableOf:
    """A table of the random databases."""

    name: str
    columns: tuple[ColumnOf, ...]

    @property
    def types(self) -> dict[str, str]:
        return {column.name: column.type for column in self.columns}


SMALL = (1, 2, 3, 0, -1)
EXACT_FLOATS = (0.5, 1.0, -0.25, 2.0, 0.0)
"""Their sums are exact in any order, so that equality may be asked for."""
WILD_FLOATS = (0.1, float("nan"), float("inf"), -0.0, 0.0, 0.2, float("-inf"), 1e16, 0.3)
DECIMALS = tuple(Decimal(text) for text in ("1.10", "2.25", "-0.75", "0.00", "10.01"))
STRINGS = ("a", "b", "ab", "", "B")
DATES = tuple(date(2024, month, 28) for month in (1, 2, 3, 12))
LISTS = ((1, 2), (2,), (), (1, None), (3, 3))


def ident(name: str) -> str:
    """A name as DuckDB text."""
    return quote(name, "duckdb")


def tables_of(
    floats: Sequence[float] = EXACT_FLOATS, names: Mapping[str, str] = MappingProxyType({})
) -> dict[str, TableOf]:
    """The three tables: `a` is shared by r and s, `c` by s and t; under other ``names``, if given."""
    integer = ("INTEGER", SMALL)
    tables = {
        "r": _table(
            "r", a=integer, b=integer, x=integer, f=("DOUBLE", floats), s=("VARCHAR", STRINGS)
        ),
        "s": _table(
            "s", a=integer, c=integer, y=("DECIMAL(10,2)", DECIMALS), k=("BOOLEAN", (True, False))
        ),
        "t": _table("t", c=integer, d=("DATE", DATES), z=("BIGINT", SMALL), l=("INTEGER[]", LISTS)),
    }
    return {
        names.get(name, name): TableOf(
            names.get(name, name),
            tuple(replace(item, name=names.get(item.name, item.name)) for item in table.columns),
        )
        for name, table in tables.items()
    }


def _table(name: str, **columns: tuple[str, Sequence[object]]) -> TableOf:
    return TableOf(
        name, tuple(ColumnOf(key, kind, tuple(domain)) for key, (kind, domain) in columns.items())
    )


@dataclass(frozen=True, slots=True)
class History:
    """The states of every table at versions 0…n, and the consolidated changes between them."""

    tables: Mapping[str, TableOf]
    cases: int
    states: Mapping[str, tuple[Codes, ...]]
    deltas: Mapping[str, tuple[tuple[Codes, np.ndarray], ...]]

    @property
    def cycles(self) -> int:
        return len(next(iter(self.deltas.values())))


def draw(
    seed: int,
    *,
    cases: int,
    cycles: int = 1,
    tables: Mapping[str, TableOf] | None = None,
    still: frozenset[tuple[str, int]] = frozenset(),
) -> History:
    """Random databases; ``still`` names (table, cycle) pairs in which a table does not change."""
    rng = np.random.default_rng(seed)
    chosen = tables or tables_of()
    states: dict[str, tuple[Codes, ...]] = {}
    deltas: dict[str, tuple[tuple[Codes, np.ndarray], ...]] = {}
    for table in chosen.values():
        current = _first_state(rng, table, cases)
        kept, changes = [current], []
        for cycle in range(cycles):
            feed = _feed(rng, table, current, cases)
            if (table.name, cycle) in still:
                feed = (feed[0][:0], feed[1][:0])
            delta = consolidate(*feed)
            current = _applied(current, delta)
            kept.append(current)
            changes.append(delta)
        states[table.name], deltas[table.name] = tuple(kept), tuple(changes)
    return History(chosen, cases, states, deltas)


def _first_state(rng: np.random.Generator, table: TableOf, cases: int) -> Codes:
    sizes = rng.choice(5, size=cases, p=(0.12, 0.23, 0.3, 0.2, 0.15))
    return _with_copies(rng, _rows(rng, table, np.repeat(np.arange(cases), sizes)))


def _rows(rng: np.random.Generator, table: TableOf, case: np.ndarray) -> Codes:
    """Random rows; every case has its own share of NULLs and its own width of domains."""
    traits = case * 7919 % 101
    nulls = np.choose(traits % 4, (0.0, 0.2, 0.25, 0.5))
    narrow = traits % 3 == 0
    rows = np.empty((len(case), len(table.columns) + 1), dtype=np.int64)
    rows[:, 0] = case
    for place, column in enumerate(table.columns, start=1):
        width = np.where(narrow, min(2, len(column.domain)), len(column.domain))
        drawn = (rng.random(len(case)) * width).astype(np.int64)
        rows[:, place] = np.where(rng.random(len(case)) < nulls, NULL, drawn)
    return rows


def _with_copies(rng: np.random.Generator, rows: Codes) -> Codes:
    return np.repeat(rows, 1 + (rng.random(len(rows)) < 0.2), axis=0)


def _feed(
    rng: np.random.Generator, table: TableOf, current: Codes, cases: int
) -> tuple[Codes, np.ndarray]:
    """A raw change feed: inserts, deletes, updates, rows that come and go, updates of nothing."""
    mix = rng.choice(6, size=cases, p=(0.45, 0.15, 0.15, 0.1, 0.1, 0.05))
    # 0 everything, 1 inserts, 2 deletes, 3 updates, 4 nothing, 5 truncate
    mine = mix[current[:, 0]]
    luck = rng.random(len(current))
    gone = np.isin(mine, (0, 2)) & (luck < 0.35) | (mine == 5)
    moved = np.isin(mine, (0, 3)) & ~gone & (luck > 0.6)
    after = _updated(rng, table, current[moved])
    counts = rng.choice(3, size=cases, p=(0.4, 0.4, 0.2)) * np.isin(mix, (0, 1))
    fresh = _with_copies(rng, _rows(rng, table, np.repeat(np.arange(cases), counts)))
    again = current[np.isin(mine, (0, 1)) & (rng.random(len(current)) < 0.1)]
    passing = _rows(rng, table, np.flatnonzero((mix == 0) & (rng.random(cases) < 0.4)))
    added = (after, fresh, again, passing)
    removed = (current[moved], current[gone], passing)
    rows = np.concatenate((*added, *removed))
    plus = sum(map(len, added))
    return rows, np.where(np.arange(len(rows)) < plus, 1, -1)


def _updated(rng: np.random.Generator, table: TableOf, rows: Codes) -> Codes:
    drawn = _rows(rng, table, rows[:, 0])
    keep = rng.random(rows.shape) < 0.6
    return np.where(keep, rows, drawn)


def consolidate(rows: Codes, weights: np.ndarray) -> tuple[Codes, np.ndarray]:
    """The weights of equal rows summed, zeros dropped."""
    if not len(rows):
        return rows, weights
    unique, inverse = np.unique(rows, axis=0, return_inverse=True)
    totals = np.bincount(inverse.ravel(), weights=weights, minlength=len(unique)).astype(np.int64)
    kept = totals != 0
    return unique[kept], totals[kept]


def _applied(current: Codes, delta: tuple[Codes, np.ndarray]) -> Codes:
    rows = np.concatenate((current, delta[0]))
    weights = np.concatenate((np.ones(len(current), dtype=np.int64), delta[1]))
    left, counts = consolidate(rows, weights)
    if (counts < 0).any():
        raise AssertionError("a feed removed a row that was not there")
    return np.repeat(left, counts, axis=0)


def arrow(table: TableOf, rows: Codes, weights: np.ndarray | None = None) -> pa.Table:
    """Rows as Arrow, with the case id first and the weight last when there is one."""
    names, arrays = [CASE], [pa.array(rows[:, 0].astype(np.int32))]
    for place, column in enumerate(table.columns, start=1):
        codes = rows[:, place]
        indexes = pa.array(codes.astype(np.int32), mask=codes == NULL)
        values = pa.array(list(column.domain), type=_arrow_type(column.type))
        names.append(column.name)
        arrays.append(values.take(indexes))
    if weights is not None:
        names.append(WEIGHT)
        arrays.append(pa.array(weights))
    return pa.table(dict(zip(names, arrays, strict=True)))


def _arrow_type(text: str) -> pa.DataType:
    kinds = {
        "INTEGER": pa.int32(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "VARCHAR": pa.string(),
        "BOOLEAN": pa.bool_(),
        "DATE": pa.date32(),
        "DECIMAL(10,2)": pa.decimal128(10, 2),
        "INTEGER[]": pa.list_(pa.int32()),
    }
    return kinds[text]


def load(connection: duckdb.DuckDBPyConnection, history: History, prefix: str = "") -> None:
    """Create `<prefix><table>_<version>` and `<prefix><table>_d<version>` for every table."""
    for name, table in history.tables.items():
        for version, rows in enumerate(history.states[name]):
            _create(connection, f"{prefix}{name}_{version}", arrow(table, rows))
        for cycle, (rows, weights) in enumerate(history.deltas[name], start=1):
            _create(connection, f"{prefix}{name}_d{cycle}", arrow(table, rows, weights))
    cases = pa.table({CASE: pa.array(np.arange(history.cases, dtype=np.int32))})
    _create(connection, f"{prefix}{CASES}", cases)


def _create(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    connection.register("__drawn", rows)
    connection.execute(f"CREATE OR REPLACE TABLE {ident(name)} AS SELECT * FROM __drawn")
    connection.unregister("__drawn")
