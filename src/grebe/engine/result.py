"""What one refresh did. In a file of its own: a refresh with nothing to do loads no compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from grebe.engine.rows.row_options import FunctionRun
from grebe.events import RunEnded
from grebe.model import Cost, Frontier, Outcome, Reason, RunId, TableName, Version
from grebe.secrets import masked
from grebe.tabular import Printed


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
    engine: str = "Spark"
    """What ran it; empty for a step that is known to have no rows."""
    why: str = ""
    """Why it was Spark, where DuckDB on the driver would do for a small step."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "seconds": round(self.seconds, 4), "passes": list(self.passes)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> StepRun:
        """What `to_dict` gave."""
        return cls(**{**document, "passes": tuple(document["passes"])})


StepWatch = Callable[[str, tuple[int, int] | None, StepRun | None], None]
"""Is told the words of a step: when it begins, which one of how many; when it ran, what ran."""


def unwatched(words: str, place: tuple[int, int] | None, ran: StepRun | None) -> None:
    """Where nobody watches."""


def step_words(kind: str, name: str) -> str:
    """A step as it is told.

    >>> step_words("compute", "touched"), step_words("merge", "")
    ('compute touched', 'merge')
    """
    return f"{kind} {name}".strip()


@dataclass(frozen=True, slots=True, repr=False)
class RefreshResult(Printed):
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
    cost: Cost | None = field(default=None, compare=False, repr=False)
    """What it cost beside its other way; None where nothing was computed."""
    functions: tuple[FunctionRun, ...] = field(default=(), compare=False)
    """Of a row view: what each function was asked."""
    error: Exception | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """The same: the record itself has a frontier of a thousand characters."""
        return str(self)

    def __str__(self) -> str:
        """What happened in one line; in a second one what went wrong, or was dearer than it need be."""
        why = f" ({', '.join(reason.code for reason in self.reasons)})" if self.reasons else ""
        rows = f"{self.rows_in:,} rows in, {self.rows_out:,} out"
        asked = "".join(
            f", {item.name}: {item.calls:,} calls, {item.reused:,} reused"
            for item in self.functions
        )
        line = f"{self.view}: {self.outcome}{why}, {rows}{asked}, {self.seconds:.1f} s"
        if self.error is not None:
            return f"{line}\n  {masked(str(self.error))}"
        return f"{line}\n  {self.cost}" if self.cost is not None and self.cost.was_dearer else line


def ended(result: RefreshResult) -> RunEnded:
    """What listeners hear of a result."""
    return RunEnded(
        result.run_id,
        result.view,
        result.outcome,
        result.reasons,
        result.rows_in,
        result.rows_out,
        result.seconds,
        result.frontier,
        result.cost,
        masked(str(result.error)) if result.error else None,
        datetime.now(UTC),
    )
