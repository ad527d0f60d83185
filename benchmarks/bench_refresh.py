"""What a refresh costs against a full one: V1, V2, V3 over TPC-H, as docs/performance.md names them.

    python -m benchmarks.bench_refresh [--scale 1] [--views v1 v2 v3] [--share 0.001] [--runs 7]

Each round changes the sources, then refreshes a view incrementally and its twin in full, in one
session, one after the other in changing order. The last incremental result is verified.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.eventlog import Work, event_log_conf, measured
from benchmarks.tpch import Lake, parquet
from benchmarks.tpch_ducklake import DuckLake
from grebe.config import load
from grebe.engine.engine import Engine
from grebe.model import Outcome, Policy

RESULTS = Path(__file__).parent / "results"
JOIN = "FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey"
PRICE = "l_extendedprice * (1 - l_discount)"
VIEWS = {
    "v1": f"SELECT c_nationkey, count(*) AS n, sum({PRICE}) AS revenue {JOIN} GROUP BY c_nationkey",
    "v2": f"SELECT c_custkey, c_name, count(*) AS n, sum({PRICE}) AS revenue {JOIN}"
    " GROUP BY c_custkey, c_name",
    "v3": f"SELECT c_custkey, c_name, o_orderkey, o_orderdate, l_linenumber, l_quantity, {PRICE}"
    f" AS price {JOIN}",
}
TABLES = ("customer", "orders", "lineitem")
CATALOGS = {
    "iceberg": [],
    "delta": ['catalog = "tables"', "[catalogs.tables]", 'format = "delta"', 'root = "tables"'],
    "ducklake": [
        'catalog = "tables"',
        "[catalogs.tables]",
        'format = "ducklake"',
        'uri = "ducklake:sqlite:{folder}/meta.sqlite"',
        'root = "{folder}/data"',
    ],
}


@dataclass
class Case:
    view: str
    where: str
    share: float
    incremental: list[Work] = field(default_factory=list)
    full: list[Work] = field(default_factory=list)
    rows_in: int = 0
    rows_out: int = 0

    def line(self) -> dict[str, object]:
        fast = statistics.median(work.seconds for work in self.incremental)
        whole = statistics.median(work.seconds for work in self.full) if self.full else None
        return {
            "view": self.view,
            "where": self.where,
            "share": self.share,
            "seconds": round(fast, 3),
            "best": round(min(work.seconds for work in self.incremental), 3),
            "full_seconds": round(whole, 3) if whole else None,
            "ratio": round(fast / whole, 3) if whole else None,
            "jobs": max(work.jobs for work in self.incremental),
            "rows_read": max(work.rows_read for work in self.incremental),
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--views", nargs="+", default=list(VIEWS), choices=list(VIEWS))
    parser.add_argument("--where", nargs="+", default=["clustered", "spread"])
    parser.add_argument("--share", nargs="+", type=float, default=[0.001])
    parser.add_argument("--few", action="store_true", help="the floor: a change of ten rows")
    parser.add_argument("--no-full", action="store_true", help="leave the twins out")
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench"))
    parser.add_argument("--format", choices=list(CATALOGS), default="iceberg")
    options = parser.parse_args()
    other = "" if options.format == "iceberg" else f"-{options.format}"
    folder = options.folder.absolute() / f"refresh{other}-{options.scale:g}"
    log = folder / "events"
    engine = prepared(folder, log, options.format)
    lake = lake_of(engine, options.format, folder)
    lake.build(parquet(options.folder.absolute(), options.scale, TABLES))
    for view in options.views:
        engine.define(view, VIEWS[view], Policy.INCREMENTAL)
        if not options.no_full:
            engine.define(f"{view}_full", VIEWS[view], Policy.FULL)
    engine.refresh(options.views)
    cases = []
    kinds = (
        [(0.0, "few")] if options.few else [(s, w) for s in options.share for w in options.where]
    )
    seed = 0
    for share, where in kinds:
        found = [Case(view, where, share) for view in options.views]
        for turn in range(options.runs + 1):
            seed += 1
            if where == "few":
                lake.few(10, seed)
            else:
                lake.change(share, where, seed)
            for case in found:
                one(engine, log, case, turn, full=not options.no_full)
        for case in found:
            engine.verify(case.view)
            print(json.dumps(case.line()), flush=True)
        cases += [case.line() for case in found]
    keep(RESULTS / f"refresh{other}-sf{options.scale:g}.json", cases)


def lake_of(engine: Engine, form: str, folder: Path) -> Lake | DuckLake:
    """The sources, in the format that the views are stored in."""
    if form == "ducklake":
        return DuckLake(folder)
    tables = folder / "tables" / "bench" if form == "delta" else None
    return Lake(engine.spark, f"{engine.settings.defaults.catalog}.bench", tables)


def keep(file: Path, cases: list[dict[str, object]]) -> None:
    """Write down some cases, in place of former figures of the same ones."""

    def key(case: dict[str, object]) -> str:
        return f"{case['view']} {case['where']} {case['share']}"

    file.parent.mkdir(exist_ok=True)
    known = json.loads(file.read_text()) if file.is_file() else []
    load = round(os.getloadavg()[0], 1)
    found = {key(case): case for case in known} | {key(c): {**c, "load": load} for c in cases}
    text = json.dumps([found[name] for name in sorted(found)], indent=2)
    file.write_text(text + "\n")


def prepared(folder: Path, log: Path, form: str = "iceberg") -> Engine:
    """An engine in a folder of its own, whose Spark writes an event log."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f'"{key}" = "{value}"' for key, value in event_log_conf(log).items()]
    lines += ['"spark.driver.memory" = "6g"']
    (folder / "grebe.toml").write_text(
        "\n".join(
            [
                "[defaults]",
                'schema = "bench"',
                *(line.format(folder=folder) for line in CATALOGS[form]),
                "[spark.conf]",
                *lines,
                "",
            ]
        )
    )
    return Engine(load(folder))


def one(engine: Engine, log: Path, case: Case, turn: int, *, full: bool) -> None:
    """One round of a case; the first one warms up and is not counted."""
    kinds = [(case.view, case.incremental)]
    if full:
        kinds.append((f"{case.view}_full", case.full))
    for name, kept in kinds if turn % 2 else reversed(kinds):
        with measured(engine.spark, log) as work:
            (result,) = engine.refresh([name])
        expected = Outcome.INCREMENTAL if name == case.view else Outcome.FULL
        assert result.outcome is expected, result
        print(
            f"  {name} {case.where} {turn}: {work.seconds:.2f} s, {work.jobs} jobs, {work.rows_read} rows read",
            flush=True,
        )
        if turn:
            kept.append(work)
        if name == case.view:
            case.rows_in, case.rows_out = result.rows_in, result.rows_out


if __name__ == "__main__":
    main()
