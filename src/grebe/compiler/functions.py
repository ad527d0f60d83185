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

from grebe.compiler.reasons import ReasonCode


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STRUCTURE: Final = _words("""
    Array Between BitString Boolean Bracket ByteString Case Cast Column DataType DataTypeParam
    Distinct Dot Escape Filter HexString Identifier If In Interval IntervalSpan Lambda Literal
    Null Order Ordered Paren PropertyEQ RawString Slice Star Struct StructExtract TryCast Tuple
    UnicodeString Var WindowSpec Window WithinGroup IgnoreNulls RespectNulls Where Is Not
    National Any All ColumnDef HavingMax Having Extract
""")

_OPERATORS: Final = _words("""
    Add And BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor DPipe Div
    EQ GT GTE Glob ILike IntDiv LT LTE Like Mod Mul NEQ Neg NullSafeEQ NullSafeNEQ Or Overlaps
    SimilarTo Sub Xor ArrayContainsAll ArrayContainedBy ArrayOverlaps RegexpILike
""")

_CONDITIONAL: Final = _words("""
    Coalesce EqualNull Greatest IsInf IsNan IsNullValue Least Nanvl Nullif Nvl2 DecodeCase
    Try Typeof IsArray Booland Boolnot Boolor
""")

_STRINGS: Final = _words("""
    Ascii Base64DecodeBinary Base64DecodeString Base64Encode BitLength ByteLength Chr Concat ConcatWs
    Contains Decode Elt Encode EndsWith FromBase FromBase64 Hex HexDecodeString Initcap IsAscii
    JarowinklerSimilarity Left Length Levenshtein Lower LowerHex Normalize NumberToStr Overlay Pad
    ParseUrl Host RegexpCount RegexpExtract RegexpExtractAll RegexpFullMatch RegexpInstr RegexpLike
    RegexpReplace RegexpSplit RegexpSubstr Repeat Replace Reverse Right RtrimmedLength Soundex
    Space Split SplitPart StartsWith StrPosition String StringToArray Strtok Stuff Substring
    SubstringIndex ToBase64 ToBinary ToChar Translate Trim Unhex Unicode Upper
    CodePointsToString ToCodePoints CityHash64 FarmFingerprint MD5 MD5Digest MD5NumberLower64
    MD5NumberUpper64 SHA SHA1Digest SHA2 SHA2Digest Format
""")

_NUMBERS: Final = _words("""
    Abs Acos Acosh Asin Asinh Atan Atan2 Atanh BitwiseCount Cbrt Ceil Cos Cosh Cot Coth Csc Csch
    Degrees Exp Factorial Floor Getbit Ln Log Negative Pi Pow Radians RangeBucket Rint Round SafeAdd
    SafeDivide SafeMultiply SafeNegate SafeSubtract Sec Sech Sign Sin Sinh Sqrt Tan Tanh ToDouble
    ToNumber Trunc WidthBucket ToBoolean CosineDistance DotProduct EuclideanDistance
    ManhattanDistance
""")

_TIMES: Final = _words("""
    AddMonths ConvertTimezone Date DateAdd DateBin DateDiff DateFromParts DateFromUnixDate
    DateStrToDate DateSub DateToDateStr DateToDi DateTrunc Datetime DatetimeAdd DatetimeDiff
    DatetimeSub DatetimeTrunc Day DayOfMonth DayOfWeek DayOfWeekIso DayOfYear Dayname DiToDate
    FromISO8601Date FromISO8601Timestamp Hour JustifyDays JustifyHours JustifyInterval LastDay
    MakeInterval Minute Month Monthname MonthsBetween NextDay ParseDatetime ParseTime PreviousDay
    Quarter Second StrToDate StrToTime StrToUnix Time TimeAdd TimeDiff TimeFromParts TimeSlice
    TimeStrToDate TimeStrToTime TimeStrToUnix TimeSub TimeToStr TimeToTimeStr TimeToUnix TimeTrunc
    Timestamp TimestampAdd TimestampDiff TimestampFromParts TimestampLtzFromParts TimestampSub
    TimestampTrunc TimestampTzFromParts ToDays TsOrDiToDi TsOrDsAdd TsOrDsDiff TsOrDsToDate
    TsOrDsToDateStr TsOrDsToDatetime TsOrDsToTime TsOrDsToTimestamp UnixDate UnixMicros UnixMillis
    UnixSeconds UnixToStr UnixToTime UnixToTimeStr Week WeekOfYear WeekStart Year YearOfWeek
    YearOfWeekIso AtTimeZone FromTimeZone
""")

_NESTED: Final = _words("""
    ArrayAll ArrayAny ArrayAppend ArrayCompact ArrayConcat ArrayConstructCompact ArrayContains
    ArrayDistinct ArrayExcept ArrayFilter ArrayFirst ArrayInsert ArrayIntersect ArrayLast ArrayMax
    ArrayMin ArrayPosition ArrayPrepend ArrayRemove ArrayRemoveAt ArrayReverse ArraySize ArraySlice
    ArraySort ArraySum ArrayToString ArraysZip Flatten GenerateSeries GenerateDateArray
    GenerateTimestampArray Map MapCat MapContainsKey MapDelete MapFromEntries MapInsert MapKeys
    MapPick MapSize Reduce SortArray StarMap StrToMap ToArray ToMap Transform VarMap
    FromJson GetExtract JSONArray JSONArrayContains JSONBExtract JSONBExtractScalar JSONExists
    JSONExtract JSONExtractArray JSONExtractScalar JSONFormat JSONKeys JSONObject JSONType
    JSONValueArray ParseJSON JSONPath JSONPathRoot JSONPathKey JSONPathSubscript JSONPathWildcard
    JSONPathSlice JSONPathRecursive JSONPathUnion JSONPathSelector JSONPathScript JSONPathFilter
    JSONKeyValue JSONCast Exists CheckJson JSONBool
""")

_RANKING: Final = _words("""
    RowNumber Rank DenseRank CumeDist PercentRank Ntile Lag Lead FirstValue LastValue NthValue
""")

_GROUPING: Final = _words("Grouping GroupingId")

_ALLOWED: Final = (
    _STRUCTURE | _OPERATORS | _CONDITIONAL | _STRINGS | _NUMBERS | _TIMES | _NESTED | _RANKING
    | _GROUPING
)  # fmt: skip

_TIME_CLASSES: Final = _words("""
    CurrentDate CurrentDatetime CurrentTime CurrentTimestamp CurrentTimestampLTZ Localtime
    Localtimestamp Systimestamp UtcDate UtcTime UtcTimestamp
""")
_RANDOM_CLASSES: Final = _words("""
    Rand Randn Randstr Uuid Uniform Normal Zipf Shuffle Seq1 Seq2 Seq4 Seq8 NextValueFor Generator
""")
_SESSION_CLASSES: Final = _words("""
    CurrentAccount CurrentAccountName CurrentAvailableRoles CurrentCatalog CurrentClient
    CurrentDatabase CurrentIpAddress CurrentOrganizationName CurrentOrganizationUser CurrentRegion
    CurrentRole CurrentRoleType CurrentSchema CurrentSchemas CurrentSecondaryRoles CurrentSession
    CurrentStatement CurrentTimezone CurrentTransaction CurrentUser CurrentUserId CurrentVersion
    CurrentWarehouse SessionUser SessionParameter Pseudocolumn
""")

_TIME_NAMES: Final = _words("""
    now current_date current_timestamp current_time localtime localtimestamp curdate get_current_time
    get_current_timestamp today transaction_timestamp current_localtime
    current_localtimestamp getdate sysdate
""")
_RANDOM_NAMES: Final = _words("""
    rand randn random uuid gen_random_uuid uuidv4 uuidv7 monotonically_increasing_id
    spark_partition_id shuffle randstr uniform setseed nextval currval input_file_name
    input_file_block_start input_file_block_length
""")
_SESSION_NAMES: Final = _words("""
    current_user user session_user current_catalog current_database current_schema current_schemas
    current_setting getvariable current_timezone version txid_current
    current_query current_role getenv
""")

_PLAIN_NAMES: Final[dict[str, frozenset[str]]] = {
    "spark": _words("""
        array_append array_compact array_contains array_distinct array_except array_insert
        array_intersect array_join array_max array_min array_position array_prepend array_remove
        array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii assert_true
        base64 bin bit_count bit_get bit_length bitmap_bit_position bitmap_bucket_number btrim
        bround cardinality cbrt char char_length character_length chr concat_ws conv cot crc32 csc
        date_from_unix_date date_part datepart dateadd datediff day dayname dayofmonth dayofweek
        dayofyear decode degrees e element_at elt encode endswith equal_null exists
        expm1 extract factorial filter find_in_set flatten forall format_number format_string
        from_csv from_json from_unixtime from_utc_timestamp get get_json_object getbit
        greatest hash hex hour hypot ifnull ilike initcap instr is_valid_utf8 isnan isnotnull isnull json_array_length json_object_keys lcase left len length
        levenshtein locate log10 log1p log2 lpad luhn_check make_date make_dt_interval make_interval
        make_timestamp make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval
        map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys
        map_values map_zip_with mask md5 minute mod monthname months_between named_struct nanvl
        negative next_day nullif nullifzero nvl nvl2 octet_length overlay parse_json parse_url
        pmod positive pow power printf quarter quote radians regexp_count regexp_extract
        regexp_extract_all regexp_instr regexp_replace regexp_substr repeat replace reverse right
        rint rpad sec second sentences sequence sha sha1 sha2 shiftleft shiftright
        shiftrightunsigned sign signum slice sort_array space split_part sqrt startswith str_to_map
        struct substr substring_index timestamp_micros timestamp_millis timestamp_seconds
        to_binary to_char to_csv to_date to_json to_number to_timestamp to_timestamp_ltz
        to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar to_variant_object transform
        transform_keys transform_values translate trunc try_add try_aes_decrypt
        try_divide try_element_at try_mod try_multiply try_parse_json try_parse_url try_subtract
        try_to_binary try_to_date try_to_number try_to_timestamp try_url_decode try_variant_get
        typeof ucase unbase64 unhex unix_date unix_micros unix_millis unix_seconds url_decode
        url_encode validate_utf8 variant_get weekday weekofyear width_bucket xpath xpath_boolean
        xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
        xxhash64 year zeroifnull zip_with is_variant_null schema_of_json try_make_timestamp
        try_make_interval isnumeric bool boolean int bigint double float string
        date timestamp decimal tinyint smallint binary to_timestamp_tz raise_error nchar
    """),
    "duckdb": _words("""
        add alias array_aggr array_aggregate array_append array_apply
        array_cosine_distance array_cosine_similarity array_cross_product array_dot_product
        array_grade_up array_inner_product array_reduce array_select cardinality
        damerau_levenshtein date_sub format_bytes from_binary make_timestamp_ms make_timestamp_ns
        struct_contains struct_has struct_indexof struct_keys struct_position struct_values array_cat array_concat array_contains array_distance array_extract
        array_has array_has_all array_has_any array_indexof array_length array_pop_back
        array_pop_front array_position array_prepend array_push_back array_push_front array_resize
        array_reverse array_slice array_to_string array_transform array_unique array_value
        array_where array_zip ascii bar base64 bin bit_count bit_length bit_position bitstring
        bool century chr concat concat_ws constant_or_null contains cot dayname dayofmonth dayofweek
        dayofyear datepart date_part datediff datesub datetrunc decade decode divide element_at
        encode ends_with enum_code enum_first enum_last enum_range epoch epoch_ms epoch_ns epoch_us
        equi_width_bins era error even factorial filter fdiv fmod flatten format formatreadablesize
        from_base64 gamma gcd generate_series get_bit grade_up greatest_common_divisor hamming hash
        hex ilike_escape instr isfinite isinf isnan isodow isoyear jaccard jaro_similarity
        jaro_winkler_similarity json json_array json_array_length json_contains json_exists
        json_extract json_extract_path json_extract_path_text json_extract_string json_keys
        json_merge_patch json_object json_pretty json_quote json_structure json_transform
        json_transform_strict json_type json_valid json_value julian last_day lcase lcm
        least_common_multiple left left_grapheme len length length_grapheme lgamma like_escape list
        list_aggregate list_any_value list_append list_apply list_avg list_cat list_concat
        list_contains list_cosine_similarity list_count list_distance list_distinct list_dot_product
        list_element list_extract list_filter list_first list_grade_up list_has list_has_all
        list_has_any list_indexof list_inner_product list_intersect list_last list_max list_min
        list_pack list_position list_prepend list_reduce list_resize list_reverse list_reverse_sort
        list_select list_slice list_sort list_sum list_transform list_unique list_value list_where
        list_zip log10 log2 lpad ltrim make_date make_time make_timestamp make_timestamptz map
        map_concat map_contains map_entries map_extract map_extract_value map_from_entries map_keys
        map_values md5 md5_number microsecond millennium millisecond mismatches mod multiply nanosecond
        nextafter nfc_normalize not_ilike_escape not_like_escape nullif octet_length ord parse_dirname
        parse_dirpath parse_filename parse_path position pow power prefix printf quarter range
        radians regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches
        regexp_replace regexp_split_to_array repeat replace reverse right right_grapheme
        row_to_json rpad rtrim set_bit sha1 sha256 sign signbit split split_part starts_with str_split
        str_split_regex strftime string_split string_split_regex string_to_array strip_accents strlen
        strpos strptime struct_concat struct_extract struct_extract_at struct_insert struct_pack
        struct_update substr substring substring_grapheme subtract suffix time_bucket timetz_byte_comparable
        timezone timezone_hour timezone_minute to_base to_base64 to_binary to_centuries to_days
        to_decades to_hex to_hours to_json to_microseconds to_millennia to_milliseconds to_minutes
        to_months to_quarters to_seconds to_timestamp to_weeks to_years translate trim trunc
        try_strptime typeof ucase unbin unhex unicode union_extract union_tag union_value unpivot_list
        url_decode url_encode vector_type weekday weekofyear xor yearweek year month day hour minute
        second isnull nvl ifnull least greatest row struct apply list_inner_distance
    """),
}


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
    for known in _KNOWN_TROUBLE:
        named = isinstance(tree, exp.Anonymous) and tree.name.lower() in known.names
        if named or type(tree).__name__ in known.classes:
            return Refusal(known.code, f"{function_name(tree)}() {known.trouble}")
    if isinstance(tree, exp.Collate):
        return Refusal(ReasonCode.COLLATION, "a collation makes different texts equal")
    known = type(tree).__name__ in _ALLOWED or aggregate_kind(tree) is not None
    if isinstance(tree, exp.Anonymous):
        known = known or tree.name.lower() in _PLAIN_NAMES[dialect]
    if not known:
        return _unknown(tree)
    if survives(tree, dialect):
        return None
    name = function_name(tree)
    return Refusal(ReasonCode.UNSUPPORTED_EXPRESSION, f'"{name}" cannot be written back exactly')


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
        again = parse_one(text, dialect=dialect)
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


_PROVEN: Final = _words("""
    And Or Not Xor Case If Coalesce Nullif Cast TryCast Exists Anonymous Count Sum Avg Min Max
    Upper Lower Trim Substring Concat Abs Round Floor Ceil Sqrt Year Month Day RowNumber Rank
    DenseRank Lag Lead FirstValue LastValue Stddev StddevSamp Array Struct Interval Greatest Least
""")
"""Functions whose text is known to come back unchanged: checking them would only cost time."""

_PROVEN_IN: Final = {
    "spark": _words("GroupConcat Space TimeStrToTime TsOrDsToDate UnixDate"),
    "duckdb": _words("DateAdd GroupConcat PercentileCont PercentileDisc WithinGroup"),
}
"""Functions that come back in other words which mean the same; shown by running both."""

_LOSSY: Final = {"spark": _words(""), "duckdb": _words("Decode")}
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
        _RANDOM_CLASSES,
        _RANDOM_NAMES,
    ),
    _Trouble(
        ReasonCode.SESSION_FUNCTION, "depends on the session", _SESSION_CLASSES, _SESSION_NAMES
    ),
    _Trouble(ReasonCode.TIME_FUNCTION, "changes with the clock", _TIME_CLASSES, _TIME_NAMES),
)


_TOTAL: Final = _words("""
    Alias And Or Not Xor Paren Column Identifier Literal Boolean Null Var DataType DataTypeParam
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


def can_raise(tree: exp.Expr) -> bool:
    """True when the expression may raise on some input; unknown ones are taken to be able to."""
    return any(
        type(node).__name__ not in _TOTAL
        for node in tree.walk(prune=lambda node: isinstance(node, exp.DataType))
    )


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
