"""Why a query cannot be maintained: the names of the codes, whose texts are in `grebe.codes`.

A reason is reported with its place in the text. Most of them leave the choice to the policy (the
view is then recomputed); some are always refused, because not even a recomputation is faithful.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from grebe.codes import QUERY_REASONS


class ReasonCode(StrEnum):
    """A coded cause, kebab-case; `DESCRIPTIONS` says what each one means."""

    UNKNOWN_FUNCTION = "unknown-function"
    UNSUPPORTED_EXPRESSION = "unsupported-expression"
    UNSUPPORTED_CLAUSE = "unsupported-clause"
    TABLE_FUNCTION = "table-function"
    TIME_FUNCTION = "time-function"
    SESSION_FUNCTION = "session-function"
    NON_DETERMINISTIC = "non-deterministic"
    RECURSIVE_CTE = "recursive-cte"
    LIMIT_WITHOUT_ORDER = "limit-without-order"
    LIMIT_NOT_CONSTANT = "limit-not-constant"
    LIMIT_WITH_TIES = "limit-with-ties"
    WINDOW_WITHOUT_PARTITION = "window-without-partition"
    ORDER_DEPENDENT_VALUE = "order-dependent-value"
    ORDER_DEPENDENT_WINDOW = "order-dependent-window"
    ORDER_DEPENDENT_AGGREGATE = "order-dependent-aggregate"
    APPROXIMATE_AGGREGATE = "approximate-aggregate"
    UNSUPPORTED_AGGREGATE = "unsupported-aggregate"
    CORRELATED_SUBQUERY = "correlated-subquery"
    SUBQUERY_IN_OUTER_JOIN = "subquery-in-outer-join"
    COLLATION = "collation"
    DYNAMIC_PIVOT = "dynamic-pivot"
    JOIN_KIND = "join-kind"
    TYPE_WITHOUT_EQUALITY = "type-without-equality"
    TRANSLATION_DIFFERS = "translation-differs"
    TOO_LARGE = "too-large"


DESCRIPTIONS: Final = {ReasonCode(name): found for name, found in QUERY_REASONS.items()}


def feature_of(code: ReasonCode, name: str | None = None) -> str:
    """The feature code of a reason; aggregates carry their name, as in ``aggregate:mode``."""
    feature = DESCRIPTIONS[code].feature
    return f"{feature}:{name.lower()}" if feature == "aggregate" and name else feature


def always_refused(code: str) -> bool:
    """True when not even a full refresh gives a faithful result."""
    return code in set(ReasonCode) and DESCRIPTIONS[ReasonCode(code)].always_refused
