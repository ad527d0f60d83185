"""When a view is refreshed by itself: a lag, an interval, or a cron text. Text in, times out.

>>> duration("10 minutes").total_seconds()
600.0
>>> Cron.parse("0 2 * * *").after(datetime(2026, 1, 1, 3, 0, tzinfo=UTC)).isoformat()
'2026-01-02T02:00:00+00:00'
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from re import IGNORECASE
from re import compile as pattern
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from grebe.errors import DefinitionError

DOWNSTREAM: Final = "downstream"
"""The lag of a view that only has to be as fresh as the views that read it."""

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_UNITS: Final = {
    "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
    "m": "m", "min": "m", "mins": "m", "minute": "m", "minutes": "m",
    "h": "h", "hr": "h", "hrs": "h", "hour": "h", "hours": "h",
    "d": "d", "day": "d", "days": "d", "w": "w", "week": "w", "weeks": "w",
}  # fmt: skip
_DURATION: Final = pattern(r"\s*(\d{1,9})\s*([a-z]+)\s*", IGNORECASE)
_CRON: Final = pattern(r"\s*cron\s+'([^']*)'(?:\s+at\s+time\s+zone\s+'([^']*)')?\s*", IGNORECASE)
_EVERY: Final = pattern(r"\s*every\s+(.*)", IGNORECASE)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS: Final = ("minute", "hour", "day of month", "month", "day of week")


def duration(text: str) -> timedelta:
    """A length of time such as "10 minutes", "1 hour" or "7d".

    Raises:
        DefinitionError: the text is none, or is no time at all.
    """
    found = _DURATION.fullmatch(text)
    unit = _UNITS.get(found[2].lower()) if found else None
    if found is None or unit is None or int(found[1]) == 0:
        raise DefinitionError(
            f'"{text}" is not a length of time',
            hint='write a number and a unit, such as "10 minutes", "1 hour" or "7 days"',
            code="bad-duration",
        )
    try:
        return timedelta(seconds=int(found[1]) * _SECONDS[unit])
    except OverflowError:
        raise DefinitionError(f'"{text}" is too long', code="bad-duration") from None


def checked_lag(text: str) -> str:
    """The text of a lag, if it is one: a length of time, or "downstream"."""
    if text.strip().lower() == DOWNSTREAM:
        return DOWNSTREAM
    duration(text)
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class Every:
    """An interval: its multiples since 1970 UTC, so that equal intervals come together."""

    interval: timedelta

    def after(self, moment: datetime) -> datetime | None:
        """The first multiple after a moment."""
        return _EPOCH + ((moment - _EPOCH) // self.interval + 1) * self.interval


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields of a cron text, read on the clock of a zone."""

    text: str
    zone: str

    @staticmethod
    def parse(text: str, zone: str = "UTC") -> Cron:
        """The schedule that a cron text means.

        Raises:
            DefinitionError: names the field that is wrong.
        """
        parts = text.split()
        if len(parts) != len(_FIELDS):
            raise _bad(text, f"it has {len(parts)} fields, not 5: minute hour day month weekday")
        for number, (part, name) in enumerate(zip(parts, _FIELDS, strict=True)):
            alone = ["*"] * len(_FIELDS)
            alone[number] = part
            if not _is_cron(" ".join(alone)):
                raise _bad(text, f'field {name}: "{part}" is not a value, a range or a step of it')
        _zone(zone)
        return Cron(" ".join(parts), zone)

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a moment; None when there never is one, as on 31 February.

        Where clocks are put forward, a fixed time in the gap comes right after it; where they are
        put back, a fixed time comes once. Steps such as ``*/15`` follow the time that passes.
        """
        try:
            times = CronSim(self.text, moment.astimezone(_zone(self.zone)))
            # In the hour that comes twice, the first answer may lie in its first pass.
            later = (time.astimezone(UTC) for time in times)
            return next((time for time in later if time > moment), None)
        except CronSimError:
            return None


Schedule = Every | Cron


def schedule(text: str) -> Schedule:
    """The schedule that `EVERY …` or `CRON '…' [AT TIME ZONE '…']` means."""
    if found := _CRON.fullmatch(text):
        return Cron.parse(found[1], found[2] or "UTC")
    if found := _EVERY.fullmatch(text):
        return Every(duration(found[1]))
    raise DefinitionError(
        f'"{text}" is not a schedule',
        hint="write EVERY 1 HOUR, or CRON '0 2 * * *' AT TIME ZONE 'UTC'",
        code="bad-schedule",
    )


def _is_cron(text: str) -> bool:
    try:
        CronSim(text, datetime.now(UTC))
    except (CronSimError, ValueError):
        return False
    return True


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise DefinitionError(
            f'"{name}" is not a time zone',
            hint='write a name such as "UTC" or "Europe/Oslo"',
            code="bad-schedule",
        ) from None


def _bad(text: str, detail: str) -> DefinitionError:
    return DefinitionError(
        f'"{text}" is not a cron text',
        detail=detail,
        hint='write five fields, such as "0 2 * * *" for every day at two',
        code="bad-schedule",
    )
