"""What people wish of a view, from its definition and the project's settings."""

from __future__ import annotations

from collections.abc import Mapping

from grebe.config import Settings
from grebe.errors import GrebeError
from grebe.model import Policy
from grebe.project.definitions import Definition
from grebe.schedule import duration, schedule
from grebe.scheduler.wishes import UPDATE_PACE, Wish
from grebe.view_timing import Trigger, verify_every

CLOCK_READING = "time-function"


def wish_of(view: Definition, views: Mapping[str, Definition], settings: Settings) -> Wish:
    """The wish; of a view whose text cannot be read, why it is broken."""
    try:
        return _wish(view, views, settings)
    except GrebeError as error:
        return Wish(view.key, Trigger.MANUAL, broken=f"{error}  [{error.code}]")


def _wish(view: Definition, views: Mapping[str, Definition], settings: Settings) -> Wish:
    if view.error is not None:
        raise view.error
    timing, own = view.timing, settings.scheduler
    lag = timing.lag_length
    always = view.policy is Policy.FULL or (
        view.facts is not None and any(code == CLOCK_READING for code, _ in view.facts.reasons)
    )
    most = timing.max_failures
    return Wish(
        view.key,
        timing.kind,
        parents=view.parents_among(views),
        sources=tuple(name for name in view.tables if name not in views),
        lag=None if lag is None else lag.total_seconds(),
        slots=None if timing.schedule is None else schedule(timing.schedule),
        at_most_every=_seconds(timing.at_most_every) or UPDATE_PACE,
        catch_up=timing.catch_up or own.catch_up,
        max_failures=own.max_failures if most is None else int(most),
        timeout=_seconds(timing.timeout),
        verify=None
        if timing.verify is None
        else verify_every(timing.verify).interval.total_seconds(),
        always_runs=always,
    )


def _seconds(text: str | None) -> float | None:
    return None if text is None else duration(text).total_seconds()
