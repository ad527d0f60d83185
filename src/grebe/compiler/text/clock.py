"""A query that reads the clock, with the clock stopped at one moment.

Under the policy `full` such a view is computed as of the start of its run. The moment is kept
with the frontier, so that `verify` can compute the same rows again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot.tokenizer_core import Token, TokenType

from grebe.compiler.algebra.function_names import TIME_NAMES
from grebe.compiler.parser.clock_words import names_clock
from grebe.compiler.parser.spans import Span, spliced
from grebe.compiler.parser.tokens import tokens_of
from grebe.compiler.reasons import ReasonCode
from grebe.model import Reason

ZONE: Final = "spark.sql.session.timeZone"
"""The setting that says which day is today."""
CLOCK: Final = "clock"
"""Where a frontier keeps the moment."""
_DAYS: Final = ("current_date", "curdate")
_WITHOUT_ZONE: Final = ("localtimestamp",)
_OF_DAY: Final = ("current_time", "localtime")
_TIME_TYPES: Final = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
_BARE: Final = ("current_date", "current_timestamp", "current_time", "localtimestamp")
"""What Spark knows without brackets."""
CLOCK_CALLS: Final = frozenset(
    {
        *TIME_NAMES,
        *_DAYS,
        *_WITHOUT_ZONE,
        *_OF_DAY,
        "unix_timestamp",
    }
)


def reads_clock(reasons: Iterable[Reason]) -> bool:
    """True when the value of a query changes with the clock."""
    return any(reason.code == ReasonCode.TIME_FUNCTION for reason in reasons)


def stopped(sql: str, moment: datetime, zone: str = "UTC") -> str:
    """The Spark query with its calls of the clock replaced by a moment; nothing else is touched.

    ``zone`` is the session's: it says which day is today.

    >>> stopped("SELECT current_date() AS d, now( ) AS t", datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    "SELECT CAST(TIMESTAMP_LTZ '2026-01-02T03:04:00.000000Z' AS DATE) AS d, TIMESTAMP_LTZ '2026-01-02T03:04:00.000000Z' AS t"
    """
    return spliced(sql, _moments(sql, moment, zone))


def _moments(sql: str, moment: datetime, zone: str) -> Iterator[tuple[Span, str]]:
    """The places of the clock in a text, and what it shows there."""
    utc = moment.astimezone(UTC)
    instant = f"TIMESTAMP_LTZ '{utc.strftime('%Y-%m-%dT%H:%M:%S.%fZ')}'"
    tokens = tokens_of(sql, "spark")
    for index, token in enumerate(tokens):
        name = token.text.lower()
        if token.token_type is TokenType.STRING and names_clock(f"'{token.text}'"):
            if _is_time(tokens, index):
                yield Span(token.start, token.end + 1), _in_words(token.text, utc, zone)
            continue
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or name not in CLOCK_CALLS:
            continue
        if index and tokens[index - 1].token_type is TokenType.DOT:
            continue
        end = _end_of_call(tokens, index)
        if end is not None:
            yield Span(token.start, end), _shown(name, instant)


def _is_time(tokens: Sequence[Token], index: int) -> bool:
    """True for a string that is written as a time; another one may be just a text that says so."""
    before = [token.text.upper() for token in tokens[max(0, index - 2) : index]]
    behind = [token.text.upper() for token in tokens[index + 1 : index + 3]]
    if before and before[-1] in _TIME_TYPES:
        return True
    cast = before[-1:] == ["("] and before[0] in ("CAST", "TRY_CAST") and behind[:1] == ["AS"]
    return (cast or behind[:1] == ["::"]) and behind[-1] in _TIME_TYPES


def _end_of_call(tokens: Sequence[Token], index: int) -> int | None:
    """Where a call without arguments ends; some need no brackets; None for another thing."""
    following = [token.token_type for token in tokens[index + 1 : index + 3]]
    if following == [TokenType.L_PAREN, TokenType.R_PAREN]:
        return tokens[index + 2].end + 1
    bare = tokens[index].text.lower() in _BARE
    called = bool(following) and following[0] is TokenType.L_PAREN
    return tokens[index].end + 1 if bare and not called else None


def _shown(name: str, instant: str) -> str:
    if name in _DAYS:
        return f"CAST({instant} AS DATE)"
    if name in _WITHOUT_ZONE:
        return f"CAST({instant} AS TIMESTAMP_NTZ)"
    if name in _OF_DAY:
        return f"TO_TIME(DATE_FORMAT({instant}, 'HH:mm:ss.SSSSSS'))"
    if name == "unix_timestamp":
        return f"UNIX_TIMESTAMP({instant})"
    return instant


def _in_words(text: str, utc: datetime, zone: str) -> str:
    """The moment that a word such as `now` stands for, as a string that Spark reads alike."""
    word, *given = text.split()
    place = " ".join(given)
    local = utc.astimezone(_zone(place or zone))
    days = {"today": 0, "tomorrow": 1, "yesterday": -1}.get(word.lower())
    if days is None:
        said = local.strftime("%Y-%m-%d %H:%M:%S.%f")
    else:
        said = (local + timedelta(days=days)).strftime("%Y-%m-%d 00:00:00")
    return f"'{said} {place}'" if place else f"'{said}'"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        found = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?", name)
        if found is None:
            return UTC
        hours, minutes = int(found[2]), int(found[3] or 0)
        shift = timedelta(hours=hours, minutes=minutes)
        return timezone(-shift if found[1] == "-" else shift)
