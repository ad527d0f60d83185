"""What is due, why, and until when: pure, without a clock of its own.

The rules, and the simulation that they come from, are on the page *Keeping views fresh*.

>>> wish = Wish("v", Trigger.LAG, sources=("t",), lag=600.0)
>>> decisions({"v": wish}, {"v": ViewKnown(stale=True, since=1000.0, durations=(8.0,))}, Moment(1100.0))["v"].due
False
>>> decisions({"v": wish}, {"v": ViewKnown(stale=True, since=1000.0, durations=(8.0,))}, Moment(1300.0))["v"].due
True
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from grebe.scheduler.slots import latest_slot, next_slot
from grebe.scheduler.wishes import MOST_BUSY, UPDATE_PACE, Activity, ViewKnown, Wish, percentile
from grebe.view_timing import NONE, Trigger

MARGIN: Final = 1.25
"""Of what a run takes, to be kept free before it is late."""
LEAST_PERIOD: Final = 10.0
"""What lateness is measured against where nobody named a lag or a period."""
ON_TIME: Final = 60.0
"""A slot that is older than this when a loop begins was missed."""
NOTHING: Final = ViewKnown()


@dataclass(frozen=True, slots=True)
class Moment:
    """When it is, and how the loop works."""

    now: float
    poll: float = 1.0
    """Seconds until a change is noticed."""
    watching_since: float = -math.inf
    """When this loop began: who skips missed slots skips those from before."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done with one view."""

    view: str
    activity: Activity
    due: bool = False
    trigger: Trigger = Trigger.MANUAL
    slot: float | None = None
    """The due time that a run of it serves."""
    start_by: float = math.inf
    """When it has to begin, so that nobody finds it late."""
    rank: float = math.inf
    """What is smaller goes first."""
    at: float | None = None
    """When it is looked at again, if that is known."""
    why: str = ""
    stale: bool = False
    since: float | None = None
    takes: float = 0.0
    """Seconds that a run is thought to take, with the stale views above it."""

    def staleness(self, now: float) -> float:
        """How old what it shows is; nothing while it is fresh."""
        return max(0.0, now - self.since) if self.stale and self.since is not None else 0.0


@dataclass(frozen=True, slots=True)
class _Stale:
    stale: bool
    since: float | None
    takes: float


def may_run(wish: Wish | None, known: ViewKnown, now: float) -> bool:
    """Whether a run may take a view along: a view above that may not is read as it is."""
    if wish is None or wish.kind is Trigger.MANUAL or wish.broken or known.unreachable:
        return False
    return known.suspended is None and not holds(known, now)


def holds(known: ViewKnown, now: float) -> str | None:
    """Why a view that failed is not tried now, if so."""
    if known.wanted:
        return None
    if known.retry_at is not None and now < known.retry_at:
        return "it failed, and is tried again later"
    if known.failed_inputs is not None and known.failed_inputs == known.inputs:
        return "it failed on the same inputs"
    return None


def staleness(
    wishes: Mapping[str, Wish], known: Mapping[str, ViewKnown], now: float
) -> dict[str, _Stale]:
    """For every view whether it, or a view above that may be refreshed, does not show a change."""
    found: dict[str, _Stale] = {}

    def visit(name: str, path: tuple[str, ...]) -> _Stale:
        if name in found:
            return found[name]
        own, wish = known.get(name, NOTHING), wishes[name]
        stale, since = own.stale, own.since if own.stale else None
        takes = percentile(own.durations)
        for parent in wish.parents:
            if parent in path or parent not in wishes:
                continue  # a circle is told where definitions are read
            if may_run(wishes[parent], known.get(parent, NOTHING), now):
                above = visit(parent, (*path, name))
                if above.stale:
                    stale, takes = True, takes + above.takes
                    since = _earlier(since, above.since)
        found[name] = _Stale(stale, since, takes)
        return found[name]

    for name in wishes:
        visit(name, ())
    return found


def _earlier(one: float | None, other: float | None) -> float | None:
    return min((item for item in (one, other) if item is not None), default=None)


def decisions(
    wishes: Mapping[str, Wish], known: Mapping[str, ViewKnown], moment: Moment
) -> dict[str, Decision]:
    """What is to be done with every view."""
    stale = staleness(wishes, known, moment.now)
    return {
        name: _decision(wish, known.get(name, NOTHING), stale[name], moment)
        for name, wish in wishes.items()
    }


def _decision(wish: Wish, known: ViewKnown, stale: _Stale, moment: Moment) -> Decision:
    def say(activity: Activity, why: str, at: float | None = None) -> Decision:
        return Decision(
            wish.name, activity, why=why, at=at, stale=stale.stale, since=stale.since,
            takes=stale.takes,
        )  # fmt: skip

    stopped = _stopped(wish, known, moment.now)
    if stopped is not None:
        return say(*stopped)
    if known.wanted:
        return _due(wish, stale, moment, Trigger.MANUAL, moment.now, "somebody asked for it")
    if known.tries and known.retry_at is not None and (stale.stale or wish.slots is not None):
        return _due(wish, stale, moment, Trigger.RETRY, known.retry_at, "it failed before")
    match wish.kind:
        case Trigger.SCHEDULE if wish.slots is not None:
            return _by_slot(wish, known, stale, moment) or _checked(wish, known, stale, moment)
        case Trigger.UPDATE if stale.stale:
            return _on_update(wish, known, stale, moment)
        case Trigger.LAG if stale.stale and wish.lag is not None:
            return _by_lag(wish, stale, moment)
    return _checked(wish, known, stale, moment)


def _stopped(wish: Wish, known: ViewKnown, now: float) -> tuple[Activity, str, float | None] | None:
    """Why nothing is to be done whatever moved, if so."""
    if known.running:
        return Activity.RUNNING, "it is being refreshed", None
    if known.suspended is not None:
        return Activity.SUSPENDED, known.suspended, None
    if known.unreachable is not None:
        return Activity.WAITING, known.unreachable, None
    if wish.broken is not None:
        return Activity.IDLE, wish.broken, None
    held = holds(known, now)
    return None if held is None else (Activity.BACKING_OFF, held, known.retry_at)


def _due(
    wish: Wish, stale: _Stale, moment: Moment, trigger: Trigger, start_by: float, why: str
) -> Decision:
    measure = wish.lag or max(LEAST_PERIOD, wish.at_most_every, stale.takes)
    return Decision(
        wish.name,
        Activity.WAITING,
        due=True,
        trigger=trigger,
        start_by=start_by,
        rank=(start_by - moment.now) / measure,
        at=moment.now,
        why=why,
        stale=stale.stale,
        since=stale.since,
        takes=stale.takes,
    )


def _later(wish: Wish, stale: _Stale, at: float | None, why: str) -> Decision:
    return Decision(
        wish.name, Activity.IDLE, at=at, why=why, stale=stale.stale, since=stale.since,
        takes=stale.takes,
    )  # fmt: skip


def _on_update(wish: Wish, known: ViewKnown, stale: _Stale, moment: Moment) -> Decision:
    begin = stale.since if stale.since is not None else moment.now
    if known.started is not None:
        begin = max(begin, known.started + max(wish.at_most_every, UPDATE_PACE))
    if known.ended is not None:
        begin = max(begin, known.ended + percentile(known.durations) / MOST_BUSY)
    if moment.now < begin:
        return _later(wish, stale, begin, "a source moved; its pace is kept")
    return _due(wish, stale, moment, Trigger.UPDATE, begin, "a source moved")


def room_of(lag: float, takes: float, poll: float) -> float:
    """How long after a change a run may wait, so that its end is in time."""
    return max(0.0, lag - MARGIN * takes - poll)


def _by_lag(wish: Wish, stale: _Stale, moment: Moment) -> Decision:
    if stale.since is None:
        return _due(wish, stale, moment, Trigger.LAG, moment.now, "it was never refreshed")
    lag, since = wish.lag or 0.0, stale.since
    room = room_of(lag, stale.takes, moment.poll)
    if moment.now < since + room / 2:
        return _later(wish, stale, since + room / 2, "a source moved; half of its lag is waited")
    return _due(wish, stale, moment, Trigger.LAG, since + room, "half of its lag has passed")


def _by_slot(wish: Wish, known: ViewKnown, stale: _Stale, moment: Moment) -> Decision | None:
    slots = wish.slots
    if slots is None:
        return None
    slot = latest_slot(slots, moment.now, known.last_slot)
    if known.last_slot is None and slot is None:
        slot = moment.now  # nobody knows of a run: one more does no harm
    missed = slot is not None and slot < moment.watching_since and moment.now - slot > ON_TIME
    if slot is None or (missed and wish.catch_up == NONE and known.last_slot is not None):
        return None
    period = (next_slot(slots, slot) or math.inf) - slot
    made = _due(wish, stale, moment, Trigger.SCHEDULE, slot, "its time has come")
    measure = wish.lag or max(LEAST_PERIOD, min(period, 366 * 86400.0))
    return Decision(
        made.view, made.activity, due=True, trigger=made.trigger, slot=slot, start_by=slot,
        rank=(slot - moment.now) / measure, at=made.at, why=made.why, stale=made.stale,
        since=made.since, takes=made.takes,
    )  # fmt: skip


def _checked(wish: Wish, known: ViewKnown, stale: _Stale, moment: Moment) -> Decision:
    """Nothing to refresh: a check may be due, at the lowest rank."""
    at = None
    if wish.slots is not None:
        at = next_slot(wish.slots, max(moment.now, known.last_slot or moment.now))
    if wish.verify is not None and known.checked is not None:
        begin = known.checked + wish.verify
        if moment.now >= begin:
            return Decision(
                wish.name, Activity.WAITING, due=True, trigger=Trigger.CHECK, start_by=begin,
                at=begin, why="it is time to check it", stale=stale.stale, since=stale.since,
                takes=stale.takes,
            )  # fmt: skip
        at = _earlier(at, begin)
    return _later(wish, stale, at, _resting(wish, stale))


def _resting(wish: Wish, stale: _Stale) -> str:
    match wish.kind:
        case Trigger.MANUAL:
            return "it is refreshed when somebody asks"
        case Trigger.DOWNSTREAM:
            return "it is refreshed with the views that read it"
        case Trigger.SCHEDULE:
            return "its next time has not come"
    return "a source moved" if stale.stale else "no source moved"
