"""Functions: what is allowed comes back unchanged, what is not is refused by name."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import parse_one

from compiler.databases import bag, emitted, lowered
from grebe.compiler.algebra.functions import AggregateKind, aggregate_kind, empty_value
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.raising import can_raise

EXPRESSIONS = """
7 / 2; 7 // 2; -7 // 2; 7 % 3; -7 % 3; 7.5 // 2; round(2.5); round(-2.567, 2); 2 ** 3; (1 + 2) * 3
- 4 / 2; 1 - (2 - 3); NOT (1 = 2) AND TRUE; (TRUE OR FALSE) AND FALSE; - -5; 1e3; TRUE AND NULL
'a' || NULL; concat('a', NULL, 'b'); concat_ws(',', 'a', NULL, 'b'); 'abc'[1:2]; substring('abc', 2)
left('abc', -1); right('abc', 2); position('b' in 'abc'); strpos('abc', 'c'); lpad('a', 3, 'x')
trim('  a '); ltrim('xxa', 'x'); trim(both 'x' from 'xax'); replace('aa', 'a', 'b'); split('a,b', ',')
split_part('a,b', ',', 2); regexp_matches('abc', 'b'); regexp_extract('abc', '(b)(c)', 2)
regexp_replace('aab', 'a', 'x', 'g'); 'abc' SIMILAR TO 'a.*'; 'ABC' ILIKE 'a%'; 'a' GLOB 'a*'
'abc' LIKE 'a%' ESCAPE '!'; starts_with('ab', 'a'); contains('ab', 'a'); reverse('abc'); upper('a')
levenshtein('a', 'b'); format('{} {}', 1, 'a'); printf('%d', 1); chr(65); ascii('A'); md5('a')
list_sort([3, NULL, 1]); list_sort([3, NULL, 1], 'DESC'); list_sort([3, NULL, 1], 'ASC', 'NULLS LAST')
list_reverse_sort([3, NULL, 1]); [3, 1][1:2]; [1, 2, 3][-1]; {'a': 1}['a']; {'a': {'b': 2}}.a.b
map {'a': 1}['a']; list_contains([1], 1); [1, 2] || [3]; list_transform([1, 2], lambda x: x + 1)
list_filter([1, 2], lambda x: x > 1); len([1]); list_sum([1, 2]); flatten([[1], [2]])
array_to_string([1, 2], ','); list_position([1, 2], 2); struct_pack(a := 1); range(3); row(1, 2)
date_diff('month', DATE '2020-01-31', DATE '2020-02-01'); date_trunc('week', DATE '2020-01-31')
DATE '2020-01-31' + INTERVAL 1 MONTH; DATE '2020-01-31' + 3; DATE '2020-01-31' - DATE '2020-01-01'
extract(dow from DATE '2020-01-31'); date_part('isodow', DATE '2020-01-31'); year(DATE '2020-01-01')
strftime(DATE '2020-02-02', '%Y-%j'); strptime('2020-02-02', '%Y-%m-%d'); last_day(DATE '2020-02-02')
make_date(2020, 1, 2); epoch_ms(1000); monthname(DATE '2020-01-01'); to_days(2)
timestamp '2020-01-01' at time zone 'America/New_York'; time '10:00:00'; dayofweek(DATE '2020-02-02')
CAST('1' AS INT); TRY_CAST('x' AS INT); 1.5::DECIMAL(3, 1); '2020-01-01'::DATE; TRUE::INT; 'a'::BLOB
greatest(1, NULL, 2); coalesce(NULL, 1); nullif(1, 1); ifnull(NULL, 2); if(TRUE, 1, 2)
CASE 1 WHEN 1 THEN 'a' END; 1 IN (1, NULL); NULL IS NOT DISTINCT FROM NULL; 1 BETWEEN 0 AND 2
json_extract('{"a":1}', '$.a'); '{"a":1}'::JSON->'a'; '{"a":"b"}'->>'a'; to_json({'a': 1})
bit_count(5); 5 & 3; xor(5, 3); ~5; 1 << 3; 8 >> 2; sqrt(4); ln(2); log(100); log(2, 8); sign(-2)
ceil(1.2); floor(-1.2); trunc(1.9); mod(7, 3); pi(); atan2(1, 2); gcd(4, 6); hex('a'); hash(1)
encode('a'); 'it''s'; 'ä'; (1, 2) = (1, 2); typeof(1); 1 = 1 = TRUE
"""


@pytest.mark.parametrize(
    "text", [item.strip() for item in EXPRESSIONS.replace("\n", ";").split(";")]
)
def test_expression_comes_back_unchanged(text: str) -> None:
    if not text:
        return
    connection = duckdb.connect()
    sql = f"SELECT {text} AS v"
    found = emitted(lowered(sql))
    try:
        expected = connection.execute(sql).fetchall()
    except duckdb.ParserException:
        return  # a line of the list above continues in the next
    assert bag(connection.execute(found).fetchall()) == bag(expected)


KINDS = {
    "count(*)": AggregateKind.COUNT,
    "count(DISTINCT x)": AggregateKind.COUNT,
    "count_if(x > 1)": AggregateKind.COUNT,
    "sum(x) FILTER (WHERE x > 1)": AggregateKind.SUM,
    "avg(x)": AggregateKind.AVG,
    "min(x)": AggregateKind.MIN,
    "max(x)": AggregateKind.MAX,
    "collect_list(x)": AggregateKind.COLLECTION,
    "sort_array(collect_set(x))": AggregateKind.COLLECTION,
    "listagg(x, ',') WITHIN GROUP (ORDER BY x)": AggregateKind.COLLECTION,
    "stddev_pop(x)": AggregateKind.STATISTIC,
    "corr(x, y)": AggregateKind.STATISTIC,
    "regr_slope(x, y)": AggregateKind.STATISTIC,
    "percentile(x, 0.5)": AggregateKind.PERCENTILE,
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)": AggregateKind.PERCENTILE,
    "median(x)": AggregateKind.PERCENTILE,
    "bool_and(x > 1)": AggregateKind.BOOL,
    "every(x > 1)": AggregateKind.BOOL,
    "bit_xor(x)": AggregateKind.BIT,
    "max_by(x, y)": AggregateKind.BY,
    "approx_count_distinct(x)": AggregateKind.APPROX,
    "approx_percentile(x, 0.5)": AggregateKind.APPROX,
    "first(x) IGNORE NULLS": AggregateKind.ANY,
    "any_value(x)": AggregateKind.ANY,
    "upper(x)": None,
    "x + 1": None,
}


@pytest.mark.parametrize(("text", "kind"), KINDS.items())
def test_kind_of_an_aggregate(text: str, kind: AggregateKind | None) -> None:
    assert aggregate_kind(parse_one(text, dialect="spark")) is kind


@pytest.mark.parametrize(
    "text",
    ["a / b", "a % b", "a + b", "a * b", "CAST(a AS INT)", "element_at(a, 1)", "a[0]", "to_date(a)",
     "CASE WHEN a / b > 1 THEN 1 END", "anything(a)", "sum(a)", "-a", "abs(a)"],
)  # fmt: skip
def test_what_may_raise(text: str) -> None:
    assert can_raise(parse_one(text), Types())


@pytest.mark.parametrize(
    "text",
    ["a = b", "a < 1 AND NOT b", "a IS NULL", "COALESCE(a, b)", "CASE WHEN a = 1 THEN b ELSE c END",
     "UPPER(a) || b", "TRY_CAST(a AS INT)", "a IN (1, 2)", "a BETWEEN 1 AND 2", "a LIKE 'x%'", "a",
     "COUNT(*)", "MAX(a)"],
)  # fmt: skip
def test_what_cannot_raise(text: str) -> None:
    assert not can_raise(parse_one(text), Types())


DECIMALS = Types("spark", {"d": "decimal(15,2)", "w": "decimal(36,2)", "i": "int"})


@pytest.mark.parametrize("text", ["d * (1 - d)", "d + d - 1", "-d", "d * i", "d > 1 + d"])
def test_decimals_as_wide_as_they_must_be_cannot_raise(text: str) -> None:
    assert not can_raise(parse_one(text), DECIMALS)


@pytest.mark.parametrize(
    "text", ["w * d", "i + i", "-i", "d * 12345678901", "d / d", "d * x", "d + i * i"]
)
def test_decimals_that_may_not_fit_and_integers_can_raise(text: str) -> None:
    assert can_raise(parse_one(text), DECIMALS)


def test_values_of_aggregates_over_nothing() -> None:
    for text, expected in (("COUNT(*)", "0"), ("SUM(x)", "NULL"), ("MAX(x)", "NULL")):
        assert empty_value(parse_one(text), "spark").sql() == expected
    collected = parse_one("collect_list(x)", dialect="spark")
    assert empty_value(collected, "spark").sql("spark") == "ARRAY()"
    assert empty_value(collected, "duckdb").sql() == "NULL"


def test_what_the_parser_loses_is_refused() -> None:
    for dialect, text in (
        ("spark", "percentile_disc(0.5) WITHIN GROUP (ORDER BY x)"),
        ("spark", "CAST(s AS TIME)"),
        ("duckdb", "decode(s::BLOB, 'replace')"),
    ):
        found = lowered(f"SELECT {text} AS a FROM r", dialect)
        assert [reason.code for reason in found.reasons] == ["unsupported-expression"]
        assert found.root is None
