"""What follows the end of a run: nothing, another try later or on other inputs, or no more. Pure.

>>> ended = after(ViewKnown(inputs="v1"), RunFailure(FailureKind.OWN, "v1", "division by zero"), 100.0, 0.5, 5)
>>> ended.failed_inputs, ended.retry_at, ended.suspended
('v1', None, None)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from grebe.scheduler.wishes import KEPT_RUNS, ViewKnown

FIRST_WAIT: Final = 5.0
LONGEST_WAIT: Final = 900.0
AFTER_A_DEATH: Final = 60.0
"""Seconds before a view in whose run a worker died is tried again."""
_DOUBLINGS: Final = 12


class FailureKind(StrEnum):
    """What kind of failure it was."""

    AWAY = "away"
    """Somebody else moved the table, or something could not be reached: not the view's fault."""
    SLOW = "slow"
    """It took too long, or what it reads was not there: tried again, but not for ever."""
    OWN = "own"
    """The query on these data, its definition, its policy: the same inputs give the same."""
    DIED = "died"
    """The worker ended in it."""


AWAY_CODES: Final = frozenset(
    {
        "conflict", "unknown-outcome", "registry", "registry-version", "catalog-unreachable",
        "out-of-reach", "spark-lost", "frontier-conflict", "disk", "rows-lost", "catalog-moved",
        "catalog-locked", "lease-held", "view-altered", "commit-conflict",
    }
)  # fmt: skip
SLOW_CODES: Final = frozenset({"timed-out", "unknown-table", "source-missing"})
LEFT_OUT: Final = frozenset({"lease-held", "upstream-failed"})
"""Codes of results that are no failures: somebody else refreshes the view, or a parent failed."""


@dataclass(frozen=True, slots=True)
class RunFailure:
    """How a run of a view failed."""

    kind: FailureKind
    inputs: str
    says: str


def kind_of(codes: frozenset[str]) -> FailureKind:
    """The kind of a failure, by the codes of its error and reasons."""
    if codes & AWAY_CODES:
        return FailureKind.AWAY
    if codes & SLOW_CODES:
        return FailureKind.SLOW
    return FailureKind.OWN


def wait(tries: int, draw: float, first: float = FIRST_WAIT) -> float:
    """Seconds before the next try: up to twice as long each time, drawn so that many do not meet.

    >>> [wait(tries, 1.0) for tries in (1, 2, 3, 20)]
    [5.0, 10.0, 20.0, 900.0]
    """
    return draw * min(LONGEST_WAIT, first * 2.0 ** min(_DOUBLINGS, max(0, tries - 1)))


def after(known: ViewKnown, failure: RunFailure, now: float, draw: float, most: int) -> ViewKnown:
    """What is known of a view after it failed.

    Args:
        known: what was known when the run began.
        failure: how it failed.
        now: when it ended.
        draw: a number from 0 to 1.
        most: after how many failures in a row it is suspended; 0: never.
    """
    counts = failure.kind is not FailureKind.AWAY
    tries, failures = known.tries + 1, known.failures + counts
    failed = replace(
        known, running=False, wanted=False, tries=tries, failures=failures, ended=now,
        failed_inputs=None, retry_at=None, alone=known.alone or failure.kind is FailureKind.DIED,
    )  # fmt: skip
    if counts and most and failures >= most:
        return replace(failed, suspended=f"{failures} runs in a row failed: {failure.says}")
    match failure.kind:
        case FailureKind.OWN:
            return replace(failed, failed_inputs=failure.inputs)
        case FailureKind.DIED:
            half = 0.5 + draw / 2  # a worker is not to die of it again at once
            return replace(failed, retry_at=now + wait(failures, half, AFTER_A_DEATH))
    return replace(failed, retry_at=now + wait(tries, draw))


def after_success(known: ViewKnown, now: float, seconds: float | None) -> ViewKnown:
    """What is known of a view after a run that did not fail."""
    durations = known.durations if seconds is None else (*known.durations, seconds)[-KEPT_RUNS:]
    return replace(
        known, running=False, wanted=False, tries=0, failures=0, retry_at=None,
        failed_inputs=None, alone=False, ended=now, durations=durations,
    )  # fmt: skip


def resumed(known: ViewKnown) -> ViewKnown:
    """What is known of a view that a person lets run again: it is due."""
    return replace(
        known, suspended=None, failures=0, tries=0, retry_at=None, failed_inputs=None,
        alone=False, wanted=True,
    )  # fmt: skip
