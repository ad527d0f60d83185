"""Commands of streams: what comes in, what does not become rows, and all of it anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grebe.cli.output import Format, show

if TYPE_CHECKING:
    from grebe.streams.totals import Ingested

Output = Annotated[Format, typer.Option("-o", "--output", help="How the result is written.")]
View = Annotated[str, typer.Argument(help="The stream view's name.")]


def register(app: typer.Typer) -> None:
    """Add the commands of streams."""
    app.command(epilog="Example: grebe streams")(streams)
    app.command(epilog="Example: grebe dead orders")(dead)
    app.command(epilog="Example: grebe ingest orders events.jsonl")(ingest)
    app.command(epilog="Example: grebe replay orders")(replay)


def streams(
    context: typer.Context,
    stream: Annotated[str | None, typer.Argument(help="One stream; all without it.")] = None,
    output: Output = Format.TEXT,
) -> None:
    """What became of the events of every stream view."""
    with context.obj.project() as project:
        found = project.streams(stream)
        show(found.to_dict(), str(found) if found else "no stream views", output)


def dead(
    context: typer.Context,
    view: View,
    redrive: Annotated[bool, typer.Option("--redrive", help="Run them again.")] = False,
    output: Output = Format.TEXT,
) -> None:
    """Events that did not become rows, and why."""
    with context.obj.project() as project:
        chosen = project.view(view)
        if redrive:
            _shown({view: chosen.redrive()}, output)
            return
        found = chosen.dead_letters()
        show(found.to_dict(), str(found) if found else "no dead letters", output)


def ingest(
    context: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream; each of its views gets the events.")],
    file: Annotated[str, typer.Argument(help="A file with one event a line; - is standard input.")],
    batch: Annotated[
        str | None, typer.Option("--batch", help="An id: sent again, it is known.")
    ] = None,
    output: Output = Format.TEXT,
) -> None:
    """Store the events of a file."""
    with context.obj.project() as project:
        _shown(project.ingest(stream, _lines(file), batch=batch), output)


def replay(
    context: typer.Context,
    view: View,
    output: Output = Format.TEXT,
) -> None:
    """Make all rows anew from what the stream still holds."""
    with context.obj.project() as project:
        _shown({view: project.view(view).replay()}, output)


def _lines(file: str) -> Iterator[bytes]:
    """The lines of a file that hold something, one after the other."""
    if file == "-":
        yield from (line for line in sys.stdin.buffer if line.strip())
        return
    with Path(file).open("rb") as lines:
        yield from (line for line in lines if line.strip())


def _shown(found: dict[str, Ingested], output: Format) -> None:
    lines = [f"{name}: {item}" for name, item in found.items()]
    show({name: item.to_dict() for name, item in found.items()}, "\n".join(lines), output)
