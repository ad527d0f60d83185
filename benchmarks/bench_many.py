"""Many views in one run: feeds are read once, and memory stays flat.

    python -m benchmarks.bench_many [--views 200] [--runs 20] [--again 40]

First one run of many views over five sources, then many runs of fewer views.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.bench_refresh import prepared
from benchmarks.eventlog import measured
from grebe.formats.iceberg.source import IcebergSource
from grebe.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from grebe.engine.engine import Engine
    from grebe.formats.base import Changes
    from grebe.model import Window

RESULTS = Path(__file__).parent / "results"
SOURCES = ("a", "b", "c", "d", "e")
SHAPES = (
    "SELECT g, count(*) AS n, sum(x) AS total FROM {one} WHERE x % {k} <> 1 GROUP BY g",
    "SELECT l.id, l.g, r.x FROM {one} l JOIN {two} r ON l.id = r.id WHERE l.x % {k} = 0",
    "SELECT l.id, r.x FROM {one} l LEFT JOIN {two} r ON l.id = r.id AND r.x > {k}",
    "SELECT DISTINCT g, x % {k} AS bucket FROM {one}",
    "SELECT g, max(x) AS top FROM {one} WHERE id % {k} <> 0 GROUP BY g",
)
ROWS = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--views", type=int, default=200)
    parser.add_argument("--again", type=int, default=40)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench/many"))
    options = parser.parse_args()
    folder = options.folder.absolute()
    log = folder / "events"
    engine = prepared(folder, log)
    spark = engine.spark
    make(spark)
    names = [define(engine, place) for place in range(options.views)]
    begun = time.perf_counter()
    assert not failed(engine, names, options.jobs)
    build = time.perf_counter() - begun
    change(spark, 1)
    feeds = counted()
    with measured(spark, log) as work:
        outcomes = Counter(str(r.outcome) for r in engine.refresh(names, jobs=options.jobs))
    one = {
        "views": len(names),
        "build_seconds": round(build, 1),
        "seconds": round(work.seconds, 1),
        "jobs": work.jobs,
        "feeds_read": dict(feeds),
        "outcomes": dict(outcomes),
    }
    print(json.dumps(one), flush=True)
    for name in names[:: max(1, len(names) // 20)]:
        engine.verify(name)
    memory = []
    for turn in range(options.runs):
        change(spark, turn + 2)
        assert not failed(engine, names[: options.again], options.jobs)
        memory.append(used(spark))
        print(json.dumps(memory[-1]), flush=True)
    RESULTS.mkdir(exist_ok=True)
    report = {"load": os.getloadavg()[0], "one_run": one, "memory": memory}
    (RESULTS / "many.json").write_text(json.dumps(report, indent=2) + "\n")


def make(spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
    for place, name in enumerate(SOURCES):
        spark.sql(f"DROP TABLE IF EXISTS lake.bench.{name} PURGE")
        rows = spark.range(ROWS).selectExpr("id", "id % 50 AS g", f"(id * {place + 7}) % 1000 AS x")
        rows.coalesce(1).writeTo(f"lake.bench.{name}").using("iceberg").create()


def define(engine: Engine, place: int) -> str:
    one, two = SOURCES[place % 5], SOURCES[(place // 5 + 1) % 5]
    sql = SHAPES[place // 7 % len(SHAPES)].format(one=one, two=two, k=place % 11 + 2)
    engine.define(f"v{place}", sql)
    return f"v{place}"


def change(spark: SparkSession, turn: int) -> None:
    for name in SOURCES:
        spark.sql(f"UPDATE lake.bench.{name} SET x = x + 1 WHERE id % 500 = {turn}")
        spark.sql(f"INSERT INTO lake.bench.{name} VALUES ({ROWS + turn}, {turn % 50}, {turn})")


def counted() -> Counter[str]:
    """Counts how often the changes of each source are read from now on."""
    feeds: Counter[str] = Counter()
    read = IcebergSource.changes

    def changes(self: IcebergSource, window: Window, columns: Sequence[int]) -> Changes:
        if self.name.name in SOURCES:  # small stored tables are read in the same way
            feeds[self.name.name] += 1
        return read(self, window, columns)

    IcebergSource.changes = changes  # type: ignore[method-assign]
    return feeds


def failed(engine: Engine, names: Sequence[str], jobs: int) -> list[str]:
    results = engine.refresh(list(names), jobs=jobs)
    return [str(result.reasons) for result in results if result.outcome is Outcome.FAILED]


def used(spark: SparkSession) -> dict[str, int]:
    """Megabytes: this process, and the Java heap after a collection.

    Spark forgets a broadcast when a collection has found that nobody knows it any more; another one frees it.
    """
    runtime = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
    for _ in range(2):
        runtime.gc()
        time.sleep(1)
    java = (runtime.totalMemory() - runtime.freeMemory()) // 2**20
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    python = next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line)
    return {"python_mb": python // 1024, "java_mb": int(java)}


if __name__ == "__main__":
    main()
