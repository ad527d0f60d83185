"""Words inside strings that Spark reads as a moment of the clock: ``TIMESTAMP 'now'``."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = r"(?:now|today|tomorrow|yesterday)"
_LITERAL: Final = re.compile(rf"""['"]\s*{_WORDS}(?:\s+[^'"]*)?\s*['"]\s*$""", re.IGNORECASE)
_AS_TIME: Final = re.compile(
    rf"(?:cast|date|timestamp\w*|\w*to_\w*(?:date|time)\w*|parseto\w+|gettimestamp)"
    rf"\(\s*{_WORDS}(?:\s+[^#(),]*?)?(?:\s+as\s+(?:date|timestamp\w*)|\s*[,)])",
    re.IGNORECASE,
)


_CALLED: Final = re.compile(
    r"\b(?:current_date|current_timestamp|current_time|now|curdate|localtimestamp|localtime)\(",
    re.IGNORECASE,
)
SUSPECT: Final = frozenset(
    [
        "now",
        "curdate",
        "current_date",
        "current_timestamp",
        "current_time",
        "localtimestamp",
        "localtime",
        "today",
        "unix_timestamp",
        "sysdate",
        "getdate",
    ]
)
"""Names that may be calls of the clock; Spark's plan says whether they are."""


def names_clock(literal: str) -> bool:
    """True for a typed constant whose text is a word for the present.

    >>> names_clock("DATE 'today'"), names_clock("DATE '2026-01-31'")
    (True, False)
    """
    return _LITERAL.search(literal) is not None


def plan_names_clock(plan: str) -> bool:
    """True when an analysed plan asks the clock, or turns such a word into a date or a time.

    >>> plan_names_clock("Project [unix_timestamp(current_timestamp(), yyyy) AS u#1]")
    True

    >>> plan_names_clock("Filter (ts#1 < cast(now as timestamp))")
    True
    >>> plan_names_clock("Filter (name#1 = now)"), plan_names_clock("cast(now#2 as date)")
    (False, False)
    """
    return _AS_TIME.search(plan) is not None or _CALLED.search(plan) is not None
