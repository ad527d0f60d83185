"""What runs did: as the registry keeps them, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from grebe.model import Reason
from grebe.project.tabular import Tabular
from grebe.registry.records import RunRecord

DIED = Reason("died", "the run holds no lease any more; the next refresh tells what became of it")


class Runs(list[RunRecord], Tabular):
    """Runs, newest first, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per run."""
        headings = ("begun", "view", "outcome", "reason", "rows in", "rows out", "took", "run")
        return headings, [
            (
                run.begun_at.strftime("%Y-%m-%d %H:%M:%S") if run.begun_at else "",
                run.view,
                run.outcome or ("died" if DIED in run.reasons else "running"),
                ", ".join(reason.code for reason in run.reasons),
                run.counts.rows_in,
                run.counts.rows_out,
                f"{run.seconds:.1f} s" if run.seconds is not None else "",
                run.run_id,
            )
            for run in self
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [run_to_dict(run) for run in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


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
