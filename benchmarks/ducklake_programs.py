"""Maintain against recompute in DuckLake: a join aggregate over six million rows, 0.1 % changed.

Both run in one process on the same tables, one after the other after every change: `maintain` as
`compile_ivm` gives it, and the view's query written to a table as a person would without it. Two
views: a row for each of 150,000 customers, and one for each of 2,400 days, which the order of the
orders follows. The table of lines came in twelve loads. The changed keys lie in the newest 1 % of the key range (clustered, how data
arrives), or all over it (spread, the worst case: then every file has to be read to say what was
deleted from it).

    python -m benchmarks.ducklake_programs [rows]
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from grebe import MaterializedView, Naming, compile_ivm
from grebe.program import load_extensions

TOTALS = (
    "SELECT o.{key}, SUM(l.amount) AS total, SUM(l.quantity) AS quantity, COUNT(*) AS n"
    " FROM {at}lines AS l JOIN {at}orders AS o ON l.order_id = o.id GROUP BY o.{key}"
)
VIEWS = {
    "by_customer": TOTALS.replace("{key}", "customer"),
    "by_day": TOTALS.replace("{key}", "day"),
}
SCHEMAS = {
    "lines": {
        "id": "INTEGER",
        "order_id": "INTEGER",
        "quantity": "INTEGER",
        "amount": "DECIMAL(12,2)",
    },
    "orders": {"id": "INTEGER", "customer": "INTEGER", "day": "INTEGER"},
}
Cost = tuple[float, float]
"""Seconds of processor time and on the clock; the first is the same on a busy machine."""
RUNS = 8
"""The first run of each is cold and not counted."""
LOADS = 12
RESULTS = Path(__file__).parent / "results" / "ducklake-programs.json"


class _Named(Naming):
    def __init__(self, name: str) -> None:
        self.name = name

    def mv_table(self) -> str:
        return self.name


def main(rows: int) -> None:
    found = []
    for where in ("clustered", "spread"):
        with tempfile.TemporaryDirectory() as folder:
            found += measure(Path(folder), rows, where)
    if rows == 6_000_000:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measure(folder: Path, rows: int, where: str) -> list[dict[str, object]]:
    con = prepared(folder, rows)
    views = {name: created(con, name) for name in VIEWS}
    times: dict[str, list[tuple[Cost, Cost]]] = {name: [] for name in views}
    for run in range(RUNS):
        change(con, rows, run, clustered=where == "clustered")
        for name, view in views.items():
            query = VIEWS[name].format(at="dl.")
            kept = timed(con, *view.maintain)
            again = timed(con, f"CREATE OR REPLACE TABLE dl.again_{name} AS {query}")
            assert same(con, view.query_mv, f"dl.again_{name}")
            times[name].append((kept, again))
    con.close()
    return [reported(rows, where, name, found[1:]) for name, found in times.items()]


def created(con: duckdb.DuckDBPyConnection, name: str) -> MaterializedView:
    view = compile_ivm(VIEWS[name].format(at=""), schemas=SCHEMAS, naming=_Named(name))
    for statement in (view.create_cursors_table, view.create_mv, *view.initialize_cursors):
        con.execute(statement)
    return view


def reported(rows: int, where: str, name: str, times: list[tuple[Cost, Cost]]) -> dict[str, object]:
    print(f"{rows:,} rows, {rows // 1000:,} changed, {where}, {name}, median of {len(times)}:")
    found: dict[str, object] = {"rows": rows, "changes": where, "view": name, "runs": len(times)}
    for place, kind in enumerate(("processor", "wall")):
        kept = statistics.median(one[place] for one, _ in times)
        again = statistics.median(other[place] for _, other in times)
        print(f"  {kind}: maintain {kept * 1000:.0f} ms, recompute {again * 1000:.0f} ms,", end="")
        print(f" ratio {kept / again:.3f}", flush=True)
        found[kind] = {
            "maintain_ms": round(kept * 1000),
            "recompute_ms": round(again * 1000),
            "ratio": round(kept / again, 3),
        }
    return {**found, "load": round(os.getloadavg()[0], 1)}


def prepared(folder: Path, rows: int) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": 2})
    load_extensions(con)
    con.execute(f"ATTACH 'ducklake:{folder / 'lake.duckdb'}' AS dl (DATA_PATH '{folder}/data/')")
    for table, columns in SCHEMAS.items():
        fields = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        con.execute(f"CREATE TABLE dl.{table} ({fields})")
    part = rows // LOADS
    for load in range(LOADS):
        first = load * part
        con.execute(
            f"INSERT INTO dl.orders SELECT i, hash(i) % {rows // 40}, i * 9600 // {rows} FROM"
            f" range({first // 4}, {(first + part) // 4}) AS r(i)"
        )
        con.execute(
            "INSERT INTO dl.lines SELECT i, i // 4, hash(i) % 50, hash(i + 3) % 100000 / 100"
            f" FROM range({first}, {first + part}) AS r(i)"
        )
    return con


def change(con: duckdb.DuckDBPyConnection, rows: int, run: int, *, clustered: bool) -> None:
    """Half inserts, a quarter deletes, a quarter updates of lines; some orders change hands."""
    part = rows // 1000
    first = rows + run * part
    low, step = (rows - rows // 100, 40) if clustered else (0, 4000)
    con.execute(
        f"INSERT INTO dl.lines SELECT i + {first}, {low} // 4 + hash(i) % {(rows - low) // 4},"
        f" hash(i) % 50, hash(i) % 100000 / 100 FROM range({part // 2}) AS r(i)"
    )
    some = f"id >= {low} AND id < {rows} AND id % {step}"
    con.execute(f"DELETE FROM dl.lines WHERE {some} = {run}")
    con.execute(f"UPDATE dl.lines SET amount = amount + 1 WHERE {some} = {run + step // 2}")
    con.execute(
        "UPDATE dl.orders SET customer = customer + 1"
        f" WHERE id >= {low // 4} AND id % {step} = {run}"
    )


def timed(con: duckdb.DuckDBPyConnection, *statements: str) -> Cost:
    begun = (time.process_time(), time.perf_counter())
    for statement in statements:
        con.execute(statement)
    return time.process_time() - begun[0], time.perf_counter() - begun[1]


def same(con: duckdb.DuckDBPyConnection, shown: str, truth: str) -> bool:
    one, other = f"SELECT * FROM ({shown})", f"SELECT * FROM {truth}"
    rows = con.execute(f"({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one})")
    return not rows.fetchall()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6_000_000)
