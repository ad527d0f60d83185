"""What a command says: one document on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from grebe.secrets import masked

if TYPE_CHECKING:
    from rich.live import Live

    from grebe.api import Project
    from grebe.project.adoption import Adoption


class Format(StrEnum):
    """How the result is written."""

    TEXT = "text"
    JSON = "json"


@dataclass(slots=True)
class CommandSession:
    """Where a command works and how it talks."""

    folder: str = "."
    quiet: bool = False
    verbose: bool = False

    @contextmanager
    def project(self) -> Iterator[Project]:
        """The project of the folder; progress goes to stderr while it is used."""
        from grebe.api import Project

        try:
            with Project.open(self.folder, say=self._say) as project:
                yield project
        finally:
            stop_spinner()

    def adopt(self, *, fresh: bool) -> Adoption:
        """Make a folder that was copied or moved a project of its place; what was done."""
        from grebe.api import Project

        try:
            return Project.adopt(self.folder, fresh=fresh, say=self._say)
        finally:
            stop_spinner()

    def _say(self, text: str) -> None:
        if self.quiet:
            return
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            _spin(text)
        else:
            print_error(f"... {text}")


_spinning: list[Live] = []
"""The spinner that a person sees now, if any; it belongs to the terminal, of which there is one."""


def _spin(text: str) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    if _spinning:
        _spinning[0].update(Spinner("dots", Text(text)))
        return
    # Redirected, what is printed while it turns would go to stderr: a pipe behind stdout stays empty.
    live = Live(
        Spinner("dots", Text(text)),
        console=Console(stderr=True),
        refresh_per_second=12.5,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    live.start()
    _spinning.append(live)


def stop_spinner() -> None:
    """Take the spinner away, before anything else is written or asked."""
    while _spinning:
        _spinning.pop().stop()


def print_out(text: str) -> None:
    """A line of the result."""
    stop_spinner()
    sys.stdout.write(text + "\n")


def print_error(text: str) -> None:
    """A line for the person who waits."""
    stop_spinner()
    sys.stderr.write(masked(text) + "\n")
    sys.stderr.flush()


def show(document: object, text: str, form: Format) -> None:
    """The result: as text, or as one JSON document."""
    print_out(json.dumps(document, indent=2) if form is Format.JSON else text)
