"""What a command says: one document on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grebe.api import Project


class Format(StrEnum):
    """How the result is written."""

    TEXT = "text"
    JSON = "json"


@dataclass(slots=True)
class Face:
    """Where a command works and how it talks."""

    folder: str = "."
    quiet: bool = False
    verbose: bool = False

    @contextmanager
    def project(self) -> Iterator[Project]:
        """The project of the folder; progress goes to stderr while it is used."""
        from grebe.api import Project

        with self._progress() as say, Project.open(self.folder, say=say) as project:
            yield project

    @contextmanager
    def _progress(self) -> Iterator[Callable[[str], None]]:
        if self.quiet:
            yield lambda _: None
        elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            from rich.console import Console

            with Console(stderr=True).status("") as status:
                yield lambda text: status.update(text)
        else:
            yield lambda text: print_error(f"... {text}")


def print_out(text: str) -> None:
    """A line of the result."""
    sys.stdout.write(text + "\n")


def print_error(text: str) -> None:
    """A line for the person who waits."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def show(document: object, text: str, form: Format) -> None:
    """The result: as text, or as one JSON document."""
    print_out(json.dumps(document, indent=2) if form is Format.JSON else text)
