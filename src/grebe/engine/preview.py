"""What a refresh would do, in numbers: a run that was stopped before anything was computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grebe.engine.rows.row_preview import RowNumbers
from grebe.errors import GrebeError
from grebe.model import Outcome, Reason, TableName, Window
from grebe.tabular import Tabular


@dataclass(frozen=True, slots=True)
class PlannedWindow:
    """What is new in one source."""

    source: TableName
    window: Window | None
    rows_added: int | None = None
    rows_removed: int | None = None

    @property
    def is_nothing(self) -> bool:
        """True when nothing of it is left on balance."""
        return self.rows_added == 0 and self.rows_removed == 0


@dataclass(frozen=True, slots=True)
class RefreshPreview(Tabular):
    """One view's next refresh: the outcome that is aimed at, why, and from which windows."""

    view: TableName
    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    windows: tuple[PlannedWindow, ...] = ()
    strategy: str = ""
    steps: tuple[tuple[str, str, str], ...] = ()
    error: GrebeError | None = None
    names: Mapping[TableName, TableName] | None = None
    """The views behind the storage tables that it reads."""
    numbers: RowNumbers | None = None
    """Of a row view."""

    @property
    def rows_in(self) -> int | None:
        """Changed source rows that the refresh will read; None where only it can tell."""
        if self.outcome is not Outcome.INCREMENTAL:
            return 0
        counts = [count for item in self.windows for count in (item.rows_added, item.rows_removed)]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per source."""
        return PLAN_HEADINGS, plan_rows(self)

    def wide_rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """The same, with how its rows are kept."""
        return WIDE_HEADINGS, wide_plan_rows(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "view": str(self.view),
            "outcome": str(self.outcome),
            "strategy": self.strategy,
            "reasons": [{"code": item.code, "message": item.message} for item in self.reasons],
            "windows": [
                {
                    "source": str(item.source),
                    "after": item.window.after if item.window else None,
                    "upto": item.window.upto if item.window else None,
                    "rows_added": item.rows_added,
                    "rows_removed": item.rows_removed,
                }
                for item in self.windows
            ],
            "steps": [{"kind": kind, "name": name, "sql": sql} for kind, name, sql in self.steps],
            **({"rows": self.numbers.to_dict()} if self.numbers else {}),
        }


PLAN_HEADINGS = ("view", "would be", "reason", "source", "added", "removed")


WIDE_HEADINGS = (*PLAN_HEADINGS, "by", "table")


def wide_plan_rows(plan: RefreshPreview) -> list[Sequence[object]]:
    """The lines of one plan, with more."""
    tables: list[object] = [item.source for item in plan.windows] or [""]
    return [
        (*row, plan.strategy, table) for row, table in zip(plan_rows(plan), tables, strict=True)
    ]


def plan_rows(plan: RefreshPreview) -> list[Sequence[object]]:
    """The lines of one plan."""
    why = ", ".join(reason.code for reason in plan.reasons)
    first: Sequence[object] = (plan.view, plan.outcome, why)
    lines: list[Sequence[object]] = []
    for item in plan.windows or (None,):
        cells: Sequence[object] = ("", "", "")
        if item is not None:
            name = (plan.names or {}).get(item.source, item.source)
            cells = (name, _count(item.rows_added), _count(item.rows_removed))
        lines.append((*first, *cells))
        first = ("", "", "")
    return lines


def _count(value: int | None) -> object:
    return "?" if value is None else f"{value:,}"


class Plans(list[RefreshPreview], Tabular):
    """The plans of a selection, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per view and source."""
        return PLAN_HEADINGS, [line for plan in self for line in plan_rows(plan)]

    def wide_rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """The same, with more."""
        return WIDE_HEADINGS, [line for plan in self for line in wide_plan_rows(plan)]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [plan.to_dict() for plan in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__
