"""A query that reads the clock, with the clock stopped at one moment.

Under the policy `full` such a view is computed as of the start of its run. The moment is kept
with the frontier, so that `verify` can compute the same rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

import sqlglot
from sqlglot import exp

from grebe.compiler.function_names import TIME_CLASSES, TIME_NAMES
from grebe.compiler.reasons import ReasonCode
from grebe.model import Reason

CLOCK: Final = "clock"
"""Where a frontier keeps the moment."""
_DAYS: Final = ("currentdate", "current_date", "curdate")
_WITHOUT_ZONE: Final = ("localtimestamp",)
_OF_DAY: Final = ("currenttime", "current_time", "localtime")


def reads_clock(reasons: Iterable[Reason]) -> bool:
    """True when the value of a query changes with the clock."""
    return any(reason.code == ReasonCode.TIME_FUNCTION for reason in reasons)


def stopped(sql: str, moment: datetime) -> str:
    """The Spark query with its calls of the clock replaced by a moment.

    >>> stopped("SELECT current_date() AS d, now() AS t", datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    "SELECT CAST(CAST('2026-01-02T03:04:00.000000Z' AS TIMESTAMP_LTZ) AS DATE) AS d, CAST('2026-01-02T03:04:00.000000Z' AS TIMESTAMP_LTZ) AS t"
    """
    tree = sqlglot.parse_one(sql, read="spark").transform(_replaced(moment))
    return tree.sql("spark", comments=False)


def _replaced(moment: datetime) -> Callable[[exp.Expr], exp.Expr]:
    text = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    instant = exp.cast(exp.Literal.string(text), exp.DataType.build("TIMESTAMPLTZ", "spark"))

    def replace(node: exp.Expr) -> exp.Expr:
        name = _call(node)
        if name is None:
            return node
        if name in _DAYS:
            return exp.cast(instant.copy(), "DATE")
        if name in _WITHOUT_ZONE:
            return exp.cast(instant.copy(), exp.DataType.build("TIMESTAMP_NTZ", "spark"))
        if name in _OF_DAY:
            parts = [instant.copy(), exp.Literal.string("HH:mm:ss.SSSSSS")]
            shown = exp.Anonymous(this="DATE_FORMAT", expressions=parts)
            return exp.Anonymous(this="TO_TIME", expressions=[shown])
        return instant.copy()

    return replace


def _call(node: exp.Expr) -> str | None:
    if type(node).__name__ in TIME_CLASSES:
        return type(node).__name__.lower()
    if isinstance(node, exp.Anonymous) and node.name.lower() in TIME_NAMES:
        return node.name.lower()
    return None
