"""What runs did: as the registry keeps them, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from grebe.model import Reason, TableName
from grebe.project.selection import Selection
from grebe.registry.records import RunRecord
from grebe.spoken_times import ago
from grebe.tabular import Tabular

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace

DIED = Reason("died", "the run holds no lease any more; the next refresh tells what became of it")


class Runs(list[RunRecord], Tabular):
    """Runs, newest first, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per run."""
        return HISTORY_HEADINGS, [_cells(run) for run in self]

    def wide_rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """The same, with the moment, who asked, the run, and what it cost."""
        headings = (*HISTORY_HEADINGS, "begun", "trigger", "run", "cost")
        return headings, [
            (
                *_cells(run),
                run.begun_at.strftime("%Y-%m-%d %H:%M:%S") if run.begun_at else "",
                run.trigger,
                run.run_id,
                run.cost or "",
            )
            for run in self
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [run_to_dict(run) for run in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


HISTORY_HEADINGS = ("when", "view", "outcome", "reason", "rows in", "rows out", "took")


def _cells(run: RunRecord) -> tuple[object, ...]:
    return (
        ago(run.begun_at),
        named(run.view),
        run.outcome or ("died" if DIED in run.reasons else "running"),
        ", ".join(reason.code for reason in run.reasons),
        f"{run.counts.rows_in:,}",
        f"{run.counts.rows_out:,}",
        f"{run.seconds:.1f} s" if run.seconds is not None else "",
    )


def named(view: str) -> TableName | str:
    """The name that the journal keeps as text; a text that is none stays one."""
    match view.split("."):
        case [catalog, *schemas, name] if schemas:
            return TableName(catalog, ".".join(schemas), name)
    return view


def history(workspace: Workspace, selection: Selection, limit: int | None) -> Runs:
    """Runs of the chosen views, newest first; those that died are told as dead."""
    if not workspace.has_registry():
        return Runs()
    found = _recorded(workspace, selection, limit)
    dead = workspace.registry.dead(found)
    return Runs(replace(run, reasons=(DIED,)) if run in dead else run for run in found)


def _recorded(workspace: Workspace, selection: Selection, limit: int | None) -> list[RunRecord]:
    registry = workspace.registry
    if not selection:
        return registry.runs(limit=limit)
    chosen = workspace.selected(workspace.written(), selection)
    if len(chosen) == 1:
        return registry.runs(next(iter(chosen)), limit)
    return [run for run in registry.runs(limit=None) if run.view in chosen][:limit]


def run_to_dict(run: RunRecord) -> dict[str, Any]:
    """A run as plain values."""
    return {
        "run_id": run.run_id,
        "view": run.view,
        "outcome": run.outcome and str(run.outcome),
        "trigger": run.trigger,
        "begun_at": iso(run.begun_at),
        "ended_at": iso(run.ended_at),
        "seconds": run.seconds,
        "rows_in": run.counts.rows_in,
        "rows_out": run.counts.rows_out,
        "reasons": [
            {"code": item.code, "message": item.message, "numbers": dict(item.numbers)}
            for item in run.reasons
        ],
        "error": run.error,
    }


def iso(moment: datetime | None) -> str | None:
    """A moment as text for programs."""
    return moment.isoformat() if moment else None
