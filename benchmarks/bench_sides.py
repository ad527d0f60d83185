"""What stands beside a refresh: further views in one run, plain Spark, and a MERGE written by hand.

    python -m benchmarks.bench_sides [--scale 1] [--rounds 5]

1. one to six views over the same sources in one run, after a change of ten rows;
2. a full refresh against plain Spark: the stored query overwriting a table, and the view's query thrown away;
3. V2 at 0.1 % against the MERGE that a good engineer writes: it recomputes the customers whose orders changed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench_refresh import JOIN, PRICE, RESULTS, TABLES, VIEWS, prepared
from benchmarks.tpch import Lake, parquet
from grebe.engine.engine import Engine
from grebe.model import Policy

FURTHER = {
    "by_nation": VIEWS["v1"],
    "by_customer": VIEWS["v2"],
    "by_day": f"SELECT o_orderdate, sum({PRICE}) AS revenue {JOIN} GROUP BY o_orderdate",
    "by_mode": f"SELECT l_shipmode, count(*) AS n, sum({PRICE}) AS revenue {JOIN} GROUP BY l_shipmode",
    "by_part": "SELECT l_partkey, sum(l_quantity) AS quantity FROM lineitem GROUP BY l_partkey",
    "by_flag": "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, count(*) AS n"
    " FROM lineitem GROUP BY l_returnflag, l_linestatus",
}
STORED = (
    f"SELECT c_custkey, c_name, count(*) AS n, sum({PRICE}) AS revenue, count({PRICE}) AS known"
    f" {JOIN} GROUP BY c_custkey, c_name"
)
PEER = f"""
MERGE INTO lake.bench.peer t USING (
  SELECT k.c_custkey AS key, v.* FROM affected k LEFT JOIN (
    SELECT c_custkey, c_name, count(*) AS n, sum({PRICE}) AS revenue
    FROM lake.bench.customer JOIN lake.bench.orders ON c_custkey = o_custkey
    JOIN lake.bench.lineitem ON l_orderkey = o_orderkey
    WHERE c_custkey IN (SELECT c_custkey FROM affected) GROUP BY c_custkey, c_name
  ) v ON v.c_custkey = k.c_custkey
) s ON t.c_custkey = s.key
WHEN MATCHED AND s.c_custkey IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET t.c_name = s.c_name, t.n = s.n, t.revenue = s.revenue
WHEN NOT MATCHED AND s.c_custkey IS NOT NULL THEN INSERT (c_custkey, c_name, n, revenue)
  VALUES (s.c_custkey, s.c_name, s.n, s.revenue)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench"))
    options = parser.parse_args()
    folder = options.folder.absolute() / f"sides-{options.scale:g}"
    engine = prepared(folder, folder / "events")
    lake = Lake(engine.spark, "lake.bench")
    lake.build(parquet(options.folder.absolute(), options.scale, TABLES))
    for name, sql in FURTHER.items():
        engine.define(name, sql, Policy.INCREMENTAL)
    engine.define("whole", VIEWS["v2"], Policy.FULL)
    engine.refresh()
    report = {
        "load": os.getloadavg()[0],
        "further_views": further(engine, lake, options.rounds),
        "full": full(engine, lake, options.rounds),
        "peer": peer(engine, lake, options.rounds),
    }
    for name in FURTHER:
        engine.refresh([name])
        engine.verify(name)
    text = json.dumps(report, indent=2)
    print(text)
    (RESULTS / f"sides-sf{options.scale:g}.json").write_text(text + "\n")


def took(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def further(engine: Engine, lake: Lake, rounds: int) -> dict[str, float]:
    """Seconds of a run by the number of views in it."""
    names = list(FURTHER)
    found: dict[str, float] = {}
    for number in (1, 2, 4, len(names)):
        seconds = []
        for turn in range(rounds + 1):
            lake.few(10, number * 20 + turn)
            seconds.append(took(lambda views=names[:number]: engine.refresh(views, jobs=2)))
        found[str(number)] = round(statistics.median(seconds[1:]), 2)
    first, last = found["1"], found[str(len(names))]
    return found | {"each_further": round((last - first) / (len(names) - 1), 2)}


def full(engine: Engine, lake: Lake, rounds: int) -> dict[str, float]:
    """A full refresh of V2, the same stored query by plain Spark, and the view's query alone."""
    spark = engine.spark
    spark.sql("USE lake.bench")
    spark.sql(f"CREATE OR REPLACE TABLE lake.bench.plain USING iceberg AS {STORED}")
    ways: dict[str, Callable[[], object]] = {
        "full_refresh": lambda: engine.refresh(["whole"]),
        "overwrite": lambda: spark.sql(f"INSERT OVERWRITE lake.bench.plain {STORED}").collect(),
        "query": lambda: spark.sql(VIEWS["v2"]).write.format("noop").mode("overwrite").save(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        lake.few(10, 500 + turn)
        for name, work in ways.items():
            seconds[name].append(took(work))
    found = {name: round(statistics.median(times[1:]), 2) for name, times in seconds.items()}
    return found | {
        "against_overwrite": round(found["full_refresh"] / found["overwrite"], 3),
        "against_query": round(found["full_refresh"] / found["query"], 3),
    }


def peer(engine: Engine, lake: Lake, rounds: int) -> dict[str, dict[str, float]]:
    """V2 by grebe and by hand after the same changes; the rows of both are compared."""
    spark = engine.spark
    engine.refresh(["by_customer"])
    spark.sql("DROP TABLE IF EXISTS lake.bench.peer PURGE")
    properties = ", ".join(f"'write.{verb}.mode'='merge-on-read'" for verb in ("merge", "delete"))
    spark.sql(
        "CREATE TABLE lake.bench.peer USING iceberg"
        f" TBLPROPERTIES ('format-version'='3', {properties}) AS SELECT * FROM lake.bench.by_customer"
    )
    report: dict[str, dict[str, float]] = {}
    for where in ("clustered", "spread"):
        hand, ours = [], []
        for turn in range(rounds + 1):
            seed = 700 + turn + 50 * (where == "spread")
            before = lake.version("orders")
            keys = lake.change(0.001, where, seed, "mixed")
            fresh = 1_000_000_000 + seed * 10_000_000
            work = [(hand, lambda k=keys, b=before, f=fresh: by_hand(lake, k, b, f))]
            work.append((ours, lambda: engine.refresh(["by_customer"])))
            for kept, run in work if turn % 2 else reversed(work):
                kept.append(took(run))
        same = "SELECT count(*) FROM (TABLE {} EXCEPT ALL TABLE {})"
        names = ("lake.bench.peer", "lake.bench.by_customer")
        for pair in (names, names[::-1]):
            assert spark.sql(same.format(*pair)).first()[0] == 0
        mine, theirs = statistics.median(ours[1:]), statistics.median(hand[1:])
        report[where] = {
            "grebe_seconds": round(mine, 2),
            "hand_seconds": round(theirs, 2),
            "ratio": round(mine / theirs, 3),
        }
    return report


def by_hand(lake: Lake, keys: str, before: int, fresh: int) -> None:
    """The customers whose orders went, changed or came, then one MERGE."""
    chosen = keys.format(key="o_orderkey")
    lake.spark.sql(
        f"SELECT o_custkey AS c_custkey FROM lake.bench.orders VERSION AS OF {before} WHERE {chosen}"
        f" UNION SELECT o_custkey FROM lake.bench.orders WHERE ({chosen}) OR o_orderkey >= {fresh}"
    ).createOrReplaceTempView("affected")
    lake.spark.sql(PEER).collect()


if __name__ == "__main__":
    main()
