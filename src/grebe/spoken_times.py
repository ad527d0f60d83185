"""Times and lengths as a person says them."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def length(seconds: float) -> str:
    """A length of time in its largest unit.

    >>> length(0.4), length(59), length(600), length(7300), length(200_000)
    ('0.4 s', '59 s', '10 min', '2 h', '2 d')
    """
    if 0 < seconds < 10:
        return f"{seconds:.1f} s"
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "0 s"


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """How long ago something was.

    >>> at = datetime(2026, 3, 1, tzinfo=UTC)
    >>> ago(at, at), ago(at, datetime(2026, 3, 1, 0, 3, tzinfo=UTC)), ago(None)
    ('just now', '3 min ago', '')
    """
    if moment is None:
        return ""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    return f"{length(seconds)} ago" if seconds >= 1 else "just now"


def until(moment: datetime | None, now: datetime | None = None) -> str:
    """How long something is off.

    >>> at = datetime(2026, 3, 1, tzinfo=UTC)
    >>> until(datetime(2026, 3, 1, 2, tzinfo=UTC), at), until(at, at), until(None)
    ('in 2 h', 'now', '')
    """
    if moment is None:
        return ""
    seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return f"in {length(seconds)}" if seconds >= 1 else "now"
