"""Sources in three formats and storage in a fourth place: a view like any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grebe import config
from grebe.config import Settings
from grebe.engine.engine import Engine
from grebe.engine.refresh import RefreshResult
from grebe.model import Outcome, Policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOML = """
[defaults]
catalog = "views"
schema = "shop"
[catalogs.lake]
format = "iceberg"
spark_catalog = "lake"
[catalogs.folders]
format = "delta"
root = "folders"
[catalogs.files]
format = "parquet"
root = "files"
[catalogs.views]
format = "delta"
root = "views"
"""
QUERY = """
    SELECT c.nation, d.name, COUNT(*) AS n, SUM(o.amount) AS total, MAX(o.id) AS latest
    FROM folders.shop.orders AS o
    JOIN lake.mixed.customers AS c ON o.cust = c.cust
    LEFT JOIN files.shop.days AS d ON o.day = d.day
    GROUP BY c.nation, d.name"""
JOINED = """
    SELECT o.id, o.amount, c.nation FROM folders.shop.orders AS o
    JOIN lake.mixed.customers AS c ON o.cust = c.cust"""


class Mixed:
    """A lake of three formats."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        (folder / "grebe.toml").write_text(TOML)
        self.spark = spark
        self.folder = folder
        self.orders = f"delta.`{folder}/folders/shop/orders`"
        settings: Settings = config.load(folder)
        self.engine = Engine(settings, spark)
        self.sql(
            "CREATE NAMESPACE IF NOT EXISTS lake.mixed",
            "DROP TABLE IF EXISTS lake.mixed.customers",
            "CREATE TABLE lake.mixed.customers (cust BIGINT, nation STRING) USING iceberg",
            "INSERT INTO lake.mixed.customers SELECT id, concat('n', id % 3) FROM range(9)",
            f"CREATE TABLE {self.orders} (id BIGINT, cust BIGINT, amount DECIMAL(10,2), day INT)"
            " USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
            f"INSERT INTO {self.orders} SELECT id, id % 11, id % 7, id % 4 FROM range(0, 300, 1, 1)",
        )
        self.days("SELECT CAST(id AS INT) AS day, concat('d', id) AS name FROM range(3)")

    def sql(self, *statements: str) -> None:
        for text in statements:
            self.spark.sql(text).collect()

    def days(self, query: str) -> None:
        """Put another file into the Parquet folder."""
        target = str(self.folder / "files" / "shop" / "days")
        self.spark.sql(query).coalesce(1).write.mode("append").parquet(target)

    def refreshed(self) -> dict[str, RefreshResult]:
        results = self.engine.refresh()
        for result in results:
            assert result.error is None, result.error.explain()
            self.engine.verify(str(result.view))
        return {result.view.name: result for result in results}


def outcomes(results: dict[str, RefreshResult]) -> set[Outcome]:
    return {result.outcome for result in results.values()}


@pytest.mark.laws
def test_a_view_over_three_formats_follows_each(spark: SparkSession, tmp_path: Path) -> None:
    mixed = Mixed(spark, tmp_path)
    mixed.engine.define("shop.totals", QUERY, Policy.INCREMENTAL)
    mixed.engine.define("shop.joined", JOINED, Policy.INCREMENTAL)
    assert outcomes(mixed.refreshed()) == {Outcome.FULL}
    assert outcomes(mixed.refreshed()) == {Outcome.NO_OP}
    mixed.sql(
        f"DELETE FROM {mixed.orders} WHERE id % 50 = 1",
        f"UPDATE {mixed.orders} SET amount = amount + 1, cust = NULL WHERE id = 7",
        f"INSERT INTO {mixed.orders} VALUES (900, 2, 1.5, NULL), (900, 2, 1.5, NULL)",
        "UPDATE lake.mixed.customers SET nation = 'moved' WHERE cust = 4",
    )
    mixed.days("SELECT 3 AS day, 'late' AS name")
    results = mixed.refreshed()
    assert outcomes(results) == {Outcome.INCREMENTAL}
    mixed.sql(f"OPTIMIZE {mixed.orders}")
    assert outcomes(mixed.refreshed()) == {Outcome.NO_OP}
    mixed.days("SELECT 9 AS day, 'unused' AS name")
    after = mixed.refreshed()["totals"]
    assert (after.outcome, after.rows_out) == (Outcome.NO_OP, 0)
    next((tmp_path / "files" / "shop" / "days").glob("*.parquet")).unlink()
    rebuilt = mixed.refreshed()
    assert rebuilt["totals"].outcome is Outcome.FULL
    assert [reason.code for reason in rebuilt["totals"].reasons] == ["files-vanished"]
    assert rebuilt["joined"].outcome is Outcome.NO_OP


def test_a_view_over_a_view_in_delta(spark: SparkSession, tmp_path: Path) -> None:
    mixed = Mixed(spark, tmp_path)
    mixed.engine.define("shop.joined", JOINED, Policy.INCREMENTAL)
    mixed.engine.define(
        "shop.nations",
        "SELECT nation, SUM(amount) AS total, COUNT(*) AS n FROM shop.joined GROUP BY nation",
        Policy.INCREMENTAL,
    )
    mixed.refreshed()
    mixed.sql(f"UPDATE {mixed.orders} SET amount = amount + 1 WHERE id % 40 = 3")
    assert outcomes(mixed.refreshed()) == {Outcome.INCREMENTAL}
    assert outcomes(mixed.refreshed()) == {Outcome.NO_OP}
