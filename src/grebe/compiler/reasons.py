"""Why a query cannot be maintained: stable codes, what they mean, and how the old spelling was.

A reason is reported with its place in the text. Most of them leave the choice to the policy (the
view is then recomputed); some are always refused, because not even a recomputation is faithful.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


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
    OUTER_AGGREGATE_IN_SUBQUERY = "outer-aggregate-in-subquery"
    SUBQUERY_IN_OUTER_JOIN = "subquery-in-outer-join"
    COLLATION = "collation"
    DYNAMIC_PIVOT = "dynamic-pivot"
    JOIN_KIND = "join-kind"
    TYPE_WITHOUT_EQUALITY = "type-without-equality"
    TRANSLATION_DIFFERS = "translation-differs"


@dataclass(frozen=True, slots=True)
class Description:
    """What a code means, the feature code of `UnsupportedSQLError`, and whether it always stops."""

    text: str
    feature: str
    instead: str
    always_refused: bool = False


DESCRIPTIONS: Final[dict[ReasonCode, Description]] = {
    ReasonCode.UNKNOWN_FUNCTION: Description(
        "The function is not on the list of functions known to be deterministic, or is a user"
        " defined one.",
        "function",
        "compute the value in a source table, or spell it with functions that are listed",
    ),
    ReasonCode.UNSUPPORTED_EXPRESSION: Description(
        "The expression is understood by the parser, but no rule says how it behaves.",
        "expression",
        "rewrite it with CASE, casts and listed functions",
    ),
    ReasonCode.UNSUPPORTED_CLAUSE: Description(
        "The clause changes what the query means in a way that no rule covers.",
        "clause",
        "leave the clause out, or put it into the query that reads the view",
    ),
    ReasonCode.TABLE_FUNCTION: Description(
        "A function in FROM gives rows that no source version can be named for.",
        "table_function",
        "store the rows in a table, or write them as VALUES",
    ),
    ReasonCode.TIME_FUNCTION: Description(
        "The value changes with the clock, so rows change although no source did.",
        "non_deterministic",
        "filter by time in the query that reads the view, or set the policy to full",
    ),
    ReasonCode.SESSION_FUNCTION: Description(
        "The value depends on who runs the refresh, or on the session's settings.",
        "non_deterministic",
        "write the value as a literal",
        always_refused=True,
    ),
    ReasonCode.NON_DETERMINISTIC: Description(
        "The value is another one at every evaluation.",
        "non_deterministic",
        "derive the value from columns, for example with a hash of the key",
        always_refused=True,
    ),
    ReasonCode.RECURSIVE_CTE: Description(
        "A recursive common table expression has no delta rule.",
        "recursive_cte",
        "unroll a known number of steps, or allow full refreshes",
    ),
    ReasonCode.LIMIT_WITHOUT_ORDER: Description(
        "Which rows a LIMIT keeps is not determined without ORDER BY.",
        "limit",
        "add ORDER BY",
    ),
    ReasonCode.LIMIT_NOT_CONSTANT: Description(
        "LIMIT and OFFSET must be whole numbers written in the text; a percentage or an"
        " expression is none.",
        "limit",
        "write a number",
    ),
    ReasonCode.LIMIT_WITH_TIES: Description(
        "FETCH … WITH TIES keeps a number of rows that depends on the values.",
        "limit",
        "filter by RANK() with QUALIFY",
    ),
    ReasonCode.WINDOW_WITHOUT_PARTITION: Description(
        "Without PARTITION BY one changed row can move every row.",
        "window_function",
        "add PARTITION BY, or allow full refreshes",
    ),
    ReasonCode.ORDER_DEPENDENT_VALUE: Description(
        "A value that depends on the order in which rows are added up, such as a sum of floats,"
        " decides which rows are equal or belong together, or has no key to be found again by.",
        "order_dependent",
        "make the inner query a view of its own, or sum decimals instead of floats",
    ),
    ReasonCode.ORDER_DEPENDENT_WINDOW: Description(
        "Rows that are equal in ORDER BY share a RANGE frame, and the function picks one of them.",
        "window_function",
        "order by a unique key, or use a ROWS frame that starts with UNBOUNDED PRECEDING",
    ),
    ReasonCode.ORDER_DEPENDENT_AGGREGATE: Description(
        "The result depends on the order in which rows are read.",
        "aggregate",
        "use MIN, MAX or MAX_BY, or give an ORDER BY inside the call",
    ),
    ReasonCode.APPROXIMATE_AGGREGATE: Description(
        "An approximate result is not a function of the rows alone.",
        "aggregate",
        "use the exact aggregate",
    ),
    ReasonCode.UNSUPPORTED_AGGREGATE: Description(
        "The aggregate is not on the list of known ones.",
        "aggregate",
        "use a listed aggregate",
    ),
    ReasonCode.CORRELATED_SUBQUERY: Description(
        "The subquery reads the outer row in a way that cannot be turned into a join.",
        "correlated_subquery",
        "write it as a join",
    ),
    ReasonCode.OUTER_AGGREGATE_IN_SUBQUERY: Description(
        "An aggregate of the outer query is used inside a subquery.",
        "correlated_subquery",
        "aggregate in a subquery of its own and refer to its column",
    ),
    ReasonCode.SUBQUERY_IN_OUTER_JOIN: Description(
        "A subquery in the ON of an outer join reads columns of both sides.",
        "correlated_subquery",
        "compute the subquery's value on one side before the join",
    ),
    ReasonCode.COLLATION: Description(
        "Under a collation other than the binary one, equal values can be different texts.",
        "collation",
        "compare LOWER(…) of the columns instead",
    ),
    ReasonCode.DYNAMIC_PIVOT: Description(
        "The columns of the result depend on the data.",
        "pivot",
        "list the values: PIVOT (… FOR column IN (value, …))",
    ),
    ReasonCode.JOIN_KIND: Description(
        "The kind of join depends on the position of rows, or has no rule.",
        "join",
        "write the join with an ON condition",
    ),
    ReasonCode.TYPE_WITHOUT_EQUALITY: Description(
        "A column has a type whose values Spark cannot compare (a map or a variant), so a stored row"
        " cannot be found again by its values.",
        "type",
        "store the map as ARRAY_SORT(MAP_ENTRIES(…)), or the single values that are needed",
    ),
    ReasonCode.TRANSLATION_DIFFERS: Description(
        "The algebra's own words for a part of the query do not mean to the engine what the user"
        " wrote, so the user's text itself is run, in full.",
        "translation",
        "write the part in another way, or allow full refreshes",
    ),
}


def feature_of(code: ReasonCode, name: str | None = None) -> str:
    """The feature code of a reason; aggregates carry their name, as in ``aggregate:mode``."""
    feature = DESCRIPTIONS[code].feature
    return f"{feature}:{name.lower()}" if feature == "aggregate" and name else feature


def always_refused(code: str) -> bool:
    """True when not even a full refresh gives a faithful result."""
    return code in set(ReasonCode) and DESCRIPTIONS[ReasonCode(code)].always_refused


def reference() -> str:
    """The documentation of all codes as Markdown: `docs/reference/reasons.md` is this text."""
    lines = [
        "# Reasons",
        "",
        "Why a view's query is not maintained incrementally. Every reason is reported with its place",
        "in the query; all reasons of one query are reported, not only the first. Under the policy",
        "`auto` such a view is recomputed in full, under `strict` and `incremental` it is refused.",
        "The reasons marked *always refused* stop every policy: not even a recomputation would give",
        "a result that can be relied on.",
        "",
        "`feature` is the code of `UnsupportedSQLError.feature`; `aggregate:<name>` carries the name",
        "of the aggregate.",
        "",
        "| code | feature | always refused |",
        "|---|---|---|",
    ]
    for code, item in DESCRIPTIONS.items():
        refused = "yes" if item.always_refused else ""
        lines.append(f"| [`{code.value}`](#{code.value}) | `{_feature_text(item)}` | {refused} |")
    for code, item in DESCRIPTIONS.items():
        lines += ["", f"## {code.value}", "", item.text, "", f"Instead: {item.instead}."]
    return "\n".join(lines) + "\n"


def _feature_text(item: Description) -> str:
    return "aggregate:<name>" if item.feature == "aggregate" else item.feature
