"""`make bench`: everything of docs/performance.md, each in a process of its own; an hour on two cores."""

from __future__ import annotations

import subprocess
import sys
import time

RUNS = (
    "bench_startup",
    "changes",
    "bench_refresh --views v1 v2 --few --no-full",
    "bench_refresh",
    "bench_refresh --views v1 v2 --share 0.01 --where spread --runs 3",
    "bench_refresh --views v2 --format delta",
    "bench_refresh --views v2 --format ducklake --runs 3",
    "bench_refresh --views v1 v2 --scale 5 --runs 3",
    "bench_sides",
    "bench_sweep",
    "bench_successive",
    "bench_tpch",
    "bench_many",
    "compile",
    "bench_create",
    "ducklake_changes",
    "ducklake_programs",
)


def main() -> int:
    failed, begun = 0, time.monotonic()
    for run in RUNS:
        print(f"--- {run}", flush=True)
        since = time.monotonic()
        module, *options = run.split()
        command = [sys.executable, "-m", f"benchmarks.{module}", *options]
        failed += subprocess.run(command, check=False).returncode != 0
        now = time.monotonic()
        print(f"{run}: {(now - since) / 60:.1f} min, {(now - begun) / 60:.1f} in all", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
