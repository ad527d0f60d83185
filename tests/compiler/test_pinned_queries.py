"""Pinned queries and key filters: the text, and on DuckLake and DuckDB also what it gives."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path

import duckdb
import pytest

import grebe
from compiler.databases import bag
from grebe.compiler.text.pinned_queries import (
    add_affected_keys_filter,
    create_composite_key_in_clause,
    prepare_refresh_query,
    rewrite_query_with_snapshots,
)
from grebe.errors import SqlSyntaxError, UnknownColumnError, UnknownTableError, UnsupportedSQLError

PINS = {"orders": 42, "customers": 7}


def pin(sql: str, pins: dict | None = None, **options: object) -> str:
    return rewrite_query_with_snapshots(sql, pins or PINS, **options)  # type: ignore[arg-type]


def test_simple_query_rewrite() -> None:
    assert pin("SELECT * FROM orders") == "SELECT * FROM orders VERSION AS OF 42"


def test_join_query_rewrite() -> None:
    text = pin("SELECT o.id FROM orders o JOIN customers AS c ON o.cid = c.id")
    assert text == (
        "SELECT o.id FROM orders VERSION AS OF 42 AS o"
        " JOIN customers VERSION AS OF 7 AS c ON o.cid = c.id"
    )


def test_subquery_rewrite() -> None:
    text = pin("SELECT 1 AS a FROM (SELECT * FROM orders WHERE id IN (SELECT id FROM customers)) q")
    assert text.count("VERSION AS OF") == 2


def test_three_levels_are_all_pinned() -> None:
    text = pin(
        "SELECT (SELECT MAX(id) FROM orders) AS m FROM orders WHERE EXISTS (SELECT 1 FROM customers"
        " WHERE id > ALL (SELECT id FROM orders WHERE id IN (SELECT cid FROM orders)))"
    )
    assert text.count("orders VERSION AS OF 42") == 4
    assert text.count("customers VERSION AS OF 7") == 1


def test_cte_rewrite() -> None:
    text = pin("WITH c AS (SELECT * FROM orders) SELECT * FROM c, c AS d")
    assert text.count("VERSION AS OF") == 1


def test_cte_named_like_a_table_is_not_the_table() -> None:
    text = pin("WITH orders AS (SELECT * FROM orders) SELECT * FROM orders")
    assert text == ("WITH orders AS (SELECT * FROM orders VERSION AS OF 42) SELECT * FROM orders")
    nested = pin("SELECT * FROM (WITH orders AS (SELECT 1 AS a) SELECT * FROM orders) q, orders o")
    assert nested.count("VERSION AS OF") == 1
    assert nested.endswith("orders VERSION AS OF 42 AS o")


def test_recursive_cte_is_not_a_table() -> None:
    text = pin(
        "WITH RECURSIVE c AS (SELECT id FROM orders UNION ALL SELECT id + 1 FROM c) SELECT * FROM c"
    )
    assert text.count("VERSION AS OF") == 1


def test_dynamic_table_not_rewritten() -> None:
    text = pin("SELECT * FROM orders JOIN metrics ON TRUE", skip_tables={"metrics"})
    assert "metrics VERSION" not in text
    assert "orders VERSION AS OF 42" in text
    with pytest.raises(ValueError, match="both pinned and skipped"):
        pin("SELECT * FROM orders", skip_tables={"Orders"})


def test_self_join_reads_one_version() -> None:
    text = pin("SELECT a.id FROM orders a JOIN orders b ON a.id = b.cid")
    assert text.count("orders VERSION AS OF 42") == 2


def test_qualified_names_match_their_own_table_only() -> None:
    sql = "SELECT a.id FROM lake.prod.orders a JOIN lake.test.orders b ON a.id = b.id"
    text = pin(sql, {"lake.prod.orders": 1}, strict=False)
    assert text.count("VERSION AS OF 1") == 1
    assert "lake.test.orders AS b" in text
    with pytest.raises(UnknownTableError):
        pin(sql, {"lake.prod.orders": 1})
    with pytest.raises(ValueError, match="means both"):
        pin(sql, {"orders": 1})
    with pytest.raises(ValueError, match="several versions"):
        pin("SELECT * FROM orders", {"a.orders": 1, "b.orders": 2})


def test_names_are_compared_without_case_and_quotes() -> None:
    assert pin("SELECT * FROM `Orders`").endswith("`Orders` VERSION AS OF 42")
    assert "AS OF 3" in pin("SELECT * FROM prod.orders", {"`lake`.PROD.orders": 3})


def test_values_and_functions_stay_as_they_are() -> None:
    text = pin("SELECT * FROM orders, (VALUES (1)) AS v(a), range(3)")
    assert text.count("VERSION AS OF") == 1


def test_a_table_without_a_version_is_an_error() -> None:
    with pytest.raises(UnknownTableError) as caught:
        pin("SELECT * FROM orders,\n products")
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (2, 2)


def test_wrong_text_and_existing_pins_are_errors() -> None:
    with pytest.raises(SqlSyntaxError):
        pin("SELECT FROM WHERE")
    with pytest.raises(UnsupportedSQLError):
        pin("SELECT * FROM orders VERSION AS OF 3")
    with pytest.raises(UnsupportedSQLError):
        pin("DELETE FROM orders")


def test_times_and_tags() -> None:
    moment = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
    assert pin("SELECT * FROM orders o", {"orders": moment}) == (
        "SELECT * FROM orders TIMESTAMP AS OF '2024-05-01 12:00:00+00:00' AS o"
    )
    assert pin("SELECT * FROM orders", {"orders": "nightly"}).endswith("VERSION AS OF 'nightly'")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("lake")
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("ducklake", "sqlite_scanner"):
        package = import_module(f"duckdb_extension_{name}")
        extension = next(Path(package.__file__ or "").parent.rglob(f"{name}.duckdb_extension"))
        connection.execute(f"LOAD '{extension}'")
    connection.execute(f"ATTACH 'ducklake:{folder}/lake.db' AS lake (DATA_PATH '{folder}/data')")
    connection.execute("USE lake")
    connection.execute("CREATE TABLE orders AS SELECT 1 AS id, 10 AS cid")
    connection.execute("INSERT INTO orders VALUES (2, 20)")
    connection.execute("INSERT INTO orders VALUES (3, 30)")
    yield connection
    connection.close()


def version_of(lake: duckdb.DuckDBPyConnection, back: int) -> int:
    rows = lake.execute("SELECT MAX(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()
    assert rows is not None
    return int(rows[0]) - back


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM orders",
        "SELECT o.id FROM orders o",
        "SELECT o.id FROM orders AS o WHERE o.id IN (SELECT id FROM orders)",
        "WITH orders AS (SELECT id FROM orders) SELECT id FROM orders",
        "SELECT a.id FROM lake.main.orders a JOIN orders b ON a.id = b.id",
        "SELECT id FROM (SELECT id FROM (SELECT id FROM orders) x) y",
    ],
)
def test_ducklake_reads_the_pinned_rows(lake: duckdb.DuckDBPyConnection, sql: str) -> None:
    for back in (0, 1, 2):
        version = version_of(lake, back)
        text = rewrite_query_with_snapshots(sql, {"orders": version}, dialect="duckdb")
        assert text.count(f"AT (VERSION => {version})") == text.count("orders AT") + text.count(
            " AS o AT"
        ) + text.count(" AS a AT") + text.count(" AS b AT")
        assert len(lake.execute(text).fetchall()) == 3 - back


def test_ducklake_reads_at_a_time(lake: duckdb.DuckDBPyConnection) -> None:
    moment = datetime.now(tz=UTC)
    text = rewrite_query_with_snapshots(
        "SELECT id FROM orders o", {"orders": moment}, dialect="duckdb"
    )
    assert len(lake.execute(text).fetchall()) == 3


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (g INT, h VARCHAR, d DATE, x INT)")
    connection.execute(
        "INSERT INTO t VALUES (1, 'a', DATE '2024-01-01', 1), (1, NULL, NULL, 2),"
        " (NULL, 'b''c', DATE '2024-01-02', 3), (2, 'a', DATE '2024-01-01', 4), (2, 'a', NULL, 5)"
    )
    connection.execute("CREATE TABLE changed (g INT, h VARCHAR)")
    connection.execute("INSERT INTO changed VALUES (1, NULL), (NULL, 'b''c')")
    return connection


FILTERED = [
    ("SELECT g, SUM(x) AS s FROM t GROUP BY g", ["g"], [1, None]),
    ("SELECT g, SUM(x) AS s FROM t WHERE x = 1 OR x = 4 AND h = 'a' GROUP BY g", ["g"], [2]),
    ("SELECT g AS q, h, COUNT(*) AS n FROM t GROUP BY 1, h", ["q", "h"], [(1, None), (2, "a")]),
    ("SELECT h, COUNT(*) AS n FROM t GROUP BY h", ["h"], ["b'c", None]),
    ("SELECT d, COUNT(*) AS n FROM t GROUP BY d", ["d"], [date(2024, 1, 1)]),
    ("SELECT g + 1 AS e, COUNT(*) AS n FROM t GROUP BY g + 1", ["e"], [2, None]),
    ("SELECT g, SUM(x) AS s FROM t GROUP BY ROLLUP (g)", ["g"], [None]),
    ("SELECT g, SUM(x) AS s FROM t GROUP BY g", ["s"], [3]),
    ("SELECT g, x FROM t WHERE x IN (SELECT x FROM t WHERE x > 1)", ["g"], [1]),
    ("SELECT g, RANK() OVER (ORDER BY x) AS r FROM t", ["g"], [2]),
    ("SELECT DISTINCT g FROM t", ["g"], [1]),
    ("SELECT * FROM t", ["g"], [None]),
    ("SELECT g FROM t UNION ALL SELECT x FROM t", ["g"], [1, 2]),
    ("SELECT g, x FROM t ORDER BY x LIMIT 2", ["g"], [1]),
    ("SELECT g, SUM(x) AS s FROM t GROUP BY g", ["g"], []),
]


@pytest.mark.parametrize(("sql", "columns", "keys"), FILTERED)
def test_key_filter_keeps_exactly_the_rows_of_the_keys(
    plain: duckdb.DuckDBPyConnection, sql: str, columns: list[str], keys: list
) -> None:
    text = add_affected_keys_filter(sql, columns, keys, dialect="duckdb")
    names = [item[0] for item in plain.execute(sql).description or []]
    places = [names.index(column) for column in columns]
    wanted = {key if isinstance(key, tuple) else (key,) for key in keys}
    expected = [
        row
        for row in plain.execute(sql).fetchall()
        if tuple(row[place] for place in places) in wanted
    ]
    assert bag(plain.execute(text).fetchall()) == bag(expected), text


def test_key_filter_by_a_relation_is_a_null_safe_semi_join(
    plain: duckdb.DuckDBPyConnection,
) -> None:
    sql = "SELECT g, h, SUM(x) AS s FROM t WHERE x > 0 OR x < 0 GROUP BY g, h"
    text = add_affected_keys_filter(sql, ["g", "h"], "changed", dialect="duckdb")
    assert "GROUP BY g, h" in text.split("EXISTS")[1]
    assert bag(plain.execute(text).fetchall()) == bag([(1, None, 2), (None, "b'c", 3)])


def test_key_that_is_no_output_is_an_error() -> None:
    with pytest.raises(UnknownColumnError):
        add_affected_keys_filter("SELECT SUM(x) AS s FROM t GROUP BY g", ["g"], [1])


def test_composite_keys() -> None:
    assert create_composite_key_in_clause(["a", "b"], [(1, 2), (3, 4)]) == (
        "(a, b) IN ((1, 2), (3, 4))"
    )
    assert create_composite_key_in_clause(["a"], [None]) == "a IS NULL"
    assert create_composite_key_in_clause(["a"], []) == "FALSE"
    with pytest.raises(ValueError, match="2 values for 1 columns"):
        create_composite_key_in_clause(["a"], [(1, 2)])
    with pytest.raises(ValueError, match="relation"):
        create_composite_key_in_clause(["a"], list(range(20_000)))


def test_prepared_query_is_full_restricted_or_nothing() -> None:
    sql = "SELECT cid, COUNT(*) AS n FROM orders GROUP BY cid"
    full = prepare_refresh_query(sql, PINS)
    assert full == "SELECT cid, COUNT(*) AS n FROM orders VERSION AS OF 42 GROUP BY cid"
    some = prepare_refresh_query(sql, PINS, key_columns=["cid"], keys=[10])
    assert some is not None
    assert "VERSION AS OF 42 WHERE cid IN (10)" in some
    assert prepare_refresh_query(sql, PINS, key_columns=["cid"], keys=[]) is None
    by_relation = prepare_refresh_query(sql, PINS, key_columns=["cid"], keys="changed")
    assert by_relation is not None
    assert "changed VERSION" not in by_relation
    hidden = "SELECT COUNT(*) AS n FROM orders GROUP BY cid"
    whole = prepare_refresh_query(hidden, PINS, key_columns=["cid"], keys=[10])
    assert whole is not None
    assert "WHERE" not in whole
    with pytest.raises(UnknownTableError):
        prepare_refresh_query("SELECT * FROM products", PINS)


def test_the_page_of_the_docs_runs() -> None:
    page = Path(__file__).parents[2] / "docs" / "pinned-queries.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 8
    assert found.failed == 0


def test_the_functions_are_exported() -> None:
    assert grebe.prepare_refresh_query is prepare_refresh_query
    assert grebe.rewrite_query_with_snapshots is rewrite_query_with_snapshots
    assert grebe.add_affected_keys_filter is add_affected_keys_filter
    assert grebe.create_composite_key_in_clause is create_composite_key_in_clause
