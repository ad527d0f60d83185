"""When a source moved: writers' clocks are believed only inside of the time in which the change must have come. Pure.

>>> moves = seen(seen((), "v1", 100.0), "v2", 110.0)
>>> since(moves, "v1", committed=50.0, now=130.0), since(moves, "v1", committed=9999.0, now=130.0)
(100.0, 110.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

KEPT: Final = 64
"""Heads of a source that are remembered."""


@dataclass(frozen=True, slots=True)
class SeenHead:
    """A head of a source: when it was first and last seen, by the registry's clock."""

    version: str
    first: float
    last: float


def seen(moves: Sequence[SeenHead], version: str, now: float) -> tuple[SeenHead, ...]:
    """The heads of a source after one more look."""
    if moves and moves[-1].version == version:
        latest = moves[-1]
        # A clock that was put back: nothing was seen in the future.
        return (*moves[:-1], replace(latest, first=min(latest.first, now), last=now))
    kept = tuple(moves)
    if kept and kept[-1].last > now:
        kept = tuple(replace(i, first=min(i.first, now), last=min(i.last, now)) for i in kept)
    return (*kept, SeenHead(version, now, now))[-KEPT:]


def since(
    moves: Sequence[SeenHead],
    shown: str | None,
    *,
    committed: float | None,
    now: float,
    pinned: float | None = None,
) -> float:
    """When the first change came that a view does not show.

    Args:
        moves: the heads of the source that were seen.
        shown: the version that the view shows.
        committed: when the writer says that the change was committed.
        now: the registry's time.
        pinned: when the run began that pinned what the view shows: the change came later.
    """
    lower, upper = _bounds(moves, shown, now, pinned)
    at = upper if committed is None else committed
    return min(max(at, lower), upper)


def is_skewed(
    moves: Sequence[SeenHead],
    shown: str | None,
    *,
    committed: float | None,
    now: float,
    pinned: float | None = None,
) -> bool:
    """True when the writer's clock says what cannot be."""
    if committed is None:
        return False
    believed = since(moves, shown, committed=committed, now=now, pinned=pinned)
    return abs(believed - committed) > SKEW


SKEW: Final = 60.0
"""Seconds by which clocks may differ without a word."""


def _bounds(
    moves: Sequence[SeenHead], shown: str | None, now: float, pinned: float | None
) -> tuple[float, float]:
    for place, item in enumerate(moves):
        if item.version == shown:
            upper = moves[place + 1].first if place + 1 < len(moves) else now
            return min(item.last, upper), upper
    # A run of the future began by another clock: nothing follows from it.
    lower = -float("inf") if pinned is None or pinned > now else pinned
    upper = min((item.first for item in moves if item.first > lower), default=now)
    return lower, max(lower, min(upper, now))
