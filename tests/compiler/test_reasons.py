"""Why a query is not maintained: coded, placed, all of them; and the texts that are no view at all."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from compiler.databases import SOURCES, lowered
from grebe.compiler.algebra.functions import refusal
from grebe.compiler.algebra.known_types import Types, scan_types, wanted
from grebe.compiler.lower import Relation, lower
from grebe.compiler.parser.parse import parse
from grebe.compiler.plan.strategy import make_plan
from grebe.compiler.reasons import ReasonCode, always_refused, feature_of
from grebe.compiler.text.verbatim import anchored
from grebe.errors import (
    AmbiguousColumnError,
    DefinitionError,
    SqlSyntaxError,
    UnknownColumnError,
    UnknownTableError,
    UnsupportedSQLError,
)

REASONS = [
    ("spark", "SELECT my_udf(x) AS a FROM r", "unknown-function", 1, 8),
    ("spark", "SELECT x FROM r WHERE s = upper(strange(s))", "unknown-function", 1, 33),
    ("duckdb", "SELECT now() AS a FROM r", "time-function", 1, 8),
    ("spark", "SELECT k FROM r WHERE d > current_date()", "time-function", 1, 27),
    ("spark", "SELECT k FROM r\nLIMIT 3", "limit-without-order", 2, 7),
    ("duckdb", "SELECT k FROM r ORDER BY k LIMIT 1 + 1", "limit-not-constant", 1, 34),
    ("duckdb", "SELECT k FROM r ORDER BY k LIMIT 10%", "limit-not-constant", 1, 34),
    ("duckdb", "SELECT k FROM r ORDER BY k FETCH FIRST 3 ROWS WITH TIES", "limit-with-ties", 1, 40),
    ("spark", "SELECT k, rank() OVER (ORDER BY x) AS a FROM r", "window-without-partition", 1, 11),
    ("spark", "SELECT first(x) AS a FROM r GROUP BY k", "order-dependent-aggregate", 1, 8),
    ("spark", "SELECT any_value(x) AS a FROM r", "order-dependent-aggregate", 1, 8),
    ("spark", "SELECT approx_count_distinct(x) AS a FROM r", "approximate-aggregate", 1, 8),
    ("spark", "SELECT bitmap_construct_agg(x) AS a FROM r", "unsupported-aggregate", 1, 8),
    (
        "spark",
        "SELECT count(*) AS n FROM r HAVING (SELECT max(y) FROM t WHERE t.k = r.k) > 1",
        "correlated-subquery",
        1,
        8,
    ),
    ("duckdb", "SELECT k FROM r CONNECT BY k = 1", "unsupported-clause", 1, 8),
    ("spark", "SELECT s COLLATE UTF8_LCASE AS a FROM r", "collation", 1, 8),
    ("spark", "SELECT * FROM range(10) AS t2", "table-function", 1, 15),
    ("duckdb", "SELECT r.k FROM r ASOF JOIN t ON r.k >= t.k", "join-kind", 1, 29),
    ("duckdb", "SELECT * FROM (PIVOT r ON s USING SUM(x) GROUP BY k)", "dynamic-pivot", 1, 22),
    (
        "duckdb",
        "WITH RECURSIVE c AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM c) SELECT a FROM c",
        "recursive-cte",
        1,
        16,
    ),
    (
        "duckdb",
        "SELECT r.k FROM r LEFT JOIN t ON EXISTS (SELECT 1 FROM u WHERE u.y = t.y AND u.z = r.x)",
        "subquery-in-outer-join",
        1,
        49,
    ),
    (
        "duckdb",
        "SELECT k, LAST_VALUE(x) OVER (PARTITION BY k ORDER BY x RANGE BETWEEN 1 PRECEDING"
        " AND 1 FOLLOWING) AS a FROM r",
        "order-dependent-window",
        1,
        11,
    ),
]


@pytest.mark.parametrize(("dialect", "sql", "code", "line", "column"), REASONS)
def test_reason_has_a_code_and_a_place(
    dialect: str, sql: str, code: str, line: int, column: int
) -> None:
    found = lowered(sql, dialect)
    assert [reason.code for reason in found.reasons] == [code]
    where = found.reasons[0].where
    assert where is not None
    assert (where.line, where.column) == (line, column)
    assert where.underlined()


def test_all_reasons_of_a_query_are_reported() -> None:
    found = lowered(
        "SELECT foo(x) AS a, now() AS b, first(s) OVER (ORDER BY k) AS c"
        " FROM r WHERE bar(k) > 0 LIMIT 2",
        "spark",
    )
    codes = [reason.code for reason in found.reasons]
    assert codes == [
        "unknown-function",
        "time-function",
        "unknown-function",
        "window-without-partition",
        "limit-without-order",
    ]
    assert found.root is None


def test_what_can_be_expressed_still_has_a_tree() -> None:
    for sql in ("SELECT k, rank() OVER (ORDER BY x) AS a FROM r", "SELECT first(x) AS a FROM r"):
        assert lowered(sql).root is not None


STOPPED = [
    ("SELECT rand() AS a FROM r", UnsupportedSQLError, "non_deterministic"),
    ("SELECT k FROM r WHERE x > rand()", UnsupportedSQLError, "non_deterministic"),
    ("SELECT uuid() AS a FROM r", UnsupportedSQLError, "non_deterministic"),
    ("SELECT monotonically_increasing_id() AS a FROM r", UnsupportedSQLError, "non_deterministic"),
    ("SELECT current_user() AS a FROM r", UnsupportedSQLError, "non_deterministic"),
    ("SELECT x + 1 FROM r", UnsupportedSQLError, "unnamed_column"),
    ("SELECT k, x AS K FROM r", UnsupportedSQLError, "duplicate_column"),
    ("SELECT * FROM r JOIN t ON r.k = t.k", UnsupportedSQLError, "duplicate_column"),
    ("INSERT INTO r VALUES (1)", UnsupportedSQLError, "not_a_query"),
    ("DROP TABLE r", UnsupportedSQLError, "not_a_query"),
    ("SELECT k FROM r; SELECT k FROM t", UnsupportedSQLError, "several_statements"),
    ("SELECT DISTINCT ON (k) k FROM r", UnsupportedSQLError, "distinct_on"),
    ("SELECT k FROM r TABLESAMPLE (10 PERCENT)", UnsupportedSQLError, "tablesample"),
    ("SELECT k FROM r WHERE x = :p", UnsupportedSQLError, "parameter"),
    ("SELECT k FROM r WHERE x = ?", UnsupportedSQLError, "parameter"),
    ("SELECT k FROM r VERSION AS OF 3", UnsupportedSQLError, "time_travel"),
    ("SELECT " + "(" * 300 + "k" + ")" * 300 + " AS a FROM r", UnsupportedSQLError, "nesting"),
    (
        "SELECT k FROM r GROUP BY CUBE(k, x, s, d, k + 1, x + 1, s || 'a', d + 1, k * 2)",
        UnsupportedSQLError,
        "grouping_sets",
    ),
    ("SELECT k AS __grebe_k FROM r", UnsupportedSQLError, "reserved_name"),
    ("SELECT k AS `__Grebe_k` FROM r", UnsupportedSQLError, "reserved_name"),
    (
        "WITH __grebe_c1 AS (SELECT k FROM r) SELECT k FROM __grebe_c1",
        UnsupportedSQLError,
        "reserved_name",
    ),
]


@pytest.mark.parametrize(("sql", "error", "feature"), STOPPED)
def test_text_that_can_be_no_view(sql: str, error: type[UnsupportedSQLError], feature: str) -> None:
    with pytest.raises(error) as caught:
        lowered(sql, "spark")
    assert caught.value.feature == feature
    assert caught.value.where is not None


INVALID = [
    ("SELEC k FROM r", SqlSyntaxError, None),
    ("SELECT k FROM r WHERE", SqlSyntaxError, None),
    ("SELECT k FROM r WHERE (x = 1", SqlSyntaxError, None),
    ("", SqlSyntaxError, None),
    ("SELECT k FROM rr", UnknownTableError, 'did you mean "r"?'),
    ("SELECT kk FROM r", UnknownColumnError, 'did you mean "k"?'),
    ("SELECT q.k FROM r", UnknownColumnError, None),
    ("SELECT k FROM r, t", AmbiguousColumnError, "write the table's name before it"),
    ("SELECT k, SUM(x) AS a FROM r", DefinitionError, "add it to GROUP BY, or aggregate it"),
    ("SELECT k FROM r WHERE SUM(x) > 1", DefinitionError, "use HAVING"),
    ("SELECT SUM(SUM(x)) AS a FROM r", DefinitionError, None),
    ("SELECT k FROM r UNION SELECT k, x FROM r", DefinitionError, None),
    ("SELECT k FROM r WHERE (k, x) IN (SELECT k FROM t)", DefinitionError, None),
    ("SELECT k, (SELECT k, y FROM t) AS a FROM r", DefinitionError, None),
    ("SELECT k FROM r GROUP BY 3", DefinitionError, None),
    ("SELECT RANK() OVER w AS a FROM r", DefinitionError, None),
    ("SELECT q.* FROM r", UnknownTableError, None),
    ("SELECT r.k FROM r JOIN t USING (zz)", UnknownColumnError, None),
    ("SELECT * EXCEPT (zz) FROM r", UnknownColumnError, None),
]


@pytest.mark.parametrize(("sql", "error", "hint"), INVALID)
def test_wrong_text_is_a_typed_error_with_a_place(
    sql: str, error: type[DefinitionError], hint: str | None
) -> None:
    with pytest.raises(error) as caught:
        lowered(sql, "spark")
    assert caught.value.where is not None
    if hint is not None:
        assert caught.value.hint == hint


def test_place_of_an_error_counts_lines_and_names_the_file() -> None:
    with pytest.raises(UnknownColumnError) as caught:
        lower("SELECT k,\n       kk\nFROM r", sources=SOURCES, file="views/a.sql")
    assert str(caught.value.where) == "views/a.sql:2:8"
    assert caught.value.where is not None
    assert caught.value.where.underlined() == "       kk\n       ^^"


def test_unknown_dialect_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="oracle"):
        lower("SELECT 1 AS a", dialect="oracle", sources={})


def test_reserved_columns_of_a_table_are_refused() -> None:
    sources = {"h": Relation("h", (("__grebe_count", "INT"),))}
    with pytest.raises(UnsupportedSQLError, match="reserved"):
        lower("SELECT 1 AS a FROM h", sources=sources)


def test_a_name_that_depends_on_the_session_has_its_own_code() -> None:
    found = refusal(parse_one("SELECT current_user()", read="spark").selects[0], "spark")
    assert found is not None
    assert found.code is ReasonCode.SESSION_FUNCTION
    assert always_refused(found.code)


@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
def test_a_sum_of_floats_decides_over_no_group(dialect: str) -> None:
    found = lowered(
        "SELECT f, count(*) AS n FROM (SELECT k, sum(CAST(x AS DOUBLE)) AS f FROM r GROUP BY k) AS q"
        " GROUP BY f",
        dialect,
    )
    assert found.root is not None
    types = scan_types(found.root, {name: dict(item.columns) for name, item in SOURCES.items()})
    reasons = make_plan(found, Types(dialect, types)).reasons
    assert {reason.code for reason in reasons} == {"order-dependent-value"}
    assert feature_of(ReasonCode.ORDER_DEPENDENT_VALUE) == "order_dependent"


def test_a_definition_holds_no_NUL() -> None:
    with pytest.raises(UnsupportedSQLError) as caught:
        anchored("SELECT k FROM r\x00", "spark", {("r",): "lake.s.r"})
    assert caught.value.feature == "character"


def test_a_code_has_a_feature() -> None:
    assert feature_of(ReasonCode.CORRELATED_SUBQUERY) == "correlated_subquery"
    assert feature_of(ReasonCode.TRANSLATION_DIFFERS) == "translation"
    assert feature_of(ReasonCode.RECURSIVE_CTE) == "recursive_cte"
    assert feature_of(ReasonCode.WINDOW_WITHOUT_PARTITION) == "window_function"
    assert feature_of(ReasonCode.APPROXIMATE_AGGREGATE, "APPROX_PERCENTILE") == (
        "aggregate:approx_percentile"
    )
    assert always_refused("non-deterministic")
    assert not always_refused("time-function")
    assert not always_refused("something-else")


MAPS = {"r": Relation("r", (("k", "int"), ("m", "map<string,int>"), ("v", "variant")))}


@pytest.mark.parametrize(
    ("sql", "incremental"),
    [
        ("SELECT k, m FROM r", False),
        ("SELECT k, named_struct('m', m) AS s FROM r", False),
        ("SELECT v FROM r WHERE k = 1", False),
        ("SELECT m, COUNT(*) AS n FROM r GROUP BY m", False),
        ("SELECT k, m['a'] AS a FROM r", True),
        ("SELECT k, COUNT(m) AS n FROM r GROUP BY k", True),
        ("SELECT k, ARRAY_SORT(MAP_ENTRIES(m)) AS entries FROM r", True),
    ],
)
def test_a_stored_map_is_a_reason_and_a_map_that_is_read_is_none(
    sql: str, incremental: bool
) -> None:
    lowered = lower(sql, dialect="spark", sources=MAPS)
    assert lowered.root is not None
    types = scan_types(lowered.root, {"r": dict(MAPS["r"].columns)})
    asked = {item.text for _, items in wanted(lowered.root) for item in items}
    types.update(dict.fromkeys(asked & {'"s"'}, "struct<m:map<string,int>>"))
    plan = make_plan(lowered, Types("spark", types))
    found = {reason.code for reason in plan.reasons}
    assert found == (set() if incremental else {ReasonCode.TYPE_WITHOUT_EQUALITY})


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT g FROM", "expected table name but got the end of the text"),
        ("SELECT g FROM t WHERE", "WHERE is not complete"),
        ("SELECT g FROM t UNION", "UNION is not complete"),
        ("SELECT nth_value() OVER () FROM t", "NTH VALUE is not complete"),
    ],
)
@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
def test_a_syntax_error_names_no_class_of_the_parser(sql: str, said: str, dialect: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse(sql, dialect)
    assert str(caught.value) == said


def test_brackets_and_choices_a_hundred_deep_are_read() -> None:
    choice = "0"
    for place in range(100):
        choice = f"CASE WHEN k = {place} THEN {place} ELSE {choice} END"
    for text in (choice, "(" * 100 + "k" + ")" * 100, "abs(" * 100 + "k" + ")" * 100):
        assert lowered(f"SELECT {text} AS a FROM r").root is not None
