"""Files whose dates and timestamps count in the calendar of an old Spark, which Arrow does not know."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VERSION = b"org.apache.spark.version"
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_PROLEPTIC = (3, 1)
"""The first Spark that writes all dates and timestamps in today's calendar, unless it says so."""


class OldCalendarError(Exception):
    """A file that only Spark reads right."""


def in_old_calendar(notes: Mapping[bytes, bytes] | None) -> bool:
    """Whether values before 1582 can be others than they look, by the notes of a file's footer.

    Spark goes by the same notes: a file without any is read as it is.
    """
    if not notes:
        return False
    written = notes.get(_VERSION)
    return any(key in notes for key in _LEGACY) or (written is not None and _is_old(written))


def _is_old(version: bytes) -> bool:
    numbers = [int(part) for part in re.findall(rb"\d+", version)[:2]]
    return tuple(numbers) < _PROLEPTIC
