"""Every command: its options, one call of the project, and how the result is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grebe.cli import stream_commands
from grebe.cli.grouped_help import GroupedHelp
from grebe.cli.output import CommandSession, Format, print_out, show
from grebe.cli.serving import register as register_serving

if TYPE_CHECKING:
    from grebe.api import Project
    from grebe.model import Reason

app = typer.Typer(
    name="grebe",
    help="Materialized views on the open lakehouse, kept equal to their query at the cost of what"
    " changed.",
    cls=GroupedHelp,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Output = Annotated[Format, typer.Option("-o", "--output", help="How the result is written.")]
Selection = Annotated[
    list[str] | None,
    typer.Argument(help="Views: sales.daily, +x (and what it reads), x+, tag:hourly, 'sales.*'."),
]
Name = Annotated[str, typer.Argument(help="The view's name.")]
Full = Annotated[bool, typer.Option("--full-refresh", help="Recompute, whatever the policy.")]
PolicyOption = Annotated[
    str | None, typer.Option("--policy", help="auto, incremental, strict or full, for this run.")
]


_NO_VIEWS = "no views: write one as views/<name>.sql"


class DagFormat(StrEnum):
    """The forms of a graph."""

    TREE = "tree"
    DOT = "dot"
    MERMAID = "mermaid"
    SVG = "svg"
    JSON = "json"


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_out(f"grebe {version('grebe')}")
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    folder: Annotated[
        str, typer.Option("-C", "--project", help="A folder of the project, instead of this one.")
    ] = ".",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "-v", "--verbose", "--wide", help="More: whole reasons, versions, ids, full names."
        ),
    ] = False,
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    """What every command shares."""
    context.obj = CommandSession(folder, quiet, verbose)
    if context.invoked_subcommand is None:
        print_out(context.get_help())


@app.command(epilog="Example: grebe init shop && cd shop")
def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Where the project goes.")] = Path(),
    output: Output = Format.TEXT,
) -> None:
    """Write a project that runs at once: settings, three views, sample data, a README."""
    from grebe.cli.sample import write_sample

    session: CommandSession = context.obj
    files = write_sample(Path(session.folder) / folder)
    step = f"cd {folder} && " if str(folder) != "." else ""
    lines = [f"wrote {len(files)} files in {folder}", *(f"  {file}" for file in files)]
    document = {"folder": str(folder), "files": [str(file) for file in files]}
    show(document, "\n".join([*lines, f"next: {step}grebe refresh"]), output)


@app.command(epilog="Example: grebe explain daily · grebe explain new.sql")
def explain(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="A view, or a file with SQL that is none yet.")],
    sql: Annotated[bool, typer.Option("--sql", help="With the SQL of every step.")] = False,
    last_run: Annotated[
        bool,
        typer.Option("--last-run", help="The steps that the last run ran, with rows and times."),
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Can it be incremental, by which rules, why not; are its sources ready."""
    with context.obj.project() as project:
        if last_run:
            ran = project.steps_ran(what)
            if output is Format.JSON or sql:
                show(ran.to_dict(), ran.text(sql=sql), output)
            else:
                context.obj.print(f"run {ran.run_id} of {context.obj.said(ran.view)}")
                context.obj.show(ran, output)
            return
        found = project.explain(_file_or_name(what, project.settings.folder))
        if output is Format.JSON or sql:
            show(found.to_dict(), found.text(sql=sql), output)
        else:
            context.obj.print(found.text(laws=context.obj.verbose, say=context.obj.said))


@app.command(epilog="Example: grebe plan +daily")
def plan(  # noqa: PLR0913  the options of the command
    context: typer.Context,
    selection: Selection = None,
    full: Full = False,
    policy: PolicyOption = None,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Count the rows that changed, however many; starts Spark."),
    ] = False,
    sql: Annotated[
        bool, typer.Option("--sql", help="With the SQL of every step; measures.")
    ] = False,
    output: Output = Format.TEXT,
) -> int:
    """What a refresh would do now: windows, outcome, reasons; writes nothing."""
    with context.obj.project() as project:
        measured = measure or sql
        plans = project.plan(selection, full=full, policy=policy, measure=measured)
        context.obj.show(plans, output, _NO_VIEWS, more=_reasons(plans, context.obj))
        if sql and output is Format.TEXT:
            for item in plans:
                for kind, name, text in item.steps:
                    print_out(f"\n{item.view}: {kind} {name}\n{text}")
        return 1 if any(item.error for item in plans) else 0


@app.command(epilog="Example: grebe refresh · grebe refresh +daily 'sales.*'")
def refresh(
    context: typer.Context,
    selection: Selection = None,
    full: Full = False,
    policy: PolicyOption = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Views at once.")] = 1,
    output: Output = Format.TEXT,
) -> int:
    """Refresh views, on one version of every source; `+x` refreshes what x reads too."""
    with context.obj.project() as project:
        results = project.refresh(selection, full=full, policy=policy, jobs=jobs)
        context.obj.show(results, output, _NO_VIEWS)
        for line in _reasons(results if context.obj.verbose else results.failed, context.obj):
            context.obj.note(line)
        for item in results:
            if item.cost is not None and item.cost.was_dearer:
                context.obj.note(f"{context.obj.said(item.view)}: {item.cost}")
        _note_lost(project, context.obj)
        return 1 if results.failed else 0


@app.command(epilog="Example: grebe status · grebe -v status daily")
def status(
    context: typer.Context, selection: Selection = None, output: Output = Format.TEXT
) -> None:
    """Where views stand: state, lag, last outcome, reason, rows, time, next."""
    with context.obj.project() as project:
        found = project.status(selection)
        session: CommandSession = context.obj
        session.show(found, output, _NO_VIEWS)
        for item in found:
            if item.error is not None:
                name = session.said(item.name)
                session.note(f"\n{name} [{item.error.code}]: {item.error.explain()}")
        if session.verbose:
            for item in found:
                last = item.last.reasons if item.last else ()
                for line in _reason_lines(item.name, item.standing.reasons or last):
                    session.note(line)
        _note_lost(project, session)


@app.command(epilog="Example: grebe history daily --limit 5")
def history(
    context: typer.Context,
    selection: Selection = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many runs.")] = 20,
    output: Output = Format.TEXT,
) -> None:
    """Runs, newest first."""
    with context.obj.project() as project:
        runs = project.history(selection, limit=limit)
        context.obj.show(runs, output, "no runs yet")
        if context.obj.verbose:
            for line in _reasons(runs, context.obj):
                context.obj.note(line)


@app.command(epilog="Example: grebe verify daily --sample 0.01")
def verify(
    context: typer.Context,
    selection: Selection = None,
    sample: Annotated[
        float | None, typer.Option(help="Only this part of the keys, e.g. 0.01: always the same.")
    ] = None,
    output: Output = Format.TEXT,
) -> int:
    """Does each view equal its query at the versions it names? EXCEPT ALL both ways."""
    with context.obj.project() as project:
        found = project.verdicts(selection, sample=sample)
        context.obj.show(found, output, _NO_VIEWS)
        for item in found:
            if item.error is not None:
                context.obj.note(f"\n{context.obj.said(item.view)}: {item.error.explain()}")
        return 1 if any(item.error for item in found) else 0


@app.command(epilog="Example: grebe dag -f mermaid")
def dag(
    context: typer.Context,
    selection: Selection = None,
    form: Annotated[DagFormat, typer.Option("-f", "--format")] = DagFormat.TREE,
    output: Output = Format.TEXT,
) -> None:
    """The graph of views."""
    with context.obj.project() as project:
        graph = project.dag(selection)
        if output is Format.JSON or form is not DagFormat.TREE:
            show(graph.to_dict(), graph.text(form), output)
        else:
            session: CommandSession = context.obj
            session.print(graph.tree(session.said, session.state))


@app.command(epilog="Example: grebe retention")
def retention(context: typer.Context, output: Output = Format.TEXT) -> None:
    """The oldest version of each source that a view still needs, and how to expire the others."""
    with context.obj.project() as project:
        found = project.retention()
        context.obj.show(found, output, "no view has been refreshed yet")


@app.command(epilog="Example: grebe recover")
def recover(context: typer.Context, output: Output = Format.TEXT) -> int:
    """Settle what died, and write a lost registry again from the views' own tables."""
    with context.obj.project() as project:
        found = project.recover()
        context.obj.show(found, output)
        return 1 if found.problems else 0


@app.command(epilog="Example: cp -r shop copy && grebe -C copy adopt")
def adopt(
    context: typer.Context,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="The next refresh builds all views anew.")
    ] = False,
    output: Output = Format.TEXT,
) -> int:
    """Make a copied or moved folder a project of its place; the original is not touched."""
    session: CommandSession = context.obj
    found = session.adopt(fresh=fresh)
    session.show(found, output)
    return 1 if found.problems else 0


@app.command(epilog="Example: grebe alter daily --lag '10 minutes'")
def alter(
    context: typer.Context,
    name: Name,
    policy: Annotated[str | None, typer.Option(help="auto, incremental, strict, full.")] = None,
    lag: Annotated[str | None, typer.Option(help='Such as "10 minutes"; "" for none.')] = None,
    schedule: Annotated[str | None, typer.Option(help='EVERY 1 HOUR; "" for none.')] = None,
    output: Output = Format.TEXT,
) -> None:
    """Change a view's settings without a rebuild (a view in a file is changed there)."""
    with context.obj.project() as project:
        view = project.alter(name, policy=policy, lag=lag, schedule=schedule)
        context.obj.show(view.status(), output)


@app.command(epilog="Example: grebe drop daily --cascade")
def drop(
    context: typer.Context,
    name: Name,
    cascade: Annotated[bool, typer.Option("--cascade", help="Also what reads it.")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
    output: Output = Format.TEXT,
) -> int:
    """Remove a view, its rows and its record."""
    from grebe.cli.confirm import confirm

    with context.obj.project() as project:
        view = project.view(name)
        said = context.obj.said
        names = [f'"{said(item)}"' for item in project.views_to_drop(view.name, cascade=cascade)]
        what = f"view {names[0]} and its rows" if len(names) == 1 else _several(names)
        if not confirm(f"drop {what}?", yes=yes):
            context.obj.note("nothing was dropped")
            return 1
        written = project.written()
        gone = [
            (item, written[str(item)].file) for item in project.drop(view.name, cascade=cascade)
        ]
        lines = []
        for item, file in gone:
            lines.append(f"dropped {said(item)}")
            if file:
                lines.append(f"  {file} still defines it: the next refresh would build it again")
        document = [{"view": str(item), "file": file} for item, file in gone]
        show(document, "\n".join(lines), output)
        return 0


def _several(names: Sequence[str]) -> str:
    return f"{len(names)} views and their rows: {', '.join(names)}"


@app.command(epilog="Example: grebe vacuum daily --retention '30 days'")
def vacuum(
    context: typer.Context,
    selection: Selection = None,
    retention: Annotated[str, typer.Option(help="Keep versions younger than this.")] = "7 days",
    force: Annotated[bool, typer.Option("--force", help="Even what other views need.")] = False,
    output: Output = Format.TEXT,
) -> None:
    """Remove old versions of views, but none that another view still needs."""
    from grebe.model import State
    from grebe.project.retention import AllVacuumed

    with context.obj.project() as project:
        found = AllVacuumed(
            view.vacuum(retention, force=force)
            for view in project.views(selection)
            if selection or view.state is not State.NEVER_REFRESHED
        )
        context.obj.show(found, output, "no view has been refreshed yet")


@app.command(epilog="Example: grebe doctor --prepare")
def doctor(
    context: typer.Context,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare", help="Fetch the jars and read Spark's classes, once per machine."
        ),
    ] = False,
    output: Output = Format.TEXT,
) -> int:
    """Check Java, jars, catalogs, permissions and versions."""
    from grebe.cli.doctor import examine, make_ready

    session: CommandSession = context.obj
    if prepare:
        make_ready(session.folder, session.tell)
    found = examine(session.folder)
    session.show(found, output)
    return 1 if any(not item.ok for item in found) else 0


register_serving(app)


def _file_or_name(what: str, folder: Path) -> str | Path:
    """A file in the project's folder, as `-C` makes one expect, else in the current one."""
    if Path(what).suffix not in (".sql", ".json"):
        return what
    inside = folder / what
    return inside if inside.is_file() else Path(what)


def _note_lost(project: Project, session: CommandSession) -> None:
    """Say what a registry that was lost leaves behind, and how it is had again."""
    from grebe.project.lost_records import tables_without_record

    if found := tables_without_record(project.workspace):
        tables = "1 table" if found == 1 else f"{found} tables"
        session.note(
            f"{tables} of this project exist, of which the registry knows nothing: grebe recover"
        )


def _reasons(items: object, session: CommandSession) -> list[str]:
    lines = []
    for item in items:  # type: ignore[attr-defined]
        lines += _reason_lines(session.said(item.view), item.reasons)
    return lines


def _reason_lines(view: object, reasons: Iterable[Reason]) -> list[str]:
    return [f"{view}: {reason.message}  [{reason.code}]" for reason in reasons]


stream_commands.register(app)
