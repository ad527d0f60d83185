"""All 22 TPC-H queries as views over one lake: mixed changes, one run, verified.

    python -m benchmarks.bench_tpch [--scale 1] [--rounds 3] [--share 0.01] [--policy auto]

Every round changes the sources, refreshes all 22 in one run as the policy says, and recomputes all 22
twins in one run. Every view is verified after every round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from pathlib import Path

from benchmarks.bench_refresh import prepared
from benchmarks.eventlog import measured
from benchmarks.tpch import KEYS, Lake, parquet, queries
from grebe.engine.engine import Engine
from grebe.engine.refresh import RefreshResult
from grebe.model import Outcome, Policy
from grebe.registry import Registry

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", type=int, default=list(range(1, 23)))
    parser.add_argument("--policy", type=Policy, default=Policy.INCREMENTAL)
    parser.add_argument("--no-full", action="store_true", help="leave the twins out")
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench"))
    options = parser.parse_args()
    folder = options.folder.absolute() / f"tpch-{options.scale:g}"
    log = folder / "events"
    engine = prepared(folder, log)
    engine.registry = Registry.open(engine.settings.registry_url)  # `auto` learns from past runs
    lake = Lake(engine.spark, f"{engine.settings.defaults.catalog}.bench")
    lake.build(parquet(options.folder.absolute(), options.scale, tuple(KEYS)))
    ending = "" if options.policy is Policy.INCREMENTAL else f"_{options.policy}"
    names = define(engine, options.only, ending, options.policy)
    twins = [] if options.no_full else define(engine, options.only, "_full", Policy.FULL)
    report(engine.refresh(names, jobs=options.jobs))
    report(engine.refresh(twins, jobs=options.jobs))
    found, ratios = [], []
    for turn in range(1, options.rounds + 1):
        lake.change(options.share, "spread" if turn % 2 else "clustered", turn)
        with measured(engine.spark, log) as work:
            results = engine.refresh(names, jobs=options.jobs)
        report(results)
        for name in names:
            engine.verify(name)
        line = {
            "round": turn,
            "seconds": round(work.seconds, 2),
            "jobs": work.jobs,
            "outcomes": {r.view.name: r.outcome for r in results},
            "reasons": {r.view.name: [q.code for q in r.reasons] for r in results if r.reasons},
        }
        if twins:
            with measured(engine.spark, log) as whole:
                engine.refresh(twins, jobs=options.jobs)
            ratios.append(work.seconds / whole.seconds)
            line |= {"full_seconds": round(whole.seconds, 2), "ratio": round(ratios[-1], 3)}
        found.append(line)
        print(json.dumps(line), flush=True)
    RESULTS.mkdir(exist_ok=True)
    text = {
        "scale": options.scale,
        "share": options.share,
        "policy": options.policy,
        "load": os.getloadavg()[0],
        "verified": len(names) * options.rounds,
        "ratio": round(statistics.median(ratios), 3) if ratios else None,
        "rounds": found,
    }
    (RESULTS / f"tpch{ending.replace('_', '-')}-sf{options.scale:g}.json").write_text(
        json.dumps(text, indent=2) + "\n"
    )


def define(
    engine: Engine, numbers: list[int], ending: str = "", policy: Policy = Policy.INCREMENTAL
) -> list[str]:
    """The views of some queries."""
    texts = queries()
    names = []
    for number in numbers:
        engine.define(f"q{number}{ending}", texts[number], policy)
        names.append(f"q{number}{ending}")
    return names


def report(results: list[RefreshResult]) -> None:
    for result in results:
        reasons = "; ".join(str(reason) for reason in result.reasons)
        print(f"  {result.view.name:9} {result.outcome:12} {result.seconds:6.2f} s  {reasons}")
        if result.outcome is Outcome.FAILED:
            raise SystemExit(f"{result.view} failed")


if __name__ == "__main__":
    main()
