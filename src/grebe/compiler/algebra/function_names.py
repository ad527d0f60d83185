"""Names of functions and expressions: which are allowed, and which are known to be trouble.

Classes are those of the parser; plain names are functions that it has no class for.
"""

from __future__ import annotations

from typing import Final

from grebe.sql_text import made


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_STRUCTURE: Final = words("""
    Array Between BitString Boolean Bracket ByteString Case Cast Column DataType DataTypeParam
    Distinct Dot Escape Filter HexString Identifier If In Interval IntervalSpan Lambda Literal
    Null Opaque OpaqueLiteral Order Ordered Paren PropertyEQ RawString Slice Star Struct StructExtract TryCast Tuple
    UnicodeString Var WindowSpec Window WithinGroup IgnoreNulls RespectNulls Where Is Not
    National Any All ColumnDef HavingMax Having Extract
""")

_OPERATORS: Final = words("""
    Add And BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor DPipe Div
    EQ GT GTE Glob ILike IntDiv LT LTE Like Mod Mul NEQ Neg NullSafeEQ NullSafeNEQ Or Overlaps
    SimilarTo Sub Xor ArrayContainsAll ArrayContainedBy ArrayOverlaps RegexpILike
""")

_CONDITIONAL: Final = words("""
    Coalesce EqualNull Greatest IsInf IsNan IsNullValue Least Nanvl Nullif Nvl2 DecodeCase
    Try Typeof IsArray Booland Boolnot Boolor
""")

_STRINGS: Final = words("""
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

_NUMBERS: Final = words("""
    Abs Acos Acosh Asin Asinh Atan Atan2 Atanh BitwiseCount Cbrt Ceil Cos Cosh Cot Coth Csc Csch
    Degrees Exp Factorial Floor Getbit Ln Log Negative Pi Pow Radians RangeBucket Rint Round SafeAdd
    SafeDivide SafeMultiply SafeNegate SafeSubtract Sec Sech Sign Sin Sinh Sqrt Tan Tanh ToDouble
    ToNumber Trunc WidthBucket ToBoolean CosineDistance DotProduct EuclideanDistance
    ManhattanDistance
""")

_TIMES: Final = words("""
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

_NESTED: Final = words("""
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

_RANKING: Final = words("""
    RowNumber Rank DenseRank CumeDist PercentRank Ntile Lag Lead FirstValue LastValue NthValue
""")

_GROUPING: Final = words("Grouping GroupingId")

ALLOWED: Final = (
    _STRUCTURE | _OPERATORS | _CONDITIONAL | _STRINGS | _NUMBERS | _TIMES | _NESTED | _RANKING
    | _GROUPING
)  # fmt: skip

TIME_CLASSES: Final = words("""
    CurrentDate CurrentDatetime CurrentTime CurrentTimestamp CurrentTimestampLTZ Localtime
    Localtimestamp Systimestamp UtcDate UtcTime UtcTimestamp
""")
RANDOM_CLASSES: Final = words("""
    Rand Randn Randstr Uuid Uniform Normal Zipf Shuffle Seq1 Seq2 Seq4 Seq8 NextValueFor Generator
""")
SESSION_CLASSES: Final = words("""
    CurrentAccount CurrentAccountName CurrentAvailableRoles CurrentCatalog CurrentClient
    CurrentDatabase CurrentIpAddress CurrentOrganizationName CurrentOrganizationUser CurrentRegion
    CurrentRole CurrentRoleType CurrentSchema CurrentSchemas CurrentSecondaryRoles CurrentSession
    CurrentStatement CurrentTimezone CurrentTransaction CurrentUser CurrentUserId CurrentVersion
    CurrentWarehouse SessionUser SessionParameter Pseudocolumn
""")

TIME_NAMES: Final = words("""
    now current_date current_timestamp current_time localtime localtimestamp curdate get_current_time
    get_current_timestamp today transaction_timestamp current_localtime
    current_localtimestamp getdate sysdate
""")
RANDOM_NAMES: Final = words("""
    rand randn random uuid gen_random_uuid uuidv4 uuidv7 monotonically_increasing_id
    spark_partition_id shuffle randstr uniform setseed nextval currval input_file_name
    input_file_block_start input_file_block_length reflect java_method try_reflect
""")
SESSION_NAMES: Final = words("""
    current_user user session_user current_catalog current_database current_schema current_schemas
    current_setting getvariable current_timezone version txid_current
    current_query current_role getenv
""")

PLAIN_NAMES: Final[dict[str, frozenset[str]]] = {
    "spark": words("""
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
    "duckdb": words("""
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

SINGLE: Final = made("single")
"""The aggregate of a scalar subquery: its only value; more than one row raises."""
