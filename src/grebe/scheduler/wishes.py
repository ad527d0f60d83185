"""What the decisions are made from: what people wish of a view, and what is known of it now.

Times are seconds since 1970 by the registry's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from grebe.schedule import Schedule
from grebe.view_timing import ONE, Trigger

FIRST_RUN: Final = 10.0
"""Seconds that a view is thought to take before anybody saw it run."""
UPDATE_PACE: Final = 1.0
"""The least time between the starts of two runs of an `update` view."""
MOST_BUSY: Final = 4.0
"""An `update` view rests for a fourth of what its runs take, so that it works at most four fifths of the time."""
KEPT_RUNS: Final = 20
MAX_FAILURES: Final = 5
LEAST_TIMEOUT: Final = 600.0
LONGEST_OF_RUNS: Final = 20.0
"""A run that takes so many times as long as usual is stopped."""


class Activity(StrEnum):
    """What the scheduler does with a view; where its data stand is another question."""

    IDLE = "idle"
    WAITING = "waiting"
    """It is due, and waits for a hand or for a view that it reads."""
    RUNNING = "running"
    BACKING_OFF = "backing-off"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class Wish:
    """What people said of a view, as far as time goes."""

    name: str
    kind: Trigger
    parents: tuple[str, ...] = ()
    """The views that it reads."""
    sources: tuple[str, ...] = ()
    """The tables that it reads and that are no views."""
    lag: float | None = None
    slots: Schedule | None = None
    at_most_every: float = UPDATE_PACE
    catch_up: str = ONE
    max_failures: int = MAX_FAILURES
    timeout: float | None = None
    verify: float | None = None
    always_runs: bool = False
    """Its rows may change although no source did: its policy is full, or it reads the clock."""
    broken: str | None = None
    """Why it cannot be refreshed before a person does something; None: it can."""


@dataclass(frozen=True, slots=True)
class ViewKnown:
    """What is known of a view now."""

    stale: bool = False
    """What it reads itself moved by more than maintenance, or it was never refreshed."""
    since: float | None = None
    """When the first change that it does not show was committed."""
    inputs: str = ""
    """Its definition, and the versions of all that it reads; equal texts give equal failures."""
    durations: tuple[float, ...] = ()
    started: float | None = None
    ended: float | None = None
    running: bool = False
    """Somebody holds its lease."""
    last_slot: float | None = None
    failures: int = 0
    """In a row, of those that may be the view's own fault."""
    tries: int = 0
    """Failures in a row, of whatever kind."""
    retry_at: float | None = None
    failed_inputs: str | None = None
    alone: bool = False
    """A worker died of it: it runs in a worker of its own."""
    suspended: str | None = None
    """Why, if it is."""
    wanted: bool = False
    """A person asked for a run."""
    checked: float | None = None
    """When it was last compared with its query."""
    unreachable: str | None = None
    """What of it cannot be seen now."""


def moment(seconds: float) -> datetime:
    """A time as schedules read it."""
    return datetime.fromtimestamp(seconds, UTC)


def percentile(values: tuple[float, ...]) -> float:
    """The time that nine of ten runs stay below.

    >>> percentile((1.0, 2.0, 3.0)), percentile(())
    (3.0, 10.0)
    """
    if not values:
        return FIRST_RUN
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]


def timeout_of(wish: Wish, known: ViewKnown) -> float:
    """After how many seconds a run of a view is stopped."""
    return wish.timeout or max(LEAST_TIMEOUT, LONGEST_OF_RUNS * percentile(known.durations))
