"""`make demo`: five views over a small shop follow a busy morning at the cost of what changed."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import grebe
from benchmarks.eventlog import Work, event_log_conf, measured
from examples.demo.shop import MORNING, OPENING, TABLES, VIEWS
from grebe.engine.result import RefreshResult
from grebe.formats.base import WEIGHT, Changes, Source
from grebe.model import Version, Window

FOLDER = Path(".cache") / "demo"
SHOWN = 4
Found = tuple[str, int | None, Changes, Work]


def main(folder: Path) -> None:
    """The demo; raises when a view differs from its query."""
    console = Console()
    events = write_settings(folder)
    with grebe.open(folder) as project:
        begun = time.perf_counter()
        spark = project.spark
        console.print(f"Spark started in {time.perf_counter() - begun:.1f} s")
        for statement in OPENING:
            project.sql(statement)
        for name, query in VIEWS.items():
            project.create_view(name, query, build=False)
        console.print(f"a shop of {len(TABLES)} tables, and {len(VIEWS)} views over it")
        console.print(outcomes("the first build", project.refresh()))
        live_through_the_morning(project, events, console)
        for name in VIEWS:
            rows = project.view(name).verify().rows
            console.print(f"  {name} equals its query, {rows:,} rows", style="green")
    spark.stop()


def live_through_the_morning(project: grebe.Project, events: Path, console: Console) -> None:
    """Ten commits, what they changed on balance, one refresh, and one with nothing to do."""
    sources = {
        name: project.tables.source(project.settings.resolve(name), lambda: project.spark)
        for name in TABLES
    }
    before = {name: source.head().version for name, source in sources.items()}
    for what, statement in MORNING:
        project.sql(statement)
        console.print(f"  commit: {what}", style="dim")
    found = changes_of(project, events, sources, before)
    for name, _, changes, _ in found:
        console.print(changed_rows(name, changes))
    console.print(summary(found))

    with measured(project.spark, events) as work:
        results = project.refresh()
    console.print(outcomes(f"one refresh of the graph, {work.seconds:.1f} s", results))
    begun = time.perf_counter()
    idle = {result.outcome for result in project.refresh()}
    took = (time.perf_counter() - begun) * 1000
    console.print(f"and again, nothing having changed: {', '.join(idle)} in {took:.0f} ms")


def write_settings(folder: Path) -> Path:
    """An empty project with Spark's event log switched on; the folder of that log."""
    shutil.rmtree(folder, ignore_errors=True)
    events = (folder / "events").resolve()
    lines = [f'"{key}" = "{value}"' for key, value in event_log_conf(events).items()]
    (folder / "grebe.toml").write_text("\n".join(["[spark.conf]", *lines, ""]))
    return events


def changes_of(
    project: grebe.Project,
    events: Path,
    sources: Mapping[str, Source],
    before: Mapping[str, Version],
) -> list[Found]:
    """What changed in every table, and what finding out cost."""
    found: list[Found] = []
    for name, source in sources.items():
        head = source.head()
        columns = [column.id for column in head.schema.columns]
        with measured(project.spark, events) as work:
            changes = source.changes(Window(before[name], head.version), columns)
        found.append((name, source.version_stats(head.version).rows, changes, work))
    return found


def summary(found: Sequence[Found]) -> Table:
    """One line per table: its rows, its changes, how and at which cost they were found."""
    table = Table(title="what changed since the morning began (jobs: of Spark)")
    for heading in ("table", "rows", "changes", "found by", "seconds", "jobs"):
        table.add_column(heading, no_wrap=True)
    for name, count, changes, work in found:
        assert changes.arrow is not None
        cells = (name, count, changes.arrow.num_rows, changes.way, f"{work.seconds:.3f}", work.jobs)
        table.add_row(*map(str, cells))
    return table


def changed_rows(name: str, changes: Changes) -> Table:
    """The first changes of a table: what went in red, what came in green."""
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


def outcomes(title: str, results: Sequence[RefreshResult]) -> Table:
    """What each view of a run did."""
    table = Table(title=title)
    for heading in ("view", "outcome", "reason", "rows in", "rows out", "seconds"):
        table.add_column(heading, no_wrap=True)
    for result in results:
        reasons = ", ".join(reason.code for reason in result.reasons)
        cells = (result.view.name, result.outcome, reasons, result.rows_in, result.rows_out)
        table.add_row(*map(str, cells), f"{result.seconds:.2f}")
    return table


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
