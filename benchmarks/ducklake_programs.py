"""Maintain against recompute in DuckLake: a join aggregate over six million rows, 0.1 % changed.

Both run in one process on the same tables: `maintain` as `compile_ivm` gives it, and the view's
query written to a table as a person would without it. The table of lines came in twelve loads. The
changes are either in the newest load, as most are, or spread over all of them, the worst case:
then every file has to be read to say what was deleted from it.

    python -m benchmarks.ducklake_programs [rows]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from grebe import compile_ivm
from grebe.ducklake import load_extensions

VIEW = (
    "SELECT o.customer, SUM(l.amount) AS total, SUM(l.quantity) AS quantity, COUNT(*) AS n"
    " FROM lines AS l JOIN orders AS o ON l.order_id = o.id GROUP BY o.customer"
)
SCHEMAS = {
    "lines": {
        "id": "INTEGER",
        "order_id": "INTEGER",
        "quantity": "INTEGER",
        "amount": "DECIMAL(12,2)",
    },
    "orders": {"id": "INTEGER", "customer": "INTEGER"},
}
RUNS = 5


LOADS = 12


def main(rows: int) -> None:
    for where in ("newest load", "all loads"):
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), rows, where)


def measure(folder: Path, rows: int, where: str) -> None:
    con = prepared(folder, rows)
    view = compile_ivm(VIEW, schemas=SCHEMAS)
    con.execute(view.create_cursors_table)
    con.execute(view.create_mv)
    for statement in view.initialize_cursors:
        con.execute(statement)
    kept, again = [], []
    for run in range(RUNS):
        change(con, rows, run, newest=where == "newest load")
        kept.append(timed(con, *view.maintain))
        again.append(timed(con, f"CREATE OR REPLACE TABLE dl.again AS {qualified()}"))
        assert same(con, view.query_mv)
    con.close()
    one, other = statistics.median(kept), statistics.median(again)
    print(f"{rows:,} rows, {rows // 1000:,} changed in {where}, median of {RUNS}:")
    print(f"  maintain  {one:.2f} s   ({', '.join(f'{item:.2f}' for item in kept)})")
    print(f"  recompute {other:.2f} s   ({', '.join(f'{item:.2f}' for item in again)})")
    print(f"  ratio     {one / other:.3f}", flush=True)


def prepared(folder: Path, rows: int) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": 2})
    load_extensions(con)
    con.execute(f"ATTACH 'ducklake:{folder / 'lake.duckdb'}' AS dl (DATA_PATH '{folder}/data/')")
    con.execute("CREATE TABLE dl.orders (id INTEGER, customer INTEGER)")
    con.execute(
        "CREATE TABLE dl.lines (id INTEGER, order_id INTEGER, quantity INTEGER,"
        " amount DECIMAL(12,2))"
    )
    part = rows // LOADS
    for load in range(LOADS):
        first = load * part
        con.execute(
            f"INSERT INTO dl.orders SELECT i, hash(i) % {rows // 40} FROM"
            f" range({first // 4}, {(first + part) // 4}) AS r(i)"
        )
        con.execute(
            "INSERT INTO dl.lines SELECT i, i // 4, hash(i) % 50, hash(i + 3) % 100000 / 100"
            f" FROM range({first}, {first + part}) AS r(i)"
        )
    return con


def change(con: duckdb.DuckDBPyConnection, rows: int, run: int, *, newest: bool) -> None:
    """Half inserts, a quarter deletes, a quarter updates of lines; some orders change hands."""
    part = rows // 1000
    first = rows + run * part
    low, step = (rows - rows // LOADS, 4000 // LOADS) if newest else (0, 4000)
    con.execute(
        f"INSERT INTO dl.lines SELECT i + {first}, {low} // 4 + hash(i) % {(rows - low) // 4},"
        f" hash(i) % 50, hash(i) % 100000 / 100 FROM range({part // 2}) AS r(i)"
    )
    con.execute(f"DELETE FROM dl.lines WHERE id >= {low} AND id % {step} = {run}")
    con.execute(
        f"UPDATE dl.lines SET amount = amount + 1 WHERE id >= {low} AND id % {step} = {run + 100}"
    )
    con.execute(
        f"UPDATE dl.orders SET customer = customer + 1 WHERE id >= {low // 4}"
        f" AND id % {step} = {run}"
    )


def qualified() -> str:
    return VIEW.replace("lines AS", "dl.lines AS").replace("orders AS", "dl.orders AS")


def timed(con: duckdb.DuckDBPyConnection, *statements: str) -> float:
    begun = time.perf_counter()
    for statement in statements:
        con.execute(statement)
    return time.perf_counter() - begun


def same(con: duckdb.DuckDBPyConnection, shown: str) -> bool:
    one, other = f"SELECT * FROM ({shown})", "SELECT * FROM dl.again"
    rows = con.execute(f"({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one})")
    return not rows.fetchall()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6_000_000)
