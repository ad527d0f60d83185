"""Rows of a query: written by Spark, registered by DuckDB, read natively again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formats.commit.lake import frontier
from formats.ducklake.lakes import Lake
from formats.ducklake.views import View
from grebe.errors import SourceError, StepFailedError
from grebe.formats.base import ACTION, Append, Merge, Overwrite, Rows
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.model import Column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_queries_are_appended_merged_and_read_again(spark: SparkSession, lake: Lake) -> None:
    view = View(lake, spark).create()
    storage = view.storage
    rows = "SELECT 1 AS n, CAST(id AS STRING) AS v, id AS k FROM range(0, 40, 1, 2)"
    first = storage.commit([Append(Rows(sql=rows))], frontier("r1"), storage.position())
    assert (first.rows_inserted, storage.orphans()) == (40, ())
    change = (
        f"SELECT 3L AS k, 'x' AS v, 9 AS n, 'update' AS {ACTION} UNION ALL"
        f" SELECT 4L, NULL, NULL, 'delete' UNION ALL SELECT NULL, 'new', 0, 'insert'"
    )
    merge = Merge(Rows(sql=change), ("k",), expect_updated=1, expect_deleted=1)
    done = storage.commit([merge], frontier("r2"), storage.position())
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (1, 1, 1)
    source = DuckLakeSource(view.name, lake.address, spark=lambda: spark)
    assert source.head().version == done.version
    frame = source.read_at(done.version, [1, 2, 3])
    assert frame.inputFiles()
    found = sorted((tuple(row) for row in frame.collect()), key=str)
    assert found == sorted(view.sql("SELECT k, v, n FROM {t}"), key=str)
    assert (3, "x", 9) in found
    assert (None, "new", 0) in found
    assert len(found) == 40
    nothing = Overwrite(Rows(sql="SELECT 1L AS k, 'a' AS v, 1L AS n WHERE false"))
    storage.commit([nothing], frontier("r3"), storage.position())
    assert view.rows() == []
    assert storage.position().foreign == ()


def test_a_failing_query_leaves_nothing(spark: SparkSession, lake: Lake) -> None:
    view = View(lake, spark).create()
    view.build([[1, "a", 10]])
    before = view.storage.position()
    write = Append(Rows(sql="SELECT raise_error('boom') AS v, 1L AS k, 1L AS n"))
    with pytest.raises(StepFailedError) as caught:
        view.storage.commit([write], frontier("r2"), before)
    assert "boom" in (caught.value.detail or "")
    assert view.storage.position() == before
    assert view.storage.orphans() == ()


def test_odd_names_and_types_survive(spark: SparkSession, lake: Lake) -> None:
    columns = (
        Column(1, "a b", "DECIMAL(9,2)"),
        Column(2, "it's `q`", "TIMESTAMP"),
        Column(3, "x.y", "MAP<STRING, ARRAY<INT>>"),
        Column(4, "select", "STRUCT<`p q`: MAP<INT, STRING>, r: BINARY>"),
        Column(5, "Ünï", "ARRAY<MAP<STRING, INT>>"),
        Column(6, "nt", "TIMESTAMP_NTZ"),
    )
    view = View(lake, spark, columns).create()
    values = """CAST(1.5 AS DECIMAL(5,1)) AS `a b`, TIMESTAMP'2020-01-01 00:00:00' AS `it's ``q```,
        map('b', array(2), 'a', array(1)) AS `x.y`,
        named_struct('p q', map(2, 'y', 1, 'x'), 'r', X'00ff') AS `select`,
        array(map('q', 1), NULL) AS `Ünï`, TIMESTAMP_NTZ'1969-12-31 23:59:59.999999' AS nt"""
    nulls = ", ".join(["NULL"] * 6)
    view.storage.commit(
        [Append(Rows(sql=f"SELECT {values} UNION ALL SELECT {nulls}"))],
        frontier("r1"),
        view.storage.position(),
    )
    reordered = values.replace(
        "map('b', array(2), 'a', array(1))", "map('a', array(1), 'b', array(2))"
    ).replace("map(2, 'y', 1, 'x')", "map(1, 'x', 2, 'y')")
    delete = Merge(
        Rows(sql=f"SELECT {reordered}, 'delete' AS {ACTION} UNION ALL SELECT {nulls}, 'delete'"),
        on=tuple(column.name for column in columns),
        expect_updated=0,
        expect_deleted=2,
    )
    view.storage.commit([delete], frontier("r2"), view.storage.position())
    assert view.sql("SELECT count(*) FROM {t}") == [(0,)]


def test_nothing_plain_is_written_into_an_encrypted_lake(
    spark: SparkSession, opened: Callable[..., Lake]
) -> None:
    lake = opened("duckdb", ", ENCRYPTED")
    lake.run("CREATE TABLE lake.t (id INTEGER)")
    view = View(lake, spark).create()
    query = Append(Rows(sql="SELECT 1L AS k, 'a' AS v, 1L AS n"))
    with pytest.raises(SourceError) as caught:
        view.storage.commit([query], frontier("r1"), view.storage.position())
    assert caught.value.code == "catalog-encrypted"
    assert list(Path(lake.address.data_path or "").rglob("*.parquet")) == []
    assert view.storage.position().frontier is None
