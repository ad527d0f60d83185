"""The due times of a schedule: the last one that came, and the next."""

from __future__ import annotations

from typing import Final

from grebe.schedule import Every, Schedule
from grebe.scheduler.wishes import moment

_FIRST_LOOK: Final = 120.0
_WIDER: Final = 8.0
_LONGEST_LOOK: Final = 6 * 366 * 86400.0
"""A schedule that came not once in so long never comes: 29 February is at most eight years away."""


def next_slot(slots: Schedule, after: float) -> float | None:
    """The first due time after a moment; None when there never is one."""
    found = slots.after(moment(after))
    return None if found is None else found.timestamp()


def latest_slot(slots: Schedule, now: float, after: float | None = None) -> float | None:
    """The last due time up to now, and after another; None when there was none.

    Missed times are one run, so the last alone counts; it is found without listing all before it.
    """
    floor = now - 1.5 * _LONGEST_LOOK if after is None else after
    if isinstance(slots, Every):
        length = slots.interval.total_seconds()
        last = now // length * length
        return last if last > floor else None
    look = _FIRST_LOOK
    while True:
        begin = max(floor, now - look)
        found = next_slot(slots, begin)
        if found is not None and found <= now:
            return _last_of(slots, found, now)
        if begin <= floor:
            return None
        look *= _WIDER


def _last_of(slots: Schedule, found: float, now: float) -> float:
    while (later := next_slot(slots, found)) is not None and later <= now:
        found = later
    return found
