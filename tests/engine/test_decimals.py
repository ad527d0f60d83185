"""Sums and averages of decimals stay what Spark's own SUM and AVG give, at every precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from grebe.config import Settings
from grebe.model import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KINDS = ((5, 0), (7, 2), (10, 1), (18, 4), (24, 6), (24, 0), (25, 6), (28, 10), (38, 10))


def test_sums_and_averages_at_every_precision(spark: SparkSession, project: Settings) -> None:
    shop = Shop.opened(spark, project, "decimals", orders=1)
    columns = ", ".join(f"d{p}_{s} DECIMAL({p},{s})" for p, s in KINDS)
    shop.sql(f"CREATE TABLE {{s}}.numbers (g INT, {columns}, i INT, l BIGINT) USING iceberg")
    values = ", ".join(f"CAST(id % 97 / 7.0 - 5 AS DECIMAL({p},{s}))" for p, s in KINDS)
    shop.sql(
        f"INSERT INTO {{s}}.numbers SELECT CAST(id % 3 AS INT), {values}, CAST(id AS INT),"
        " id * 1000000007 FROM range(300)"
    )
    names = [f"d{p}_{s}" for p, s in KINDS] + ["i", "l"]
    calls = ", ".join(f"SUM({n}) AS sum_{n}, AVG({n}) AS avg_{n}" for n in names)
    shop.view("totals", f"SELECT g, {calls} FROM {{s}}.numbers GROUP BY g")
    shop.refreshed()
    for step in range(3):
        shop.sql(f"DELETE FROM {{s}}.numbers WHERE i % 11 = {step}")
        shop.sql(f"INSERT INTO {{s}}.numbers SELECT * FROM {{s}}.numbers WHERE i % 13 = {step}")
        shop.sql(f"UPDATE {{s}}.numbers SET g = g + 1 WHERE i % 17 = {step}")
        result = shop.refreshed()["totals"]
        assert result.outcome is Outcome.INCREMENTAL
    public = shop.spark.table("lake.decimals.totals")
    query = shop.spark.sql(f"SELECT g, {calls} FROM lake.decimals.numbers GROUP BY g")
    assert public.dtypes == query.dtypes


def test_no_digit_is_lost_of_what_is_taken_away(spark: SparkSession, project: Settings) -> None:
    """Spark's `-x` keeps 34 digits of a decimal: what went would have stayed in the sum in part."""
    shop = Shop.opened(spark, project, "digits", orders=1)
    shop.sql(
        "CREATE TABLE {s}.long (id INT, g INT, a DECIMAL(38,4), b DECIMAL(38,10)) USING iceberg"
    )
    shop.sql(
        "INSERT INTO {s}.long SELECT CAST(id AS INT), CAST(id % 2 AS INT),"
        " CAST('1234567890123456789012345678901234.5678' AS DECIMAL(38,4)),"
        " CAST('123456789012345678901234567.5678901239' AS DECIMAL(38,10))"
        " FROM range(6)"
    )
    shop.view("sums", "SELECT g, SUM(a) AS a, SUM(b) AS b FROM {s}.long GROUP BY g")
    shop.view("sum_a", "SELECT g, SUM(a) AS a FROM {s}.long GROUP BY g")
    shop.view("whole", "SELECT SUM(a) AS a FROM {s}.long")
    shop.refreshed()
    for change in (
        "DELETE FROM {s}.long WHERE id = 2",
        "UPDATE {s}.long SET a = a + 0.0001, g = 1",
    ):
        shop.sql(change)
        assert {item.outcome for item in shop.refreshed().values()} == {Outcome.INCREMENTAL}
