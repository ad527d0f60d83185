"""Maintain against recompute in DuckLake: a join aggregate over six million rows, 0.1 % changed.

Both run in one process on the same tables: `maintain` as `compile_ivm` gives it, and the view's
query written to a table as a person would without it.

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
    "SELECT o.region, o.day, SUM(l.amount) AS total, COUNT(*) AS n"
    " FROM lines AS l JOIN orders AS o ON l.order_id = o.id GROUP BY o.region, o.day"
)
SCHEMAS = {
    "lines": {"id": "INTEGER", "order_id": "INTEGER", "amount": "DECIMAL(12,2)"},
    "orders": {"id": "INTEGER", "region": "INTEGER", "day": "INTEGER"},
}
RUNS = 5


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        con = prepared(Path(folder), rows)
        view = compile_ivm(VIEW, schemas=SCHEMAS)
        con.execute(view.create_cursors_table)
        con.execute(view.create_mv)
        for statement in view.initialize_cursors:
            con.execute(statement)
        kept, again = [], []
        for run in range(RUNS):
            change(con, rows, run)
            kept.append(timed(con, *view.maintain))
            again.append(timed(con, f"CREATE OR REPLACE TABLE dl.again AS {qualified()}"))
            assert same(con, view.query_mv)
    one, other = statistics.median(kept), statistics.median(again)
    print(f"{rows:,} rows, {rows // 1000:,} changed, median of {RUNS}:")
    print(f"  maintain  {one:.2f} s   ({', '.join(f'{item:.2f}' for item in kept)})")
    print(f"  recompute {other:.2f} s   ({', '.join(f'{item:.2f}' for item in again)})")
    print(f"  ratio     {one / other:.3f}")


def prepared(folder: Path, rows: int) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": 2})
    load_extensions(con)
    con.execute(f"ATTACH 'ducklake:{folder / 'lake.duckdb'}' AS dl (DATA_PATH '{folder}/data/')")
    con.execute(
        f"CREATE TABLE dl.orders AS SELECT i::INTEGER AS id, (hash(i) % 50)::INTEGER AS region,"
        f" (hash(i + 7) % 365)::INTEGER AS day FROM range({rows // 4}) AS r(i)"
    )
    con.execute(
        f"CREATE TABLE dl.lines AS SELECT i::INTEGER AS id, (hash(i) % {rows // 4})::INTEGER"
        " AS order_id, CAST(hash(i + 3) % 100000 / 100 AS DECIMAL(12,2)) AS amount"
        f" FROM range({rows}) AS r(i)"
    )
    return con


def change(con: duckdb.DuckDBPyConnection, rows: int, run: int) -> None:
    """Half inserts, a quarter deletes, a quarter updates; some of the orders move too."""
    part = rows // 1000
    first = rows + run * part
    con.execute(
        f"INSERT INTO dl.lines SELECT (i + {first})::INTEGER, (hash(i) % {rows // 4})::INTEGER,"
        f" CAST(hash(i) % 100000 / 100 AS DECIMAL(12,2)) FROM range({part // 2}) AS r(i)"
    )
    con.execute(f"DELETE FROM dl.lines WHERE id % 4000 = {run}")
    con.execute(f"UPDATE dl.lines SET amount = amount + 1 WHERE id % 4000 = {run + 1000}")
    con.execute(f"UPDATE dl.orders SET day = (day + 1) % 365 WHERE id % 4000 = {run}")


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
