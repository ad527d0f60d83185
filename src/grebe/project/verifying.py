"""Verdicts on views: each equals its query, differs from it, or cannot be checked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from grebe.errors import CheckFailedError, GrebeError, RegistryError
from grebe.events import ViewVerified
from grebe.model import TableName
from grebe.project.definitions import Definition
from grebe.project.reading import compile_one
from grebe.project.selection import Selection
from grebe.registry.records import CheckRecord
from grebe.secrets import masked
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
        headings = ("view", "verdict", "rows")
        return headings, [
            (
                item.view,
                item.error.code if item.error else "equals its query",
                f"{item.rows:,}" if item.error is None else "",
            )
            for item in self
        ]

    def wide_rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """The same, with the versions of the sources."""
        headings, rows = self.rows()
        at = [", ".join(f"{name}@{version}" for name, version in item.versions) for item in self]
        return (*headings, "at"), [(*row, cell) for row, cell in zip(rows, at, strict=True)]

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
    begun = time.monotonic()
    try:
        if view.stream is not None:
            raise CheckFailedError(
                f'view "{view.name}" cannot be checked',
                detail="its rows were made from events: there is no query to compare them with",
                hint=f"make them anew from what the stream still holds: grebe replay {view.name}",
                code="events-not-compared",
            )
        compiled = compile_one(workspace, view)
        workspace.say(f"verifying {view.name}")
        report = workspace.engine.verify(compiled.name.quoted(), sample)
    except GrebeError as error:
        _note(workspace, view, _failed_check(view, error, sample), begun)
        raise
    check = CheckRecord(view.key, True, report.rows, sample=sample, versions=_versions(report))
    _note(workspace, view, check, begun)
    return report


def _versions(report: Report) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(point.version)) for name, point in report.sources)


def _failed_check(view: Definition, error: GrebeError, sample: float | None) -> CheckRecord:
    """What is kept of a check that found a difference, or could not look for one."""
    differing = error.differing if isinstance(error, CheckFailedError) else 0
    equal = False if differing else None
    text = masked(error.explain())
    return CheckRecord(view.key, equal, 0, differing, 0.0, sample, (), error.code, text)


def _note(workspace: Workspace, view: Definition, check: CheckRecord, begun: float) -> None:
    """Write a check down, and tell it; a journal that fails harms nobody."""
    check = replace(check, seconds=time.monotonic() - begun)
    try:
        workspace.registry.note_check(check)
    except RegistryError as error:
        workspace.say(f"the registry cannot be used: {error}")
    workspace.tell(
        ViewVerified(
            view.name,
            check.equal,
            check.rows,
            check.differing,
            check.seconds,
            check.trouble,
            datetime.now(UTC),
        )
    )


def verify_all(workspace: Workspace, selection: Selection, sample: float | None) -> Verdicts:
    """Check every chosen view, whatever is said of the others."""
    found = Verdicts()
    for view in workspace.selected(workspace.written(), selection).values():
        try:
            report = verify_one(workspace, view, sample)
        except GrebeError as error:
            found.append(Verdict(view.name, error=error))
            continue
        found.append(Verdict(view.name, report.rows, _versions(report)))
    return found
