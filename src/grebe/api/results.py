"""The results of a refresh, as one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grebe.engine.result import RefreshResult
from grebe.model import Cost, Outcome
from grebe.tabular import Tabular, error_to_dict


class Results(list[RefreshResult], Tabular):
    """What every view of a run did, parents before children."""

    @property
    def failed(self) -> list[RefreshResult]:
        """The views that failed."""
        return [item for item in self if item.outcome is Outcome.FAILED]

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per view."""
        headings = ("view", "outcome", "reason", "rows in", "rows out", "took")
        return headings, [_cells(item) for item in self]

    def wide_rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """The same, with the versions that were written, the runs, and what each cost."""
        headings, rows = self.rows()
        more = [(item.version or "", item.run_id, item.cost or "") for item in self]
        return (*headings, "version", "run", "cost"), [
            (*row, *cells) for row, cells in zip(rows, more, strict=True)
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [result_to_dict(item) for item in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


def cost_to_dict(cost: Cost) -> dict[str, Any]:
    """What a run cost, as plain values."""
    return {
        "chosen": str(cost.chosen),
        "seconds": round(cost.seconds, 3),
        "expected": cost.expected,
        "rejected": cost.rejected and str(cost.rejected),
        "rejected_seconds": cost.rejected_seconds,
    }


def _cells(item: RefreshResult) -> Sequence[object]:
    return (
        item.view,
        item.outcome,
        ", ".join(reason.code for reason in item.reasons),
        f"{item.rows_in:,}",
        f"{item.rows_out:,}",
        f"{item.seconds:.1f} s",
    )


def result_to_dict(item: RefreshResult) -> dict[str, Any]:
    """One result as plain values."""
    return {
        "view": str(item.view),
        "outcome": str(item.outcome),
        "run_id": item.run_id,
        "seconds": round(item.seconds, 3),
        "rows_in": item.rows_in,
        "rows_out": item.rows_out,
        "version": item.version,
        "reasons": [
            {"code": reason.code, "message": reason.message, "numbers": dict(reason.numbers)}
            for reason in item.reasons
        ],
        "cost": cost_to_dict(item.cost) if item.cost else None,
        "error": error_to_dict(item.error) if item.error else None,
    }
