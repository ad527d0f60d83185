"""Which way `auto` takes, and what each way costs: V1 and V2 over changes of every size and kind.

    python -m benchmarks.bench_sweep [--scale 1] [--rounds 3] [--views v1 v2]

Every view stands three times over the same sources: kept incrementally, in full, and as `auto` decides.
Each state changes the sources a few times; after each change all three are refreshed, the full one once.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.bench_refresh import RESULTS, TABLES, VIEWS, prepared
from benchmarks.eventlog import measured
from benchmarks.tpch import Lake, parquet
from grebe.engine.engine import Engine
from grebe.model import Policy

STATES = (
    *(("mixed", share) for share in (0.0001, 0.001, 0.01, 0.1, 0.5)),
    *((kind, share) for kind in ("inserts", "deletes", "updates") for share in (0.001, 0.01)),
)
WAYS = (Policy.INCREMENTAL, Policy.AUTO, Policy.FULL)
LARGE = 0.05
"""Changes of more than this are made once: the next one would find another table."""


@dataclass
class State:
    """One view after changes of one kind and size; seconds by the way they were taken in."""

    view: str
    kind: str
    share: float
    seconds: dict[Policy, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    chosen: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    rows_read: int = 0

    def line(self) -> dict[str, object]:
        """The medians, and what `auto` lost against the better way."""
        found = {way: statistics.median(times) for way, times in self.seconds.items()}
        better = min(found[Policy.INCREMENTAL], found[Policy.FULL])
        return {
            "view": self.view,
            "kind": self.kind,
            "share": self.share,
            **{f"{way.value}_seconds": round(found[way], 2) for way in WAYS},
            "ratio": round(found[Policy.INCREMENTAL] / found[Policy.FULL], 3),
            "auto_against_better": round(found[Policy.AUTO] / better, 3),
            "auto_chose": dict(self.chosen),
            "jobs": self.jobs,
            "rows_read": self.rows_read,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--views", nargs="+", default=["v1", "v2"], choices=list(VIEWS))
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench"))
    options = parser.parse_args()
    folder = options.folder.absolute() / f"sweep-{options.scale:g}"
    log = folder / "events"
    engine = prepared(folder, log)
    lake = Lake(engine.spark, f"{engine.settings.defaults.catalog}.bench")
    lake.build(parquet(options.folder.absolute(), options.scale, TABLES))
    for view in options.views:
        for way in WAYS:
            engine.define(f"{view}_{way.value}", VIEWS[view], way)
    engine.refresh()
    warm_up(engine, lake, options.views)
    lines = []
    for seed, (kind, share) in enumerate(STATES):
        states = [State(view, kind, share) for view in options.views]
        for turn in range(1 if share > LARGE else options.rounds):
            lake.change(share, "spread", 1000 + seed * 10 + turn, kind)
            for state in states:
                one(engine, log, state, full=turn == 0)
        for state in states:
            engine.verify(f"{state.view}_auto")
            print(json.dumps(state.line()), flush=True)
            lines.append(state.line())
    auto, better = total(lines)
    report = {"load": os.getloadavg()[0], "auto_against_better": auto / better, "states": lines}
    print(f"auto {auto:.1f} s, always the better way {better:.1f} s: {auto / better:.2f}")
    file = RESULTS / f"sweep-sf{options.scale:g}.json"
    file.write_text(json.dumps(report, indent=2) + "\n")


def warm_up(engine: Engine, lake: Lake, views: list[str]) -> None:
    """Every way once or twice, not counted; `auto` learns from it what a refresh takes here."""
    for seed in range(2):
        lake.change(0.001, "spread", seed, "mixed")
        for view in views:
            engine.refresh([f"{view}_{way.value}" for way in WAYS])


def one(engine: Engine, log: Path, state: State, *, full: bool) -> None:
    """A refresh by every way."""
    for way in WAYS if full else WAYS[:2]:
        with measured(engine.spark, log) as work:
            (result,) = engine.refresh([f"{state.view}_{way.value}"])
        state.seconds[way].append(work.seconds)
        if way is Policy.AUTO:
            state.chosen[str(result.outcome)] += 1
        if way is Policy.INCREMENTAL:
            state.jobs = max(state.jobs, work.jobs)
            state.rows_read = max(state.rows_read, work.rows_read)


def total(lines: list[dict[str, object]]) -> tuple[float, float]:
    """Seconds over the whole sweep: as `auto` decided, and by the better way every time."""

    def seconds(line: dict[str, object], way: Policy) -> float:
        return float(str(line[f"{way.value}_seconds"]))

    auto = sum(seconds(line, Policy.AUTO) for line in lines)
    better = sum(
        min(seconds(line, Policy.INCREMENTAL), seconds(line, Policy.FULL)) for line in lines
    )
    return auto, better


if __name__ == "__main__":
    main()
