"""The command line. Commands load what they need when they run, so that `--help` is quick."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from traceback import format_exception
from typing import TYPE_CHECKING

from grebe.errors import ConfigError, DefinitionError, GrebeError, MissingExtraError
from grebe.secrets import masked

if TYPE_CHECKING:
    from typer._click.exceptions import ClickException

OK, FAILED, NOT_UNDERSTOOD = 0, 1, 2
"""Done; some view failed or differs; the command, the settings or a definition make no sense."""

_INTERRUPTED = 130
"""Ctrl-C; no command answers it."""
_SHARED = ("-v", "--verbose", "--wide", "-q", "--quiet")
_NOT_UNDERSTOOD = (ConfigError, DefinitionError, MissingExtraError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it went."""
    from typer._click.exceptions import ClickException  # typer carries its own click
    from typer.main import get_command

    from grebe.cli.commands import app

    given = _shared_first(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without UTF-8 shows what it can
            stream.reconfigure(errors="backslashreplace")
    try:
        code = get_command(app).main(given, prog_name="grebe", standalone_mode=False)
    except ClickException as error:
        report(_misused(error), as_json=_wants_json(given))
        return NOT_UNDERSTOOD
    except GrebeError as error:
        report(error, as_json=_wants_json(given))
        return NOT_UNDERSTOOD if isinstance(error, _NOT_UNDERSTOOD) else FAILED
    except BrokenPipeError:
        # Whoever read it has enough, as `| head` does; Python would complain again at its end.
        sys.stdout = pathlib.Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        return OK
    except Exception as error:
        if "-v" in given or "--verbose" in given:
            sys.stderr.write(masked("".join(format_exception(error))))
        report(_unexpected(error), as_json=_wants_json(given))
        return FAILED
    if arguments is None:
        _make_archive_later()
    if code == _INTERRUPTED:
        sys.stderr.write("stopped; nothing of an unfinished refresh is visible\n")
        return _INTERRUPTED
    return code if isinstance(code, int) else OK


def _make_archive_later() -> None:
    """What later starts of Spark gain by is made when the answer stands there, and nobody waits for it."""
    session = sys.modules.get("grebe.spark.session")
    if session is not None:
        session.archive_later()


def _shared_first(arguments: Sequence[str]) -> list[str]:
    """The arguments with what every command shares before the command, wherever it was written.

    >>> _shared_first(["status", "-v", "daily", "--", "-v"])
    ['-v', 'status', 'daily', '--', '-v']
    """
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    shared = [item for item in given[:end] if item in _SHARED]
    return [*shared, *(item for item in given[:end] if item not in _SHARED), *given[end:]]


def _unexpected(error: Exception) -> GrebeError:
    """What nobody foresaw, e.g. a Spark that does not start, without its pages of stack."""
    from grebe.formats.storage_errors import cause_of, disk_hint, disk_trouble

    first = str(error).strip().split("\n", maxsplit=1)[0]
    if disk_trouble(error):
        return GrebeError(cause_of(error), hint=disk_hint(error), code="disk")
    return GrebeError(
        f"{type(error).__name__}: {first}",
        hint="`grebe doctor` looks for the cause; `grebe -v …` shows where it happened",
        code="unexpected",
    )


def report(error: GrebeError, *, as_json: bool) -> None:
    """Write an error for a person to stderr, or for a program to stdout."""
    if as_json:
        _write_document(error)
    sys.stderr.write(f"error [{error.code}]: {error.explain()}\n")


def _write_document(error: GrebeError) -> None:
    from grebe.tabular import error_to_dict

    sys.stdout.write(json.dumps({"error": error_to_dict(error)}) + "\n")


def _misused(error: ClickException) -> GrebeError:
    """A command that makes no sense."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "grebe"
    return GrebeError(error.format_message(), hint=f"see `{path} --help`", code="usage")


def _wants_json(arguments: Sequence[str]) -> bool:
    joined = " ".join(arguments)
    return any(sign in joined for sign in ("-o json", "--output json", "--output=json", "-ojson"))
