"""Hundreds of small refreshes of one view: neither time nor files nor metadata may grow without end.

    python -m benchmarks.bench_successive [--scale 1] [--refreshes 200]

The sources' owner rewrites their manifests now and then, as `grebe retention` advises; the view is looked
after by grebe alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path

from benchmarks.bench_refresh import RESULTS, TABLES, VIEWS, prepared
from benchmarks.tpch import Lake, parquet
from grebe.engine.engine import Engine
from grebe.model import Outcome, Policy

EDGE = 20
OWNER = 25
"""The sources' manifests are rewritten after so many changes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--refreshes", type=int, default=200)
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench"))
    options = parser.parse_args()
    folder = options.folder.absolute() / f"successive-{options.scale:g}"
    engine = prepared(folder, folder / "events")
    lake = Lake(engine.spark, f"{engine.settings.defaults.catalog}.bench")
    lake.build(parquet(options.folder.absolute(), options.scale, TABLES))
    engine.define("v2", VIEWS["v2"], Policy.INCREMENTAL)
    engine.refresh()
    seconds: list[float] = []
    for turn in range(options.refreshes + 2):
        lake.few(10, turn)
        if turn % OWNER == OWNER - 1:
            tended(engine)
        begun = time.perf_counter()
        (result,) = engine.refresh()
        seconds.append(time.perf_counter() - begun)
        assert result.outcome is Outcome.INCREMENTAL, result
        if turn % OWNER == 0:
            print(turn, round(seconds[-1], 2), standing(engine), flush=True)
    engine.verify("v2")
    first, last = (statistics.median(part) for part in (seconds[2 : EDGE + 2], seconds[-EDGE:]))
    report = {
        "scale": options.scale,
        "refreshes": options.refreshes,
        "load": os.getloadavg()[0],
        "first_seconds": round(first, 3),
        "last_seconds": round(last, 3),
        "growth": round(last / first, 3),
        **standing(engine),
    }
    print(json.dumps(report))
    file = RESULTS / f"successive-sf{options.scale:g}.json"
    file.write_text(json.dumps(report, indent=2) + "\n")


def tended(engine: Engine) -> None:
    for table in TABLES:
        engine.spark.sql(f"CALL lake.system.rewrite_manifests(table => 'bench.{table}')").collect()


def standing(engine: Engine) -> dict[str, int]:
    """What a reader of the stored table has to open, and how long its newest metadata is."""
    table = engine.view("v2").storage_name.quoted()
    spark = engine.spark
    files = spark.sql(f"SELECT count(*) FROM {table}.files").first()
    manifests = spark.sql(f"SELECT count(*) FROM {table}.manifests").first()
    newest = spark.sql(
        f"SELECT file FROM {table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
    ).first()
    assert files
    assert manifests
    assert newest
    size = Path(str(newest[0]).removeprefix("file:")).stat().st_size
    return {"files": files[0], "manifests": manifests[0], "metadata_bytes": size}


if __name__ == "__main__":
    main()
