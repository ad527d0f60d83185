"""Corpus: every form of literal in Spark's grammar, alone and where it is compared or added."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

ESCAPES = (
    "\\0", "\\b", "\\n", "\\r", "\\t", "\\Z", "\\\\", "\\%", "\\_", "\\'", '\\"', "\\q", "\\101", "\\0101", "\\u0041",
    "\\U0001F600", "\\u00e9x", "\\u12", "\\8", "\\1", "\\x41", "\\/", "\\.", "\\d+", "\\\\n", "\\\\\\\\",
)  # fmt: skip
PLAIN = (
    "", "a", " ", "it is", "--", "/* no */", "{}", "{0}", "%s", "$1", ":a", "?", ";", "`", "``", "#", "@", "\t", "\n",
    "é", "日本", "😀", "\u200b", "\u00a0", "a\u0301", "ß", "İ", "NULL", "null", "1", "-1", "0x1",
)  # fmt: skip


def strings() -> Iterator[str]:
    """Strings of all kinds."""
    for body in (*PLAIN, *ESCAPES):
        yield f"'{body}'"
        if '"' not in body:
            yield f'"{body}"'
    for body in (
        *PLAIN,
        "\\n",
        "\\",
        "a\\",
        "\\\\",
        "%\\_",
        "C:\\Users",
        "[0-9]+\\.\\d",
        '"',
        "\\u0041",
    ):
        yield f"r'{body}'"
        if '"' not in body:
            yield f'R"{body}"'
    # Quotes within quotes, strings beside strings.
    yield from (
        "'O''Brien'", "''''", "''''''", "'a'''", "'''a'", '"say ""hi"""', '""""', '"a""b"', '"it\'s"', "'say \"hi\"'",
        "'it\\'s'", "'a''b\\'c'", "'a' 'b'", "'a'\n'b'", "'a' \"b\"", "'a' /* c */ 'b'", "'a' -- c\n 'b'",
        "'a' 'b' 'c'", "'\\\\' 'n'", "r'\\n' 'x'", "'a''b' 'c'", "'O' 'Brien'",
        "concat('a', 'b''c')", "'x' || 'y''z'", "length('a''b')", "length('''')", "length(r'\\n')", "length('\\n')",
    )  # fmt: skip


NUMBERS = (
    "0", "1", "-1", "+1", "- 1", "- -1", "00", "007", "2147483647", "2147483648", "-2147483648", "-2147483649",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "123456789012345678901234567890", "99999999999999999999999999999999999999",
    "1L", "1l", "-1L", "9223372036854775807L", "-9223372036854775808L", "1S", "1s", "-32768S", "32767S", "1Y", "1y",
    "-128Y", "127Y", "1D", "1d", "-1D", "1F", "1f", "-1F", "1BD", "1bd", "1.50BD", "-1.5BD", "1e3BD", "0.1BD",
    "1.0", "1.", ".5", "-.5", "0.10", "1.10", "00.5", "1.5D", "1.5F", ".5D", "5.D", "1e0", "1E0", "1e3", "1e+3", "1e-3",
    "-1e3", "1.5e3", "1.e3", ".5e3", "1e3D", "1e3F", "1e308", "1e-320", "0e0", "-0.0", "-0", "-0D", "-0e0", "1e38",
    "12345678901234567890.123456789", "0.00000000000000000001", "3.4028235e38F", "1.7976931348623157e308",
    "1_000", "1__0", "1 000",
    "-1::STRING", "- 1::STRING", "-5::STRING", "-128::TINYINT", "-1::BOOLEAN", "-1.5::INT", "-1::DECIMAL(5,2)",
    "-9223372036854775808::BIGINT", "-32768::SMALLINT", "~1::TINYINT", "+1::STRING", "-1L::STRING", "-1e3::STRING",
    "-1.50::STRING", "-'1'::INT", "-'1.5'::DOUBLE", "1::STRING", "1.10::STRING", "1e3::STRING", "-1::FLOAT::STRING",
    "true", "TRUE", "False", "null", "NULL", "NULL::INT", "NULL::STRING", "'inf'::DOUBLE", "'NaN'::FLOAT",
    "'-Infinity'::DOUBLE", "'1e3'::DOUBLE", "' 1 '::INT", "'0x1'::STRING",
)  # fmt: skip

BINARY = (
    "X''", "X'1F'", "x'1f'", "X'1c7'", "X'abc'", "X '10'", 'X"1F"', "X'00'", "X'DEADBEEF'", "X'48656C6C6F'::STRING",
    "hex(X'1F')", "length(X'1F2E')", "X'1F' || X'2E'", "X'1F' = X'1f'", "CAST('a' AS BINARY)",
)  # fmt: skip

MOMENTS = (
    "DATE '2024-02-29'", "date'2024-02-29'", "DATE\"2024-02-29\"", "DATE '2024-2-9'", "DATE '2024-02'", "DATE '2024'",
    "DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '-0001-01-01'", "DATE '+10000-01-01'", "DATE '2024-02-29T12:00'",
    "DATE ' 2024-02-29 '", "DATE 'epoch'", "DATE 'today'", "DATE 'now'", "DATE 'tomorrow'", "DATE 'yesterday'",
    "DATE 'TODAY'", "CAST('today' AS DATE)", "'epoch'::DATE", "CAST('epoch' AS TIMESTAMP)", "CAST('now' AS TIMESTAMP)",
    "TIMESTAMP '2024-02-29'", "TIMESTAMP '2024-02-29 01:02:03'", "TIMESTAMP '2024-02-29T01:02:03'",
    "TIMESTAMP '2024-02-29 01:02:03.123456'", "TIMESTAMP '2024-02-29 01:02:03.1234567'", "TIMESTAMP '2024-02-29 1:2:3'",
    "TIMESTAMP '2024-02-29 01:02:03Z'", "TIMESTAMP '2024-02-29 01:02:03 UTC'", "TIMESTAMP '2024-02-29 01:02:03+01:00'",
    "TIMESTAMP '2024-02-29 01:02:03 Europe/Berlin'", "TIMESTAMP '2024-02-29 01:02:03-8'", "TIMESTAMP '2024'",
    "TIMESTAMP '2024-02'", "TIMESTAMP 'epoch'", "TIMESTAMP 'now'", "TIMESTAMP 'today'", "TIMESTAMP 'tomorrow'",
    "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'", "timestamp\"2024-02-29 01:02:03\"",
    "TIMESTAMP_NTZ '2024-02-29 01:02:03'", "TIMESTAMP_NTZ '2024-02-29'", "TIMESTAMP_NTZ 'epoch'", "TIMESTAMP_NTZ 'now'",
    "TIMESTAMP_LTZ '2024-02-29 01:02:03'", "TIMESTAMP_LTZ '2024-02-29 01:02:03Z'", "TIMESTAMP_LTZ 'epoch'",
    "TIMESTAMP_LTZ 'today'", "DATE '2024-02-29' :: STRING", "TIMESTAMP '2024-02-29 01:02:03' :: STRING",
    "TIME '00:01:52'", "TIME '10:00:00'", "TIME '23:59:59.999999'", "time'1:2'", "TIME '1:02:03'", "TIME '12:00:00 AM'",
    "CAST(TIME '00:01:52' AS STRING)", "TIME '00:01:52' :: STRING", "hour(TIME '10:11:12')", "TIME '10:00' < TIME '9:00'",
    "CAST('10:00:00' AS TIME)::STRING", "CAST('10:00:00.123' AS TIME(3))::STRING", "TIME '00:01:52' :: INT",
    "TIME '00:01:52' :: DECIMAL(14,6)", "'2024-02-29'::DATE", "'2024-02-29 01:02:03'::TIMESTAMP",
    "date_format(TIMESTAMP '2024-02-29 01:02:03', \"'Year:' yyyy\")", "date_format(TIMESTAMP '2024-02-29 01:02:03', 'y')",
    "date_format(TIMESTAMP '2024-02-29 01:02:03', 'yyyyy')", "date_format(TIMESTAMP '2024-02-29 01:02:03', \"''\")",
    "date_format(TIMESTAMP '2024-02-29 01:02:03', \"'FY' yyyy\")", "to_date('29/02/2024', 'dd/MM/yyyy')",
    "date_format(DATE '2024-02-29', 'MMM d, EEEE DDD Q w u G a hh K k SSS')", "to_timestamp('2024', 'yyyy')",
    "to_date('2024-060', 'yyyy-DDD')", "date_format(DATE '2024-02-29', 'L LL LLL LLLL M MM MMMM E q qq')",
    "date_format(TIMESTAMP '2024-02-29 13:02:03.5', 'H:m:s.S n h a z Z X XXX VV O')",
    "date_format(DATE '2024-02-09', 'yy-M-d')", "date_format(DATE '2024-02-09', \"yyyy''MM\")",
    "date_format(DATE '2024-02-09', '%Y-%m-%d')", "to_timestamp('09.02.24 1PM', 'dd.MM.yy ha')",
    "unix_timestamp('2024-02-09', 'yyyy-MM-dd')", "from_unixtime(0, 'yyyy')", "to_char(12.5, '999.99')",
    "to_number('12.5', '99.9')", "date_trunc('Q', TIMESTAMP '2024-02-29 01:02:03')", "trunc(DATE '2024-02-29', 'week')",
    "extract(DOW FROM DATE '2024-02-29')", "extract(dayofweek_iso FROM DATE '2024-02-29')", "unix_date(DATE '2024-02-29')",
    "date_part('YEAROFWEEK', DATE '2024-12-31')", "DATE '2024-02-29' - DATE '2024-01-01'", "DATE '2024-02-29' + 1",
)  # fmt: skip

UNITS = ["YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"]
SPANS = {
    "YEAR TO MONTH": "1-2", "DAY TO HOUR": "1 2", "DAY TO MINUTE": "1 2:3", "DAY TO SECOND": "1 2:3:4.5",
    "HOUR TO MINUTE": "2:3", "HOUR TO SECOND": "2:3:4.5", "MINUTE TO SECOND": "3:4.5",
}  # fmt: skip
NEAR = ("DATE '2024-02-29'", "TIMESTAMP '2024-02-29 01:02:03'")


def spans() -> Iterator[str]:
    """Intervals of all forms, as they are added to a moment."""
    for unit in UNITS:
        for text in (
            f"INTERVAL 2 {unit}", f"INTERVAL 2 {unit}S", f"INTERVAL '2' {unit}", f"INTERVAL '-2' {unit}",
            f"INTERVAL -2 {unit}", f"INTERVAL '2 {unit}'", f"INTERVAL '2 {unit.lower()}s'", f"INTERVAL '-2 {unit}'",
            f"- INTERVAL '2' {unit}", f"INTERVAL -'2' {unit}", f"INTERVAL '+2' {unit}", f"INTERVAL - '-2' {unit}",
            f'INTERVAL "2" {unit}',
        ):  # fmt: skip
            yield text
    for kind, body in SPANS.items():
        for text in (
            f"INTERVAL '{body}' {kind}", f"INTERVAL '-{body}' {kind}", f"INTERVAL -'{body}' {kind}",
            f"INTERVAL '+{body}' {kind}", f"interval \"{body}\" {kind.lower()}", f"- INTERVAL '{body}' {kind}",
            f"INTERVAL -'-{body}' {kind}",
        ):  # fmt: skip
            yield text
    yield from (
        "INTERVAL 1 DAY 2 HOURS", "INTERVAL '1' DAY '2' HOURS", "INTERVAL '1 day 2 hours'", "INTERVAL 1 YEAR 2 MONTHS",
        "INTERVAL '1 year -2 months'", "INTERVAL 1 MONTH 2 DAYS", "INTERVAL '1 month 2 days'", "INTERVAL 2 WEEKS 3 MICROSECONDS",
        "INTERVAL '1.5' SECOND", "INTERVAL 1.5 SECOND", "INTERVAL '1.5 seconds'", "INTERVAL '0.000001' SECOND",
        "INTERVAL 'interval 1 day'", "INTERVAL ' 1  day '", "INTERVAL '1' DAY * 1.5", "INTERVAL '1' MONTH * 2",
        "INTERVAL '1' DAY / 2", "INTERVAL '1' DAY + INTERVAL '2' HOUR", "INTERVAL '1' DAY - INTERVAL '2' HOUR * 3",
        "INTERVAL 2 WEEKS 3 MICROSECONDS * 1.5", "2 * INTERVAL '1' DAY", "make_dt_interval(1, 2)", "make_ym_interval(1, 2)",
        "INTERVAL '100' SECOND", "INTERVAL '36' HOUR", "CAST('1' AS INTERVAL DAY)", "CAST('1-2' AS INTERVAL YEAR TO MONTH)",
        "'1' :: INTERVAL HOUR", "INTERVAL '1 02:03' DAY TO MINUTE", "INTERVAL '1' days",
    )  # fmt: skip


def literals() -> Iterator[str]:
    """All of them, each alone."""
    yield from strings()
    yield from NUMBERS
    yield from BINARY
    yield from MOMENTS
    for span in spans():
        yield f"CAST({span} AS STRING)"


def used() -> Iterator[str]:
    """Literals in larger expressions over columns `id` (a number), `s` (a text), `g` (a moment)."""
    for text in strings():
        yield f"s = {text}"
        yield f"concat(s, {text}, 'x')"
        yield f"s LIKE {text}"
    for text in strings():
        yield f"CASE s WHEN {text} THEN {text} ELSE 'none' END"
    for text in NUMBERS:
        yield f"id + {text}"
        yield f"id > {text}"
        yield f"id * 2 - {text}"
        yield f"id BETWEEN {text} AND 5"
        yield f"id IN ({text}, 7)"
    for text, sign in product(MOMENTS[:50], ("<", "=")):
        yield f"g {sign} {text}"
    for text in ("now", "today", "epoch", "2024-02-29", "yesterday", "2024"):
        yield f"g < '{text}'"
        yield f"g = '{text}'"
        yield f"CAST(g AS DATE) >= '{text}'"
    for near, span in product((*NEAR, "g"), spans()):
        yield f"{near} + {span}"
    for span in spans():
        yield f"g - {span}"
        yield f"g >= TIMESTAMP '2024-01-01' - {span}"
