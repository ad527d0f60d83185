"""What happens, told as it happens: plain facts for progress, lineage, metrics, and whoever else listens.

The registry is no listener: what it keeps is written as part of the run, before the same is told here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from grebe.model import Cost, Frontier, Outcome, Policy, Reason, RunId, TableName, Version


@dataclass(frozen=True, slots=True)
class CycleStarted:
    """Some views are about to be refreshed on one pin per source: every one of them gets a run."""

    cycle_id: str
    views: tuple[TableName, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class CycleEnded:
    """No run of the cycle goes on."""

    cycle_id: str
    seconds: float
    at: datetime


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The refresh of one view begins; the registry knows it."""

    run_id: RunId
    cycle_id: str
    view: TableName
    trigger: str
    policy: Policy
    at: datetime


@dataclass(frozen=True, slots=True)
class SourceSeen:
    """The version of a source that a cycle reads."""

    source: TableName
    identity: str
    version: Version
    committed_at: datetime | None
    at: datetime


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step of a refresh begins."""

    run_id: RunId
    view: TableName
    step: str
    number: int
    of: int
    at: datetime


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step of a refresh ran something; one that had nothing to run does not end."""

    run_id: RunId
    view: TableName
    step: str
    seconds: float
    rows: int | None
    """None where counting them would take another query."""


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The refresh of one view is over; the registry knows how it ended."""

    run_id: RunId
    view: TableName
    outcome: Outcome
    reasons: tuple[Reason, ...]
    rows_in: int
    rows_out: int
    seconds: float
    frontier: Frontier | None
    cost: Cost | None
    error: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ViewVerified:
    """A view was compared with its query; the registry knows."""

    view: TableName
    equal: bool | None
    """None: nothing could be compared, the code says why."""
    rows: int
    differing: int
    seconds: float
    code: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Preparing:
    """Something is made ready: fetched, started, compiled; with how far, where that is known."""

    what: str
    done_bytes: int | None = None
    of_bytes: int | None = None


Event = (
    CycleStarted
    | CycleEnded
    | RunStarted
    | SourceSeen
    | StepStarted
    | StepEnded
    | RunEnded
    | ViewVerified
    | Preparing
)
Listener = Callable[[Event], None]
Tell = Callable[[Event], None]


def unheard(_: Event) -> None:
    """Where nobody listens."""
