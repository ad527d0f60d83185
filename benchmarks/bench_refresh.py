"""What a refresh costs against a full one: the views over TPC-H that docs/performance.md names.

    python -m benchmarks.bench_refresh [--scale 1] [--views v1 v2 v3 window chain] [--share 0.001] [--runs 7]

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
    "window": "SELECT o_custkey, o_orderkey, o_totalprice, row_number() OVER (PARTITION BY o_custkey"
    " ORDER BY o_totalprice DESC, o_orderkey) AS place FROM orders",
}
CHAIN = {
    "chain_orders": f"SELECT o_orderkey, o_custkey, count(*) AS n, sum({PRICE}) AS revenue"
    " FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY o_orderkey, o_custkey",
    "chain_customers": "SELECT c_custkey, c_nationkey, sum(n) AS n, sum(revenue) AS revenue"
    " FROM customer JOIN chain_orders{twin} ON c_custkey = o_custkey GROUP BY c_custkey, c_nationkey",
    "chain_nations": "SELECT c_nationkey, count(*) AS customers, sum(n) AS n, sum(revenue) AS revenue"
    " FROM chain_customers{twin} GROUP BY c_nationkey",
    "chain_fifths": "SELECT c_nationkey % 5 AS fifth, sum(revenue) AS revenue, max(revenue) AS best"
    " FROM chain_nations{twin} GROUP BY c_nationkey % 5",
}
"""Four views, each over the one before; `{twin}` is the ending of the parents."""
CASES = {view: {view: text} for view, text in VIEWS.items()} | {"chain": CHAIN}
"""The views that are refreshed together."""
TWIN = "_full"
AMOUNTS = ("rows_read", "bytes_read", "rows_written", "bytes_written")
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
    commits: float | None = None
    """Versions that one refresh adds to its storage tables, where they can be counted."""

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
            "commits": self.commits,
            **{name: max(getattr(w, name) for w in self.incremental) for name in AMOUNTS},
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--views", nargs="+", default=list(CASES), choices=list(CASES))
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
    for case in options.views:
        for view, text in CASES[case].items():
            engine.define(view, text.format(twin=""), Policy.INCREMENTAL)
            if not options.no_full:
                engine.define(view + TWIN, text.format(twin=TWIN), Policy.FULL)
        engine.refresh(list(CASES[case]))
    cases = []
    kinds = (
        [(0.0, "few")] if options.few else [(s, w) for s in options.share for w in options.where]
    )
    seed = 0
    for share, where in kinds:
        found = [Case(view, where, share) for view in options.views]
        before = [versions(engine, case) for case in options.views]
        for turn in range(options.runs + 1):
            seed += 1
            if where == "few":
                lake.few(10, seed)
            else:
                lake.change(share, where, seed)
            for case in found:
                one(engine, log, case, turn, full=not options.no_full)
        for case, count in zip(found, before, strict=True):
            if count is not None:
                case.commits = ((versions(engine, case.view) or 0) - count) / (options.runs + 1)
            for view in CASES[case.view]:
                engine.verify(view)
            print(json.dumps(case.line()), flush=True)
        cases += [case.line() for case in found]
    keep(RESULTS / f"refresh{other}-sf{options.scale:g}.json", cases)


def versions(engine: Engine, case: str) -> int | None:
    """How many versions the storage tables of a case have; only Iceberg's are counted."""
    if engine.settings.defaults.catalog == "tables":
        return None
    tables = (engine.view(view).storage_name.quoted() for view in CASES[case])
    return sum(engine.spark.table(f"{table}.snapshots").count() for table in tables)


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
    kinds = [("", case.incremental), (TWIN, case.full)]
    for twin, kept in kinds[: 1 + full] if turn % 2 else reversed(kinds[: 1 + full]):
        with measured(engine.spark, log) as work:
            results = engine.refresh([view + twin for view in CASES[case.view]])
        expected = {Outcome.FULL} if twin else {Outcome.INCREMENTAL, Outcome.NO_OP}
        assert {result.outcome for result in results} <= expected, results
        print(
            f"  {case.view}{twin} {case.where} {turn}: {work.seconds:.2f} s, {work.jobs} jobs,"
            f" {work.rows_read} rows read",
            flush=True,
        )
        if turn:
            kept.append(work)
        if not twin:
            assert results[0].outcome is Outcome.INCREMENTAL, results
            case.rows_in = sum(result.rows_in for result in results)
            case.rows_out = sum(result.rows_out for result in results)


if __name__ == "__main__":
    main()
