"""When a view is refreshed by itself: a lag, an interval, or a cron text. Text in, times out.

>>> duration("10 minutes").total_seconds()
600.0
>>> Cron.parse("0 2 * * *").after(datetime(2026, 1, 1, 3, 0, tzinfo=UTC)).isoformat()
'2026-01-02T02:00:00+00:00'
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from re import IGNORECASE
from re import compile as pattern
from typing import Final
from zoneinfo import ZoneInfo

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
_FIELDS: Final = (
    ("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12),
    ("day of week", 0, 7),
)  # fmt: skip
_NAMES: Final = {
    "month": ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    "day of week": ("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
}
_ITEM: Final = pattern(r"(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:/(\d+))?", IGNORECASE)
_YEARS: Final = 8
"""29 February may be eight years away."""


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
    """An interval, counted from the last refresh."""

    interval: timedelta

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a refresh at this moment."""
        return moment + self.interval


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields, each the set of values that it allows."""

    fields: tuple[frozenset[int], ...]
    zone: str
    any_day: bool
    """Day of month and day of week: when both are restricted, either is enough, as in cron."""

    @staticmethod
    def parse(text: str, zone: str = "UTC") -> Cron:
        """The schedule that a cron text means.

        Raises:
            DefinitionError: names the field that is wrong, and what it may hold.
        """
        parts = text.split()
        if len(parts) != len(_FIELDS):
            raise _bad(text, f"it has {len(parts)} fields, not 5: minute hour day month weekday")
        sets = [
            _values(part, name, low, high, text)
            for part, (name, low, high) in zip(parts, _FIELDS, strict=True)
        ]
        sets[4] = frozenset(value % 7 for value in sets[4])
        _zone(zone)
        return Cron(tuple(sets), zone, parts[2] != "*" and parts[4] != "*")

    def after(self, moment: datetime) -> datetime | None:
        """The first matching minute after a moment; None when there is none within eight years."""
        zone = _zone(self.zone)
        local = moment.astimezone(zone).replace(second=0, microsecond=0, tzinfo=None)
        day = local.replace(hour=0, minute=0)
        for _ in range(366 * _YEARS):
            times = product(sorted(self.fields[1]), sorted(self.fields[0]))
            for hour, minute in times if self._allows(day) else ():
                found = day.replace(hour=hour, minute=minute, tzinfo=zone).astimezone(UTC)
                if found > moment:
                    return found
            day += timedelta(days=1)
        return None

    def _allows(self, day: datetime) -> bool:
        in_month = day.day in self.fields[2]
        in_week = day.isoweekday() % 7 in self.fields[4]
        fits = (in_month or in_week) if self.any_day else (in_month and in_week)
        return fits and day.month in self.fields[3]


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


def _values(part: str, name: str, low: int, high: int, text: str) -> frozenset[int]:
    found: set[int] = set()
    for item in part.split(","):
        match = _ITEM.fullmatch(item)
        if match is None or (match[1] == "*" and match[2]):
            raise _bad(text, f'field {name}: "{item}" is not a value, a range or a step')
        first, last, step = match[1], match[2], int(match[3] or 1)
        start = low if first == "*" else _number(first, name, text)
        end = start if first != "*" and not match[3] else high
        end = _number(last, name, text) if last else end
        if not (low <= start <= end <= high) or step == 0:
            raise _bad(text, f'field {name}: "{item}" is outside {low} to {high}')
        found.update(range(start, end + 1, step))
    return frozenset(found)


def _number(word: str, name: str, text: str) -> int:
    names = _NAMES.get(name, ())
    if word.lower() in names:
        return names.index(word.lower()) + (1 if name == "month" else 0)
    if not word.isdecimal():
        raise _bad(text, f'field {name}: "{word}" is not a number')
    return int(word)


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
