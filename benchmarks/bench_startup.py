"""How long Spark takes to start: jars resolved by Spark, jars from our cache, classes prepared."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from grebe.spark.jars import COORDINATES

ROUNDS = 3
PROGRAM = """
import sys, time
begun = time.perf_counter()
from grebe.config import load
from grebe.spark.session import open_session
imported = time.perf_counter()
spark = open_session(load(sys.argv[1]))
started = time.perf_counter()
spark.sql("CREATE NAMESPACE lake.b")
spark.sql("CREATE TABLE lake.b.t (id INT) USING iceberg")
spark.sql("INSERT INTO lake.b.t VALUES (1)")
print(imported - begun, started - imported, time.perf_counter() - started)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        packages = f'[spark.conf]\n"spark.jars.packages" = "{",".join(COORDINATES)}"\n'
        packages += f'"spark.jars.ivy" = "{scratch}/ivy"\n'
        first = start(Path(scratch), packages)
        print(f"{'':38} {'import':>8} {'start':>8} {'first table':>12}   seconds")
        show("resolved by Spark, nothing cached", [first])
        show("resolved by Spark, its cache warm", rounds(Path(scratch), packages))
        options = '[spark.conf]\n"spark.driver.extraJavaOptions" = "-Dgrebe=bench"\n'
        show("files from our cache", rounds(Path(scratch), options))
        show("the same, classes prepared", rounds(Path(scratch), ""))


def rounds(scratch: Path, settings: str) -> list[list[float]]:
    return [start(scratch, settings) for _ in range(ROUNDS)]


def start(scratch: Path, settings: str) -> list[float]:
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        Path(folder, "grebe.toml").write_text(settings)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, folder], capture_output=True, text=True, check=True
        )
    return [float(word) for word in done.stdout.split()]


def show(label: str, measured: list[list[float]]) -> None:
    imported, started, first = (statistics.median(column) for column in zip(*measured, strict=True))
    print(f"{label:38} {imported:8.1f} {started:8.1f} {first:12.1f}", flush=True)


if __name__ == "__main__":
    main()
