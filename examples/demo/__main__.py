"""`make demo`: what changed in a small shop between two versions, and what finding out cost."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.eventlog import Work, event_log_conf, measured
from examples.demo.shop import MORNING, OPENING, TABLES
from grebe.config import Settings, load
from grebe.engine.session import open_session
from grebe.engine.sources import open_source
from grebe.formats.base import WEIGHT, Changes
from grebe.model import Window

FOLDER = Path(".cache") / "demo"
SHOWN = 12


def main(folder: Path) -> None:
    console = Console()
    settings, events = fresh_project(folder)
    begun = time.perf_counter()
    spark = open_session(settings)
    console.print(f"Spark started in {time.perf_counter() - begun:.1f} s")

    begun = time.perf_counter()
    for statement in OPENING:
        spark.sql(statement)
    console.print(f"a shop of {len(TABLES)} tables made in {time.perf_counter() - begun:.1f} s")

    sources = {name: open_source(settings, name, lambda: spark) for name in TABLES}
    before = {name: source.head().version for name, source in sources.items()}
    for what, statement in MORNING:
        spark.sql(statement)
        console.print(f"  commit: {what}", style="dim")

    found = []
    for name, source in sources.items():
        head = source.head()
        window = Window(before[name], head.version)
        columns = [column.id for column in head.schema.columns]
        with measured(spark, events) as work:
            changes = source.changes(window, columns)
        found.append((name, source.version_stats(head.version).rows, changes, work))
    console.print(summary(found))
    for name, _, changes, _ in found:
        console.print(rows(name, changes))
    spark.stop()


def fresh_project(folder: Path) -> tuple[Settings, Path]:
    shutil.rmtree(folder, ignore_errors=True)
    events = (folder / "events").resolve()
    lines = [f'"{key}" = "{value}"' for key, value in event_log_conf(events).items()]
    (folder / "grebe.toml").write_text("\n".join(["[spark.conf]", *lines, ""]))
    return load(folder), events


def summary(found: list[tuple[str, int | None, Changes, Work]]) -> Table:
    table = Table(title="what changed since the morning began (jobs: of Spark)")
    for heading in ("table", "rows", "changes", "found by", "seconds", "jobs"):
        left = heading in ("table", "found by")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for name, count, changes, work in found:
        assert changes.arrow is not None
        cells = (name, count, changes.arrow.num_rows, changes.way, f"{work.seconds:.3f}", work.jobs)
        table.add_row(*map(str, cells))
    return table


def rows(name: str, changes: Changes) -> Table:
    table = Table(title=name)
    assert changes.arrow is not None
    data = changes.arrow
    columns = [column for column in data.column_names if column != WEIGHT]
    table.add_column("weight", justify="right")
    for column in columns:
        table.add_column(column)
    for row in data.sort_by([(columns[0], "ascending"), (WEIGHT, "ascending")]).to_pylist()[:SHOWN]:
        style = "green" if row[WEIGHT] > 0 else "red"
        table.add_row(f"{row[WEIGHT]:+d}", *(str(row[c]) for c in columns), style=style)
    return table


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
