"""How long a table's own settings keep its versions, as the formats write it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_UNITS: Final = ("weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds")


def of_milliseconds(text: str | None) -> timedelta | None:
    """A number of milliseconds; None: not set, or not a time that anything could be kept for.

    >>> of_milliseconds("86400000"), of_milliseconds("soon"), of_milliseconds("9" * 19)
    (datetime.timedelta(days=1), None, None)
    """
    try:
        return timedelta(milliseconds=int(text)) if text else None
    except (ValueError, OverflowError):
        return None


def of_interval(text: str | None) -> timedelta | None:
    """An interval as Delta's settings spell it; None: not set, or not understood.

    >>> of_interval("interval 1 week"), of_interval("INTERVAL 2 days 6 hours"), of_interval("7 moons")
    (datetime.timedelta(days=7), datetime.timedelta(days=2, seconds=21600), None)
    """
    words = re.sub(r"^\s*interval\b", "", text or "", flags=re.IGNORECASE).lower().split()
    pairs = dict(
        zip((f"{unit.removesuffix('s')}s" for unit in words[1::2]), words[::2], strict=False)
    )
    known = len(words) % 2 == 0 and set(pairs) <= set(_UNITS)
    if not words or not known or not all(number.isdigit() for number in pairs.values()):
        return None
    try:
        return timedelta(**{unit: int(number) for unit, number in pairs.items()})
    except OverflowError:
        return None
