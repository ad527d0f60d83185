"""What the changes of a window cost on DuckLake: 0.1 % of a 6-million-row table, without Spark.

    python -m benchmarks.ducklake_changes [--scale 1] [--runs 9] [--folder .cache/bench] [--kind sqlite]

The same rows and changes as `benchmarks.changes`: a third each of deletes, updates and inserts, in one
place (clustered) and everywhere (spread); by the feed, and after a rewrite from the files that differ.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from pathlib import Path

import duckdb

from benchmarks.changes import FILES, RESULTS, USED, lineitem
from grebe.formats.ducklake.connections import Address, release
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.model import TableName, Version, Window
from grebe.program import load_extensions

NAME = TableName("lake", "main", "lineitem")


def changed_keys(where: str, orders: int) -> str:
    """A condition on l_orderkey that holds for about 0.1 % of the rows."""
    if where == "clustered":
        return f"l_orderkey BETWEEN {orders // 3} AND {orders // 3 + orders // 1000}"
    return "hash(l_orderkey) % 1000 = 7"


def build(lake: duckdb.DuckDBPyConnection, file: Path, where: str) -> tuple[int, int]:
    """The table with three commits on it; the snapshots around them."""
    lake.execute(f"CREATE TABLE lake.lineitem AS FROM '{file}' LIMIT 0")
    (orders,) = lake.execute(f"SELECT max(l_orderkey) FROM '{file}'").fetchone() or (0,)
    for number in range(FILES):
        low, high = orders * number // FILES, orders * (number + 1) // FILES
        lake.execute(
            f"INSERT INTO lake.lineitem FROM '{file}' WHERE l_orderkey > {low} AND"
            f" l_orderkey <= {high} ORDER BY l_orderkey, l_linenumber"
        )
    before = newest(lake)
    keys = changed_keys(where, orders)
    lake.execute(
        "INSERT INTO lake.lineitem SELECT * REPLACE (l_orderkey + 100000000 AS l_orderkey)"
        f" FROM lake.lineitem WHERE {keys} AND l_orderkey % 3 = 0"
    )
    lake.execute(
        f"UPDATE lake.lineitem SET l_quantity = l_quantity + 1 WHERE {keys} AND l_orderkey % 3 = 1"
    )
    lake.execute(f"DELETE FROM lake.lineitem WHERE {keys} AND l_orderkey % 3 = 2")
    return before, newest(lake)


def newest(lake: duckdb.DuckDBPyConnection) -> int:
    (found,) = lake.execute(
        "SELECT max(snapshot_id) FROM ducklake_snapshots('lake')"
    ).fetchone() or (0,)
    return int(found)


def version(lake: duckdb.DuckDBPyConnection, snapshot: int) -> Version:
    (rows,) = lake.execute(
        f"SELECT count(*) FROM lake.lineitem AT (VERSION => {snapshot})"
    ).fetchone() or (0,)
    return Version(f"{snapshot}:{rows}")


def measure(address: Address, window: Window, runs: int) -> dict[str, object]:
    """The medians of runs that each begin with a source that knows nothing."""
    walls, cpus = [], []
    for _ in range(runs + 1):
        source = DuckLakeSource(NAME, address)
        ids = [c.id for c in source.head().schema.columns if c.name in USED]
        begun, used = time.perf_counter(), time.process_time()
        changes = source.changes(window, ids)
        walls.append(time.perf_counter() - begun)
        cpus.append(time.process_time() - used)
    assert changes.arrow is not None
    return {
        "way": changes.way,
        "rows": changes.arrow.num_rows,
        "seconds": round(statistics.median(walls[1:]), 4),
        "best": round(min(walls[1:]), 4),
        "cpu": round(statistics.median(cpus[1:]), 4),
    }


def heads(address: Address, runs: int) -> dict[str, object]:
    """Nothing changed, asked of a source that knows the table."""
    source = DuckLakeSource(NAME, address)
    source.head()
    walls = []
    for _ in range(runs):
        begun = time.perf_counter()
        source.head()
        walls.append(time.perf_counter() - begun)
    return {"seconds": round(statistics.median(walls), 5), "best": round(min(walls), 5)}


def case(folder: Path, file: Path, kind: str, where: str, runs: int) -> list[dict[str, object]]:
    place = folder / f"ducklake-{kind}-{where}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    scheme = "sqlite:" if kind == "sqlite" else ""
    address = Address.of(f"ducklake:{scheme}{place / 'meta.db'}", str(place / "data"))
    with duckdb.connect() as lake:
        load_extensions(lake, "ducklake", "sqlite_scanner")
        attach = f"ATTACH '{address.target}' AS lake (DATA_PATH '{place / 'data'}/')"
        lake.execute(attach)
        before, after = build(lake, file, where)
        window = Window(version(lake, before), version(lake, after))
        lake.execute("DETACH lake")
        found = [
            {"case": f"{kind} {where} head", **heads(address, runs)},
            {"case": f"{kind} {where}", **measure(address, window, runs)},
        ]
        release(address)
        lake.execute(attach)
        lake.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
        rewritten = Window(window.after, version(lake, newest(lake)))
        lake.execute("DETACH lake")
        found.append({"case": f"{kind} {where} rewritten", **measure(address, rewritten, runs)})
        release(address)
    shutil.rmtree(place)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench"))
    parser.add_argument("--kind", choices=("duckdb", "sqlite"), default="sqlite")
    options = parser.parse_args()
    file = lineitem(options.folder, options.scale)
    results = []
    for where in ("clustered", "spread"):
        for row in case(options.folder, file, options.kind, where, options.runs):
            results.append(row)
            print(json.dumps(row))
    target = RESULTS / f"ducklake-changes-sf{options.scale:g}.json"
    target.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
