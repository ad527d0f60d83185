"""Incremental or full: which one is cheaper, from statistics. A wrong guess is slow, never wrong.

The choice is made at every refresh. Past runs of both kinds decide by time, where something like the change
was measured: the first build is a full run. Else the rule of thumb is the share of the sources' rows that changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from grebe import thresholds
from grebe.model import Cost, Outcome, Reason


@dataclass(frozen=True, slots=True)
class Past:
    """One earlier run of a view: what it did, how many rows had changed, how long it took."""

    incremental: bool
    changed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows that changed and rows there are, over all sources; None where metadata does not say."""

    changed: int | None
    total: int | None
    sources: int = 1


def full_is_cheaper(
    sizes: Sizes, past: Sequence[Past] = (), threshold: float | None = None
) -> Reason | None:
    """Why a full refresh is the cheaper one, with the numbers, or None when it is not."""
    if not sizes.changed or not sizes.total:
        return None
    share = sizes.changed / sizes.total
    if threshold is None and sizes.changed <= thresholds.FULL_LEAST_ROWS:
        return None
    if threshold is None:
        timed = _by_time(sizes.changed, past)
        if timed is not None:
            return timed if timed.code else None
    limit = (
        (thresholds.FULL_SHARE_JOINED if sizes.sources > 1 else thresholds.FULL_SHARE)
        if threshold is None
        else threshold
    )
    if share <= limit:
        return None
    return Reason(
        "changeset-too-large",
        f"{share:.0%} of the sources' rows changed, more than {limit:.0%}",
        numbers=(("changed", sizes.changed), ("rows", sizes.total), ("threshold", limit)),
    )


def cost_of(outcome: Outcome, changed: int, seconds: float, past: Sequence[Past]) -> Cost | None:
    """What a run cost beside its other way; None where nothing was computed."""
    incremental, whole = incremental_seconds(changed, past), full_seconds(past)
    match outcome:
        case Outcome.INCREMENTAL:
            return Cost(outcome, seconds, incremental, Outcome.FULL, whole)
        case Outcome.FULL:
            # How many rows had changed is known to an incremental run alone.
            return Cost(outcome, seconds, whole)
    return None


def full_seconds(past: Sequence[Past]) -> float | None:
    """What a full refresh takes by earlier ones; None when there was none."""
    full = [run.seconds for run in past if not run.incremental]
    return median(full) if full else None


def incremental_seconds(changed: int, past: Sequence[Past]) -> float | None:
    """What an incremental refresh takes by earlier ones; None when nothing like it was measured."""
    moved = [run for run in past if run.incremental and run.changed > 0]
    if len(moved) < thresholds.PAST_RUNS:
        return None
    if changed > thresholds.PAST_REACH * max(run.changed for run in moved):
        return None
    floor = min(run.seconds for run in moved)
    # Between small runs only the machine's mood differs: they say nothing of a row's cost.
    costs = [
        max(0.0, run.seconds - floor) / run.changed
        for run in moved
        if run.changed > thresholds.FULL_LEAST_ROWS
    ]
    return floor + (median(costs) if costs else 0.0) * changed


def _by_time(changed: int, past: Sequence[Past]) -> Reason | None:
    """A reason from measured times; an empty one says that incremental is the cheaper."""
    guess, whole = incremental_seconds(changed, past), full_seconds(past)
    if guess is None or whole is None:
        return None
    if guess <= whole:
        return Reason("", "incremental is cheaper")
    return Reason(
        "full-cheaper",
        f"about {guess:.1f} s incrementally, {whole:.1f} s in full",
        numbers=(("incremental_seconds", guess), ("full_seconds", whole)),
    )
