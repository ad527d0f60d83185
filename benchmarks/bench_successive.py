"""Hundreds of small refreshes of one view: neither time nor files nor metadata may grow without end.

    python -m benchmarks.bench_successive [--scale 1] [--refreshes 200] [--kept-seconds 60]

The sources' owner rewrites their manifests now and then, as `grebe retention` advises; the view is looked
after by grebe alone. Its versions are kept for a minute, so that a short run shows what a long one does.
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
from grebe.api import Project
from grebe.engine.engine import Engine
from grebe.model import Outcome, Policy

EDGE = 20
OWNER = 25
"""The sources' manifests are rewritten after so many changes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--refreshes", type=int, default=200)
    parser.add_argument("--kept-seconds", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench"))
    options = parser.parse_args()
    folder = options.folder.absolute() / f"successive-{options.scale:g}"
    spark = prepared(folder, folder / "events").spark
    project = Project.open(folder, spark=spark)
    engine = project.engine
    lake = Lake(engine.spark, f"{engine.settings.defaults.catalog}.bench")
    lake.build(parquet(options.folder.absolute(), options.scale, TABLES))
    kept = {"history.expire.max-snapshot-age-ms": str(options.kept_seconds * 1000)}
    project.create_view("v2", VIEWS["v2"], policy=Policy.INCREMENTAL).alter(properties=kept)
    seconds: list[float] = []
    for turn in range(options.refreshes + 2):
        lake.few(10, turn)
        if turn % OWNER == OWNER - 1:
            tended(engine)
        begun = time.perf_counter()
        (result,) = project.refresh()
        seconds.append(time.perf_counter() - begun)
        assert result.outcome is Outcome.INCREMENTAL, result
        if turn % OWNER == 0:
            print(turn, round(seconds[-1], 2), standing(project), flush=True)
    project.verify()
    first, last = (statistics.median(part) for part in (seconds[2 : EDGE + 2], seconds[-EDGE:]))
    report = {
        "scale": options.scale,
        "refreshes": options.refreshes,
        "kept_seconds": options.kept_seconds,
        "load": os.getloadavg()[0],
        "first_seconds": round(first, 3),
        "last_seconds": round(last, 3),
        "growth": round(last / first, 3),
        **standing(project),
    }
    print(json.dumps(report))
    file = RESULTS / f"successive-sf{options.scale:g}.json"
    file.write_text(json.dumps(report, indent=2) + "\n")


def tended(engine: Engine) -> None:
    for table in TABLES:
        engine.spark.sql(f"CALL lake.system.rewrite_manifests(table => 'bench.{table}')").collect()


def standing(project: Project) -> dict[str, int]:
    """What a reader of the stored table has to open, and how long its newest metadata is."""
    (view,) = project.written().values()
    assert view.facts
    assert view.facts.storage
    table, spark = view.facts.storage.quoted(), project.spark
    files = spark.sql(f"SELECT count(*) FROM {table}.files").first()
    manifests = spark.sql(f"SELECT count(*) FROM {table}.manifests").first()
    versions = spark.sql(f"SELECT count(*) FROM {table}.snapshots").first()
    newest = spark.sql(
        f"SELECT file FROM {table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
    ).first()
    assert files
    assert manifests
    assert versions
    assert newest
    size = Path(str(newest[0]).removeprefix("file:")).stat().st_size
    return {
        "files": files[0],
        "manifests": manifests[0],
        "versions": versions[0],
        "metadata_bytes": size,
    }


if __name__ == "__main__":
    main()
