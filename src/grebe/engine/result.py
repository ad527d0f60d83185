"""What one refresh did. In a file of its own: a refresh with nothing to do loads no compiler."""

from __future__ import annotations

from dataclasses import dataclass, field

from grebe.model import Frontier, Outcome, Reason, RunId, TableName, Version


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
    error: Exception | None = field(default=None, compare=False)
