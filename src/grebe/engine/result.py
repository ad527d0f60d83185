"""What one refresh did. In a file of its own: a refresh with nothing to do loads no compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from grebe.model import Frontier, Outcome, Reason, RunId, TableName, Version


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step as it ran."""

    kind: str
    name: str
    sql: str
    """What was run, with the names of tables and steps that an explanation uses."""
    rows: int | None = None
    """How many rows came out, where that is known."""
    seconds: float = 0.0
    passes: tuple[str, ...] = ()
    """What changed it between the plan and the run."""
    way: str | None = None
    """How its rows are written."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "seconds": round(self.seconds, 4), "passes": list(self.passes)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> StepRun:
        """What `to_dict` gave."""
        return cls(**{**document, "passes": tuple(document["passes"])})


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """What one refresh did."""

    view: TableName
    outcome: Outcome
    run_id: RunId
    seconds: float
    reasons: tuple[Reason, ...] = ()
    rows_in: int = 0
    rows_out: int = 0
    frontier: Frontier | None = None
    version: Version | None = None
    row_version: Version | None = None
    """The last version that changed a row of the view."""
    check_seconds: float = 0.0
    """What it took to compare a first build with the user's own text."""
    steps: tuple[StepRun, ...] = field(default=(), compare=False, repr=False)
    """What ran, in order."""
    error: Exception | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """One line for a person."""
        why = f" ({', '.join(reason.code for reason in self.reasons)})" if self.reasons else ""
        rows = f"{self.rows_in:,} rows in, {self.rows_out:,} out"
        return f"{self.view}: {self.outcome}{why}, {rows}, {self.seconds:.1f} s"
