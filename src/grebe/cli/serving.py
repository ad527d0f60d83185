"""Commands of the scheduler: serve, suspend, resume."""

from __future__ import annotations

import logging
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grebe.cli.find_project import find_project
from grebe.cli.output import CommandSession, Format, print_error, print_out, show
from grebe.errors import ConfigError

if TYPE_CHECKING:
    from grebe.config import Settings
    from grebe.scheduler.loop import Loop

Selection = Annotated[list[str] | None, typer.Argument(help="Views; none: all.")]
Output = Annotated[Format, typer.Option("-o", "--output", help="How the result is written.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(epilog="Example: grebe serve · grebe serve --once 'sales.*'")(serve)
    app.command(epilog="Example: grebe suspend daily --reason 'cleaning up'")(suspend)
    app.command(epilog="Example: grebe resume daily")(resume)


def serve(  # noqa: PLR0913  every option of the command
    context: typer.Context,
    selection: Selection = None,
    jobs: Annotated[int | None, typer.Option(min=1, max=64, help="Runs at once.")] = None,
    listen: Annotated[
        str | None, typer.Option(help='Such as 127.0.0.1:8765; "" for no server.')
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="A file with the server's token.")] = None,
    once: Annotated[bool, typer.Option("--once", help="One sweep over what is due now.")] = False,
    output: Output = Format.TEXT,
) -> int:
    """Refresh views by themselves, as fresh as each was asked to be; with health and metrics over HTTP."""
    session: CommandSession = context.obj
    if once:
        with session.project() as project:
            results = project.refresh_due(selection)
            show(results.to_dict(), str(results) if results else "nothing was due", output)
            return 1 if results.failed else 0
    _log(session)
    return run_loop(session, selection or [], jobs, listen, _token(token_file))


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{file} cannot be read", detail=str(error), code="token-needed"
        ) from None


def run_loop(
    session: CommandSession,
    selection: list[str],
    jobs: int | None,
    listen: str | None,
    token: str | None = None,
) -> int:
    """The loop in this thread until a signal; the server beside it, unless it is to be without."""
    from grebe.config import load
    from grebe.scheduler.loop import Loop

    settings = load(find_project(session.folder))
    with ExitStack() as closing:
        say = None if session.quiet else print_out
        loop = Loop(settings, selection, jobs=jobs, say=say)
        if listen != "":
            _server(settings, loop, listen or "127.0.0.1:8765", token, closing)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: loop.stop())
        loop.run()
    return 0


def _server(
    settings: Settings,
    loop: Loop,
    listen: str,
    token: str | None,
    closing: ExitStack,
) -> None:
    from grebe.api import Project
    from grebe.web.access import LOOPBACK, address, check_token, is_loopback
    from grebe.web.served import Served
    from grebe.web.server import Server, bind

    host, port = address(listen)
    shown = check_token(host, token or settings.web.token)
    others = frozenset((settings.web.hosts or "").replace(",", " ").split())
    hosts = frozenset() if shown and not is_loopback(host) and not others else LOOPBACK | others
    project = Project(settings)
    closing.callback(project.close)
    served = Served(project, shown, hosts, loop=loop.state, wake=loop.wake, closing=closing)
    server = closing.enter_context(Server(served, bind(host, port)))
    where, number = server.address
    print_error(f"listening at http://{where}:{number}")


def _log(session: CommandSession) -> None:
    level = logging.INFO if session.verbose else logging.WARNING
    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(name)s: %(message)s")


def suspend(
    context: typer.Context,
    selection: Annotated[list[str], typer.Argument(help="Views.")],
    reason: Annotated[str, typer.Option(help="What others are told.")] = "",
    output: Output = Format.TEXT,
) -> None:
    """Stop the scheduled refreshes of views, until `grebe resume`."""
    with context.obj.project() as project:
        views = project.views(selection)
        for view in views:
            view.suspend(reason)
        names = [str(view.name) for view in views]
        show(names, "\n".join(f"suspended {name}" for name in names), output)


def resume(
    context: typer.Context,
    selection: Annotated[list[str], typer.Argument(help="Views.")],
    output: Output = Format.TEXT,
) -> None:
    """Let views be refreshed by themselves again; what failed is forgotten."""
    with context.obj.project() as project:
        views = project.views(selection)
        for view in views:
            view.resume()
        names = [str(view.name) for view in views]
        show(names, "\n".join(f"resumed {name}" for name in names), output)
