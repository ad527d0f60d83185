"""Verdicts on views: each equals its query, differs from it, or cannot be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grebe.errors import GrebeError
from grebe.model import TableName
from grebe.project.definitions import Definition
from grebe.project.reading import compile_one
from grebe.project.selection import Selection
from grebe.tabular import Tabular, error_to_dict

if TYPE_CHECKING:
    from grebe.engine.verify import Report
    from grebe.project.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verify said of one view."""

    view: TableName
    rows: int = 0
    versions: tuple[tuple[str, str], ...] = ()
    error: GrebeError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "view": str(self.view),
            "equal": self.error is None,
            "rows": self.rows,
            "versions": dict(self.versions),
            "error": error_to_dict(self.error) if self.error else None,
        }


class Verdicts(list[Verdict], Tabular):
    """The verdicts on a selection, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per view."""
        headings = ("view", "verdict", "rows", "at")
        return headings, [
            (
                item.view,
                item.error.code if item.error else "equals its query",
                f"{item.rows:,}" if item.error is None else "",
                ", ".join(f"{name}@{version}" for name, version in item.versions),
            )
            for item in self
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [item.to_dict() for item in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


def verify_one(workspace: Workspace, view: Definition, sample: float | None = None) -> Report:
    """The report of one view.

    Raises:
        CheckFailedError: with the rows that differ.
    """
    compiled = compile_one(workspace, view)
    workspace.say(f"verifying {view.name}")
    return workspace.engine.verify(compiled.name.quoted(), sample)


def verify_all(workspace: Workspace, selection: Selection, sample: float | None) -> Verdicts:
    """Check every chosen view, whatever is said of the others."""
    found = Verdicts()
    for view in workspace.selected(workspace.written(), selection).values():
        try:
            report = verify_one(workspace, view, sample)
        except GrebeError as error:
            found.append(Verdict(view.name, error=error))
            continue
        versions = tuple((name, str(point.version)) for name, point in report.sources)
        found.append(Verdict(view.name, report.rows, versions))
    return found
