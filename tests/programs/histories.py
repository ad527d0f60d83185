"""Random databases of the laws written to DuckLake as people write: commits, updates, maintenance.

The net change of a window is the laws' own; how it gets there is drawn here: deletes, updates and
inserts in several commits, rows that come and go, updates of nothing, compaction in between.
"""

from __future__ import annotations

from random import Random

import duckdb
import numpy as np
import pyarrow as pa

from compiler.laws.databases import CASE, CASES, History, TableOf, arrow
from grebe.program.duckdb_text import ident, listed, same
from programs.lake import Lake

_MAINTENANCE = (
    "CALL ducklake_flush_inlined_data('{}')",
    "CALL ducklake_merge_adjacent_files('{}')",
    "CALL ducklake_rewrite_data_files('{}', delete_threshold => 0)",
    "CALL ducklake_rewrite_data_files('{}')",
)


def create(lake: Lake, history: History, places: dict[str, str], *, batched: bool) -> None:
    """The tables at their first version; ``places`` names each table's catalog."""
    for name, table in history.tables.items():
        rows = _narrow(arrow(table, history.states[name][0]), batched)
        _stage(lake, "first", rows)
        lake.run(f"CREATE TABLE {ident(places[name], 'main', name)} AS SELECT * FROM first")
    if batched:
        cases = pa.table({CASE: pa.array(np.arange(history.cases, dtype=np.int32))})
        _stage(lake, "first", cases)
        lake.run(f"CREATE TABLE {places[CASES]}.main.{CASES} AS SELECT * FROM first")


def _stage(lake: Lake, name: str, rows: pa.Table) -> None:
    lake.con.register("__arrow", rows)
    lake.run(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM __arrow")
    lake.con.unregister("__arrow")


def _narrow(rows: pa.Table, batched: bool) -> pa.Table:
    return rows if batched else rows.drop_columns([CASE])


def advance(
    lake: Lake, history: History, cycle: int, places: dict[str, str], rng: Random, *, batched: bool
) -> int:
    """One window: the change of a cycle in all tables; gives how often maintenance ran."""
    ran = 0
    for name in rng.sample(sorted(history.tables), len(history.tables)):
        table = history.tables[name]
        rows, weights = history.deltas[name][cycle]
        _stage(lake, "delta", _narrow(arrow(table, rows, weights), batched))
        for statement in _statements(table, ident(places[name], "main", name), rng, batched):
            if statement == "BEGIN":
                lake.run("BEGIN")
                continue
            lake.run(statement)
        if rng.random() < 0.35:
            ran += _kept_up(lake, rng.choice(_MAINTENANCE).format(places[name]))
    return ran


def _kept_up(lake: Lake, call: str) -> int:
    """Run maintenance; DuckLake 1.0 cannot rewrite inlined DOUBLEs of an SQLite catalog."""
    try:
        lake.run(call)
    except duckdb.TransactionException as error:
        if "isnan(VARCHAR)" not in str(error):
            raise
        return 0
    return 1


def _statements(table: TableOf, target: str, rng: Random, batched: bool) -> list[str]:
    names = [*([CASE] if batched else []), *(column.name for column in table.columns)]
    columns = listed(names)
    passing = f"INSERT INTO {target} ({columns}) SELECT {columns} FROM delta LIMIT 2"
    gone = _delete(target, names, "FROM delta LIMIT 2", "1")
    removed = _delete(target, names, "FROM delta WHERE __grebe_weight < 0", "-__grebe_weight")
    added = (
        f"INSERT INTO {target} ({columns}) SELECT {columns} FROM delta,"
        " LATERAL (SELECT UNNEST(range(__grebe_weight)) AS __copy) WHERE __grebe_weight > 0"
    )
    body = [removed, added] if rng.random() < 0.7 else [added, removed]
    if rng.random() < 0.4:
        body = [passing, *body, gone]
    if rng.random() < 0.3:
        body.append(f"UPDATE {target} SET {ident(names[-1])} = {ident(names[-1])}")
    if rng.random() < 0.3:
        body = ["BEGIN", *body, "COMMIT"]
    return body


def _delete(target: str, names: list[str], rows: str, copies: str) -> str:
    """Remove so many copies of every listed row."""
    columns = listed(names)
    on = same("have", "gone", names)
    return (
        f"DELETE FROM {target} WHERE rowid IN (SELECT have.__id FROM (SELECT {columns}, rowid AS __id,"
        f" ROW_NUMBER() OVER (PARTITION BY {columns}) AS __place FROM {target}) AS have"
        f" JOIN ({rows}) AS gone ON {on} AND have.__place <= {copies})"
    )
