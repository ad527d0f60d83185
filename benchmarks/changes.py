"""What it costs to read the changes of a window: 0.1 % of a 6-million-row table.

    python -m benchmarks.changes [--scale 1] [--runs 9] [--folder .cache/bench] [--keep] [--modes mor cow]
    python -m benchmarks.changes --scale 5 --growth: as many changed rows as with scale 1, in more files

The tables hold the same rows and the same changes: Iceberg (v3) merge-on-read and copy-on-write, Delta
with and without deletion vectors and a change data feed; changed in one place (clustered) and everywhere
(spread). Every run uses a source that knows nothing yet, so metadata is read each time; the operating
system's cache is warm.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow.parquet as pq
from deltalake import write_deltalake

from benchmarks.eventlog import event_log_conf, measured
from grebe.config import load
from grebe.formats.base import Changes
from grebe.formats.delta.source import DeltaSource
from grebe.formats.files import DriverFiles, SparkFiles
from grebe.formats.iceberg.locators import locator_of
from grebe.formats.iceberg.source import IcebergSource
from grebe.model import TableName, Version, Window
from grebe.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS = Path(__file__).parent / "results"
CATALOG = "lake"
USED = (
    "l_orderkey",
    "l_partkey",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_returnflag",
    "l_shipdate",
)
FILES = 16
MODES = {"mor": "merge-on-read", "cow": "copy-on-write"}
FEED, VECTORS = "delta.enableChangeDataFeed", "delta.enableDeletionVectors"
DELTA: dict[str, dict[str, str]] = {
    "delta-cdf-dv": {FEED: "true", VECTORS: "true"},
    "delta-cdf": {FEED: "true"},
    "delta-dv": {VECTORS: "true"},
    "delta-cow": {},
}


@dataclass(frozen=True, slots=True)
class Case:
    """One table with a window of changes."""

    mode: str
    where: str
    name: TableName
    window: Window
    folder: Path


@dataclass(frozen=True, slots=True)
class Measured:
    """What one case cost by one way of reading."""

    case: str
    access: str
    columns: int
    way: str
    seconds: float
    best: float
    cpu: float
    spark_jobs: int
    rows: int
    bytes_read: int | None
    files_touched: int
    table_bytes: int
    table_files: int


def lineitem(folder: Path, scale: float) -> Path:
    """A Parquet file with TPC-H's lineitem, made once."""
    file = folder / f"lineitem-{scale}.parquet"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        spec = importlib.util.find_spec("duckdb_extension_tpch")
        assert spec is not None
        (extension,) = Path(str(spec.submodule_search_locations[0])).rglob("*.duckdb_extension")
        with duckdb.connect() as connection:
            connection.execute(f"LOAD '{extension}'")
            connection.execute(f"CALL dbgen(sf => {scale})")
            connection.execute(f"COPY lineitem TO '{file}' (FORMAT parquet)")
    return file


def changed_keys(where: str, orders: int, parts: int) -> str:
    """A condition on l_orderkey that holds for about one of so many parts of the rows."""
    if where == "clustered":
        return f"l_orderkey BETWEEN {orders // 3} AND {orders // 3 + orders // parts}"
    return f"pmod(hash(l_orderkey), {parts}) = 7"


def table_of(folder: Path, mode: str, where: str) -> tuple[TableName, str]:
    """A table's name, and how SQL calls it."""
    name = TableName(CATALOG, "bench", f"lineitem_{mode.replace('-', '_')}_{where}")
    return name, f"delta.`{folder / 'delta' / name.name}`" if mode in DELTA else name.quoted()


def create(spark: SparkSession, file: Path, mode: str, table: str) -> None:
    """The empty Iceberg table, in place of one of an earlier run."""
    verbs = ", ".join(f"'write.{v}.mode' = '{MODES[mode]}'" for v in ("delete", "update", "merge"))
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.bench").collect()
    spark.sql(f"DROP TABLE IF EXISTS {table} PURGE").collect()
    spark.sql(
        f"CREATE TABLE {table} USING iceberg TBLPROPERTIES ('format-version' = '3', {verbs},"
        f" 'write.distribution-mode' = 'none') AS SELECT * FROM parquet.`{file}` WHERE false"
    ).collect()


def delta_base(folder: Path, file: Path) -> Path:
    """A Delta table of the unchanged rows, written once without Spark; the others are copies."""
    base = folder / "delta" / "base"
    if not (base / "_delta_log").exists():
        rows = pq.read_table(file).sort_by([("l_orderkey", "ascending")])
        step = -(-rows.num_rows // FILES)
        for start in range(0, rows.num_rows, step):
            write_deltalake(base, rows.slice(start, step), mode="append")
    return base


def fill(spark: SparkSession, folder: Path, file: Path, mode: str, table: str, files: int) -> None:
    """The table with its rows, in files that are sorted by key."""
    if mode not in DELTA:
        create(spark, file, mode, table)
        rows = spark.read.parquet(str(file)).repartitionByRange(files, "l_orderkey")
        rows.sortWithinPartitions("l_orderkey", "l_linenumber").writeTo(table).append()
        return
    path = table.split("`")[1]
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(delta_base(folder, file), path)
    if DELTA[mode]:
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in DELTA[mode].items())
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({listed})").collect()


def build(
    spark: SparkSession, folder: Path, file: Path, mode: str, where: str, growth: int = 1
) -> Case:
    """A table and three commits on it: a third each of deletes, updates and inserts."""
    name, table = table_of(folder, mode, where)
    fill(spark, folder, file, mode, table, FILES * growth)
    orders = spark.sql(f"SELECT max(l_orderkey) FROM {table}").collect()[0][0]
    after = head(spark, folder, name)
    keys = changed_keys(where, orders, 1000 * growth)
    spark.sql(f"DELETE FROM {table} WHERE {keys} AND pmod(l_orderkey, 3) = 0").collect()
    spark.sql(
        f"UPDATE {table} SET l_quantity = l_quantity + 1 WHERE {keys} AND pmod(l_orderkey, 3) = 1"
    ).collect()
    spark.sql(
        f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM {table}"
        f" WHERE {keys} AND pmod(l_orderkey, 3) = 2"
    ).collect()
    return Case(mode, where, name, Window(after, head(spark, folder, name)), folder)


def head(spark: SparkSession, folder: Path, name: TableName) -> Version:
    return source(spark, folder, name, on_driver=True).head().version


def source(
    spark: SparkSession, folder: Path, name: TableName, *, on_driver: bool
) -> IcebergSource | DeltaSource:
    """A source that knows nothing yet."""
    files = DriverFiles() if on_driver else SparkFiles(lambda: spark)
    if name.name.startswith("lineitem_delta"):
        root = str(folder / "delta" / name.name)
        return DeltaSource(name, root, files, spark=lambda: spark)
    prefix = f"spark.sql.catalog.{CATALOG}."
    keys = ("type", "uri", "warehouse")
    properties = {key: str(spark.conf.get(prefix + key)) for key in keys}
    locator = locator_of(CATALOG, properties)
    return IcebergSource(name, locator, files, spark=lambda: spark)


def files_read(reader: IcebergSource | DeltaSource, window: Window) -> int:
    """How many files the window makes the source open."""
    if isinstance(reader, DeltaSource):
        return len(reader._plan(window).paths)
    plan = reader._planner.plan(reader._refreshed(), window, ())
    assert plan is not None
    return len(plan.touched)


def column_ids(spark: SparkSession, case: Case, columns: int) -> list[int]:
    schema = source(spark, case.folder, case.name, on_driver=True).head().schema
    chosen = [c for c in schema.columns if columns > len(USED) or c.name in USED]
    return [column.id for column in chosen]


def measure(
    spark: SparkSession, log: Path, case: Case, *, on_driver: bool, columns: int, runs: int
) -> Measured:
    """Medians of warm runs, and Spark's own count of its jobs."""
    ids = column_ids(spark, case, columns)

    def once() -> Changes:
        reader = source(spark, case.folder, case.name, on_driver=on_driver)
        return reader.changes(case.window, ids)

    taken, changes = timed(once, runs)
    with measured(spark, log) as work:
        once()
    reader = source(spark, case.folder, case.name, on_driver=True)
    stats = reader.version_stats(case.window.upto)
    return Measured(
        case=f"{case.mode} {case.where}",
        access="driver" if on_driver else "spark",
        columns=len(ids),
        way=changes.way,
        seconds=round(statistics.median(wall for wall, _ in taken), 4),
        best=round(min(wall for wall, _ in taken), 4),
        cpu=round(statistics.median(cpu for _, cpu in taken), 4),
        spark_jobs=work.jobs,
        rows=changes.arrow.num_rows if changes.arrow is not None else changes.frame.count(),  # type: ignore[union-attr]
        bytes_read=changes.bytes_read,
        files_touched=files_read(reader, case.window),
        table_bytes=stats.bytes,
        table_files=stats.files,
    )


def timed(once: Callable[[], Changes], runs: int) -> tuple[list[tuple[float, float]], Changes]:
    """Wall and own processor seconds of each run after the first, which warms up."""
    taken = []
    for _ in range(runs + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        changes = once()
        if changes.frame is not None:
            changes.frame.toArrow()
        taken.append((time.perf_counter() - wall, time.process_time() - cpu))
    return taken[1:], changes


def built(spark: SparkSession, folder: Path, mode: str, where: str) -> Case:
    """A table of an earlier run: its last three commits are the window."""
    name, _ = table_of(folder, mode, where)
    upto = head(spark, folder, name)
    reader = source(spark, folder, name, on_driver=True)
    if isinstance(reader, DeltaSource):
        after = int(upto) - 3
    else:
        after = list(reader._refreshed().ancestors(int(upto)))[3].id
    return Case(mode, where, name, Window(Version(str(after)), upto), folder)


def results(spark: SparkSession, log: Path, cases: list[Case], runs: int) -> Iterator[Measured]:
    for case in cases:
        yield measure(spark, log, case, on_driver=True, columns=len(USED), runs=runs)
        if case.mode in ("mor", "delta-cdf-dv"):
            yield measure(spark, log, case, on_driver=True, columns=16, runs=runs)
            yield measure(
                spark, log, case, on_driver=False, columns=len(USED), runs=max(3, runs // 3)
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench"))
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=[*MODES, *DELTA])
    parser.add_argument("--growth", action="store_true", help="the same change of a larger table")
    parser.add_argument("--keep", action="store_true", help="tables of an earlier run")
    options = parser.parse_args()
    folder = options.folder.absolute()
    file = lineitem(folder, options.scale)
    log = folder / "events"
    lines = [f'"{key}" = "{value}"' for key, value in event_log_conf(log).items()]
    (folder / "grebe.toml").write_text("\n".join(["[spark.conf]", *lines, ""]))
    spark = open_session(load(folder))
    growth = round(options.scale) if options.growth else 1
    places = ("clustered",) if options.growth else ("clustered", "spread")
    kinds = [(mode, where) for mode in options.modes for where in places]
    if options.keep:
        cases = [built(spark, folder, mode, where) for mode, where in kinds]
    else:
        cases = [build(spark, folder, file, mode, where, growth) for mode, where in kinds]
    found = []
    for result in results(spark, log, cases, options.runs):
        found.append(asdict(result))
        print(json.dumps(found[-1]))
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(
        {"scale": options.scale, "load": os.getloadavg()[0], "results": found}, indent=2
    )
    kind = "delta-" if all(mode in DELTA for mode in options.modes) else ""
    kind = "growth-" if options.growth else kind
    (RESULTS / f"changes-{kind}sf{options.scale:g}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
