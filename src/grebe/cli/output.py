"""What commands write: results to stdout, everything for the person who waits to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from grebe.cli.find_project import find_project
from grebe.cli.look import folded_text, has_colours, in_words, said_in, style_of
from grebe.cli.progress import Progress
from grebe.secrets import masked
from grebe.tabular import Tabular, coloured, table

if TYPE_CHECKING:
    from grebe.api import Project
    from grebe.config import Settings
    from grebe.events import Listener
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
    settings: Settings | None = None
    """Those of the project, once it is open."""
    listeners: list[Listener] = field(default_factory=list)

    @contextmanager
    def project(self) -> Iterator[Project]:
        """The project of the folder; progress goes to stderr while it is used."""
        from grebe.api import Project

        progress = Progress(sys.stderr, verbose=self.verbose)
        listeners = [] if self.quiet else [progress]
        try:
            with Project.open(find_project(self.folder), listeners=listeners) as project:
                self.settings = project.settings
                progress.say = str if self.verbose else said_in(project.settings)
                _waiting.append(Waiting(progress, project))
                yield project
        finally:
            stop_progress()

    def adopt(self, *, fresh: bool) -> Adoption:
        """Make a folder that was copied or moved a project of its place; what was done."""
        from grebe.api import Project

        return Project.adopt(find_project(self.folder), fresh=fresh, say=self.tell)

    def said(self, name: object) -> str:
        """A view's name as people wrote it; in full where more is asked for."""
        from grebe.project.past_runs import named

        settings = self.settings
        full = named(name) if isinstance(name, str) else name
        return str(full) if settings is None or self.verbose else said_in(settings)(full)

    def state(self, word: str) -> str:
        """A word of state, in its colour where there are colours."""
        return coloured(word, word) if has_colours(sys.stdout) else word

    def tell(self, text: str) -> None:
        """Tell the person who waits what is done now."""
        if not self.quiet:
            print_error(f"... {text}")

    def show(
        self, found: Tabular, form: Format, empty: str = "", *, more: Iterable[str] = ()
    ) -> None:
        """A table, or its document; with lines below it for a person."""
        if form is Format.JSON:
            show(found.to_dict(), "", form)  # type: ignore[attr-defined]
            return
        headings, rows = found.wide_rows() if self.verbose else found.rows()
        look = style_of(self.settings, wide=self.verbose)
        self.print(table(headings, rows, look) if rows or not empty else empty)
        for line in more:
            self.print(line)

    def print(self, text: str) -> None:
        """Lines of the result, no wider than what they are read on."""
        print_out(folded_text(text if self.verbose else in_words(text), sys.stdout))

    def note(self, text: str) -> None:
        """Lines for the person who waits."""
        print_error(folded_text(text if self.verbose else in_words(text), sys.stderr))


@dataclass(slots=True)
class Waiting:
    """What a person sees while a command works: it belongs to the terminal, of which there is one."""

    progress: Progress
    project: Project


_waiting: list[Waiting] = []


def stop_progress() -> None:
    """Let everything be heard that was told, and take the live line away."""
    while _waiting:
        _waiting[-1].project.workspace.announcer.settle()
        _waiting.pop().progress.stop()


def pause_progress() -> None:
    """The same, before something else is written; what is told later is shown again."""
    for item in _waiting:
        item.project.workspace.announcer.settle()
        item.progress.clear()


def print_out(text: str) -> None:
    """A line of the result."""
    pause_progress()
    sys.stdout.write(text + "\n")


def print_error(text: str) -> None:
    """A line for the person who waits."""
    pause_progress()
    sys.stderr.write(masked(text) + "\n")
    sys.stderr.flush()


def show(document: object, text: str, form: Format) -> None:
    """The result: as text, or as one JSON document."""
    print_out(json.dumps(document, indent=2) if form is Format.JSON else text)
