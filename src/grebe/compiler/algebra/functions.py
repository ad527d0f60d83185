"""What every expression is: allowed or not, able to raise or not, an aggregate of which kind.

An allow-list. A function or expression that is not named here is refused by its name and place;
nothing is passed through in the hope that it behaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlglot import ErrorLevel, exp, parse_one
from sqlglot.errors import SqlglotError

from grebe.compiler.algebra.function_names import (
    ALLOWED,
    PLAIN_NAMES,
    RANDOM_CLASSES,
    RANDOM_NAMES,
    SESSION_CLASSES,
    SESSION_NAMES,
    TIME_CLASSES,
    TIME_NAMES,
    words,
)
from grebe.compiler.parser.clock_words import names_clock
from grebe.compiler.parser.dialect import READ
from grebe.compiler.parser.opaque import OpaqueLiteral
from grebe.compiler.reasons import ReasonCode


class AggregateKind(StrEnum):
    """How an aggregate's value follows from its rows."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COLLECTION = "ordered collection"
    STATISTIC = "statistic"
    PERCENTILE = "percentile"
    BOOL = "bool"
    BIT = "bit"
    BY = "by"
    APPROX = "approx"
    ANY = "any"


_AGGREGATE_CLASSES: Final[dict[str, AggregateKind]] = {
    "Count": AggregateKind.COUNT,
    "CountIf": AggregateKind.COUNT,
    "RegrCount": AggregateKind.COUNT,
    "Sum": AggregateKind.SUM,
    "Avg": AggregateKind.AVG,
    "Min": AggregateKind.MIN,
    "Max": AggregateKind.MAX,
    "ArrayAgg": AggregateKind.COLLECTION,
    "ArrayUniqueAgg": AggregateKind.COLLECTION,
    "GroupConcat": AggregateKind.COLLECTION,
    "LogicalAnd": AggregateKind.BOOL,
    "LogicalOr": AggregateKind.BOOL,
    "BoolxorAgg": AggregateKind.BOOL,
    "BitwiseAndAgg": AggregateKind.BIT,
    "BitwiseOrAgg": AggregateKind.BIT,
    "BitwiseXorAgg": AggregateKind.BIT,
    "ArgMax": AggregateKind.BY,
    "ArgMin": AggregateKind.BY,
    "AnyValue": AggregateKind.ANY,
    "First": AggregateKind.ANY,
    "Last": AggregateKind.ANY,
    "FirstValue": AggregateKind.ANY,
    "LastValue": AggregateKind.ANY,
    "Mode": AggregateKind.ANY,
    **dict.fromkeys(
        ("Median", "PercentileCont", "PercentileDisc", "Quantile"), AggregateKind.PERCENTILE
    ),
    **dict.fromkeys(
        ("Stddev", "StddevPop", "StddevSamp", "Variance", "VariancePop", "Corr", "CovarPop",
         "CovarSamp", "Skewness", "Kurtosis", "RegrAvgx", "RegrAvgy", "RegrIntercept", "RegrR2",
         "RegrSlope", "RegrSxx", "RegrSxy", "RegrSyy"),
        AggregateKind.STATISTIC,
    ),
    **dict.fromkeys(
        ("ApproxDistinct", "ApproxQuantile", "ApproxQuantiles", "ApproxTopK", "ApproxTopSum", "Hll"),
        AggregateKind.APPROX,
    ),
}  # fmt: skip

_AGGREGATE_NAMES: Final[dict[str, AggregateKind]] = {
    "count_if": AggregateKind.COUNT, "countif": AggregateKind.COUNT, "count_star": AggregateKind.COUNT,
    "fsum": AggregateKind.SUM, "sumkahan": AggregateKind.SUM, "kahan_sum": AggregateKind.SUM,
    "sum_no_overflow": AggregateKind.SUM, "try_sum": AggregateKind.SUM, "favg": AggregateKind.AVG,
    "try_avg": AggregateKind.AVG, "mean": AggregateKind.AVG, "product": AggregateKind.STATISTIC,
    "geomean": AggregateKind.STATISTIC, "geometric_mean": AggregateKind.STATISTIC,
    "entropy": AggregateKind.STATISTIC, "kurtosis": AggregateKind.STATISTIC,
    "kurtosis_pop": AggregateKind.STATISTIC, "skewness": AggregateKind.STATISTIC,
    "mad": AggregateKind.STATISTIC, "std": AggregateKind.STATISTIC, "sem": AggregateKind.STATISTIC,
    "collect_list": AggregateKind.COLLECTION, "collect_set": AggregateKind.COLLECTION,
    "list": AggregateKind.COLLECTION, "histogram": AggregateKind.COLLECTION,
    "every": AggregateKind.BOOL, "some": AggregateKind.BOOL, "any": AggregateKind.BOOL,
    "bool_and": AggregateKind.BOOL, "bool_or": AggregateKind.BOOL,
    "bit_and": AggregateKind.BIT, "bit_or": AggregateKind.BIT, "bit_xor": AggregateKind.BIT,
    "max_by": AggregateKind.BY, "min_by": AggregateKind.BY, "arg_max": AggregateKind.BY,
    "arg_min": AggregateKind.BY, "arg_max_null": AggregateKind.BY, "arg_min_null": AggregateKind.BY,
    "argmax": AggregateKind.BY, "argmin": AggregateKind.BY,
    "median": AggregateKind.PERCENTILE, "percentile": AggregateKind.PERCENTILE,
    "quantile": AggregateKind.PERCENTILE, "quantile_cont": AggregateKind.PERCENTILE,
    "quantile_disc": AggregateKind.PERCENTILE,
    "approx_percentile": AggregateKind.APPROX, "percentile_approx": AggregateKind.APPROX,
    "approx_top_k": AggregateKind.APPROX, "approx_quantile": AggregateKind.APPROX,
    "reservoir_quantile": AggregateKind.APPROX, "count_min_sketch": AggregateKind.APPROX,
    "hll_sketch_agg": AggregateKind.APPROX, "approx_count_distinct": AggregateKind.APPROX,
    "first": AggregateKind.ANY, "last": AggregateKind.ANY, "any_value": AggregateKind.ANY,
    "arbitrary": AggregateKind.ANY, "mode": AggregateKind.ANY,
}  # fmt: skip

_WRAPPERS: Final = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.ArraySort)


def aggregate_kind(tree: exp.Expr) -> AggregateKind | None:
    """The kind of an aggregate call, looking through FILTER, WITHIN GROUP and a sort of its array."""
    call = unwrapped(tree)
    if isinstance(call, exp.Anonymous):
        return _AGGREGATE_NAMES.get(call.name.lower())
    return _AGGREGATE_CLASSES.get(type(call).__name__)


def unwrapped(tree: exp.Expr) -> exp.Expr:
    """The call inside FILTER, WITHIN GROUP, IGNORE NULLS and a sort of its array."""
    call = tree
    while isinstance(call, _WRAPPERS) and isinstance(call.this, exp.Expr):
        call = call.this
    return call


def function_name(tree: exp.Expr) -> str:
    """How a user would call this function or expression."""
    if isinstance(tree, exp.Anonymous):
        return tree.name.lower()
    if isinstance(tree, exp.Func):
        names = tree.sql_names() if tree.sql_names() else [type(tree).__name__]
        return names[0].lower()
    return type(tree).__name__.lower()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one expression may not be in a view."""

    code: ReasonCode
    message: str


def refusal(tree: exp.Expr, dialect: str) -> Refusal | None:
    """Why this one expression is refused, or None; what is inside it is not looked at."""
    for cause in _KNOWN_TROUBLE:
        named = isinstance(tree, exp.Anonymous) and tree.name.lower() in cause.names
        if named or type(tree).__name__ in cause.classes:
            return Refusal(cause.code, f"{function_name(tree)}() {cause.trouble}")
    if _has_random_vector(tree):
        message = "aes_encrypt() without an initialization vector gives another value every time"
        return Refusal(ReasonCode.NON_DETERMINISTIC, message)
    if isinstance(tree, OpaqueLiteral) and names_clock(str(tree.this)):
        return Refusal(ReasonCode.TIME_FUNCTION, f"{tree.this} changes with the clock")
    if isinstance(tree, exp.Collate):
        return Refusal(ReasonCode.COLLATION, "a collation makes different texts equal")
    known = type(tree).__name__ in ALLOWED or aggregate_kind(tree) is not None
    if isinstance(tree, exp.Anonymous):
        known = known or tree.name.lower() in PLAIN_NAMES[dialect]
    if not known:
        return _unknown(tree)
    if survives(tree, dialect):
        return None
    name = function_name(tree)
    return Refusal(ReasonCode.UNSUPPORTED_EXPRESSION, f'"{name}" cannot be written back exactly')


def _has_random_vector(tree: exp.Expr) -> bool:
    """True for an encryption that begins with random bytes."""
    if not isinstance(tree, exp.Anonymous) or tree.name.lower() != "aes_encrypt":
        return False
    given = tree.expressions
    mode = given[2].name.upper() if len(given) > 2 and isinstance(given[2], exp.Literal) else "GCM"
    return mode != "ECB" and len(given) < 5


def survives(tree: exp.Expr, dialect: str) -> bool:
    """True when the expression's text in the dialect means the expression again.

    The parser translates some functions to a near relative of another dialect and back; a text
    that no longer says the same must not be run.
    """
    kind = type(tree).__name__
    if kind in _LOSSY[dialect]:
        return False
    proven = kind in _PROVEN or kind in _PROVEN_IN[dialect]
    if proven or not isinstance(tree, (exp.Func, exp.WithinGroup)):
        return not isinstance(tree, exp.Cast) or _type_survives(tree.to, dialect)
    text = tree.sql(dialect, comments=False, unsupported_level=ErrorLevel.IGNORE)
    try:
        again = parse_one(text, dialect=READ[dialect])
    except SqlglotError:
        return False
    if again == tree:
        return True
    same = type(again) is type(tree) and again.sql(dialect) == text
    return same and _leaves(again) == _leaves(tree)


def _type_survives(kind: exp.DataType, dialect: str) -> bool:
    if kind.this in _PROVEN_TYPES and not kind.args.get("nested"):
        return True
    text = kind.sql(dialect)
    try:
        again = exp.DataType.build(text, dialect=dialect)
    except SqlglotError:
        return False
    return again.sql(dialect) == text and again.this == kind.this


def _leaves(tree: exp.Expr) -> int:
    leaves = (exp.Column, exp.Literal, exp.RawString)
    return sum(1 for node in tree.walk() if isinstance(node, leaves))


def _unknown(tree: exp.Expr) -> Refusal:
    name = function_name(tree)
    if isinstance(tree, exp.AggFunc):
        return Refusal(ReasonCode.UNSUPPORTED_AGGREGATE, f'aggregate "{name}" has no rule')
    if isinstance(tree, exp.Func):
        return Refusal(ReasonCode.UNKNOWN_FUNCTION, f'function "{name}" is not known')
    return Refusal(ReasonCode.UNSUPPORTED_EXPRESSION, f'expression "{name}" has no rule')


_PROVEN: Final = words("""
    And Or Not Xor Case If Coalesce Nullif Cast TryCast Exists Anonymous Count Sum Avg Min Max
    Upper Lower Trim Substring Concat Abs Round Floor Ceil Sqrt Year Month Day RowNumber Rank
    DenseRank Lag Lead FirstValue LastValue Stddev StddevSamp Array Struct Interval Greatest Least
""")
"""Functions whose text is known to come back unchanged: checking them would only cost time."""

_PROVEN_IN: Final = {
    "spark": words("GroupConcat Space TimeStrToTime TsOrDsToDate UnixDate"),
    "duckdb": words("DateAdd GroupConcat PercentileCont PercentileDisc WithinGroup"),
}
"""Functions that come back in other words which mean the same; shown by running both."""

_LOSSY: Final = {"spark": words(""), "duckdb": words("Decode")}
"""Functions of which the parser itself loses a part."""

_PROVEN_TYPES: Final = frozenset(
    exp.DataType.build(name).this
    for name in ("INT", "BIGINT", "SMALLINT", "TINYINT", "VARCHAR", "TEXT", "DOUBLE", "BOOLEAN",
                 "DATE", "TIMESTAMP", "DECIMAL")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Functions that are refused for one and the same cause."""

    code: ReasonCode
    trouble: str
    classes: frozenset[str]
    names: frozenset[str]


_KNOWN_TROUBLE: Final = (
    _Trouble(
        ReasonCode.NON_DETERMINISTIC,
        "gives another value every time",
        RANDOM_CLASSES,
        RANDOM_NAMES,
    ),
    _Trouble(ReasonCode.SESSION_FUNCTION, "depends on the session", SESSION_CLASSES, SESSION_NAMES),
    _Trouble(ReasonCode.TIME_FUNCTION, "changes with the clock", TIME_CLASSES, TIME_NAMES),
)


_TOTAL: Final = words("""
    Alias And Or Not Xor Paren Column Identifier Literal OpaqueLiteral Boolean Null Var DataType DataTypeParam
    EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is Between In Like ILike Case If Coalesce Nullif
    Nvl2 Nanvl IsNan IsInf IsNullValue EqualNull Greatest Least TryCast Try Lower Upper Trim Concat
    ConcatWs DPipe Length ByteLength BitLength StartsWith EndsWith Contains Reverse Initcap Ascii
    Left Right Substring Replace Translate StrPosition Pad Repeat Tuple Star Struct PropertyEQ Array
    Dot StructExtract ArraySort Year Month Day Quarter DayOfMonth DayOfWeek DayOfYear WeekOfYear
    DateTrunc TimestampTrunc Extract Interval IntervalSpan MD5 SHA SHA2 Soundex Hex Typeof
    Ceil Floor Sign Sqrt Cbrt Sin Cos Tan Asin Acos Atan Atan2 Degrees Radians Exp Ln
    SafeDivide SafeAdd SafeMultiply SafeSubtract ArraySize ArrayContains ArrayDistinct MapKeys
    ArrayMax ArrayMin ArrayToString JSONExtractScalar LastDay Distinct Ordered Order Filter Where
    Window WindowSpec Count CountIf Min Max LogicalAnd LogicalOr BitwiseAndAgg BitwiseOrAgg
    BitwiseXorAgg ArrayAgg GroupConcat ArgMax ArgMin RowNumber Rank DenseRank CumeDist PercentRank
    Lag Lead FirstValue LastValue First Last AnyValue BitwiseAnd BitwiseOr BitwiseXor BitwiseNot
""")


def is_total(tree: exp.Expr) -> bool:
    """True when the outermost operation raises on no input; unknown ones are taken to raise."""
    return type(tree).__name__ in _TOTAL or _is_typed_null(tree)


def _is_typed_null(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Null)


def empty_value(call: exp.Expr, dialect: str) -> exp.Expr:
    """What an aggregate gives when there is no row at all."""
    inner = unwrapped(call)
    if isinstance(inner, exp.ApproxDistinct) or aggregate_kind(call) is AggregateKind.COUNT:
        return exp.Literal.number(0)
    collects = isinstance(inner, (exp.ArrayAgg, exp.ArrayUniqueAgg)) or (
        isinstance(inner, exp.Anonymous) and inner.name.lower() in ("collect_list", "collect_set")
    )
    if collects and dialect == "spark":
        return exp.Array(expressions=[])
    return exp.null()


def aggregates_in(tree: exp.Expr) -> Iterable[exp.Expr]:
    """The aggregate calls of this level: not those inside subqueries or behind OVER."""
    if isinstance(tree, exp.Query):
        return
    if isinstance(tree, exp.Window):
        children: list[exp.Expr] = []
        function = unwrapped(tree.this)
        children.extend(function.iter_expressions())
        children.extend(c for c in tree.iter_expressions() if c is not tree.this)
        for child in children:
            yield from aggregates_in(child)
        return
    if aggregate_kind(tree) is not None or isinstance(tree, (exp.Grouping, exp.GroupingId)):
        yield tree
        return
    for child in tree.iter_expressions():
        yield from aggregates_in(child)
