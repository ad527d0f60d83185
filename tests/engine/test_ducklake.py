"""Views over DuckLake and Iceberg, stored in DuckLake; DuckDB reads the public names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from grebe import config
from grebe.engine.engine import Engine
from grebe.engine.refresh import RefreshResult
from grebe.model import Outcome, Policy
from grebe.program import load_extensions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOML = """
[defaults]
catalog = "duck"
schema = "shop"
[catalogs.lake]
format = "iceberg"
spark_catalog = "lake"
[catalogs.duck]
format = "ducklake"
uri = "ducklake:sqlite:{folder}/meta.sqlite"
root = "{folder}/data"
"""
TOTALS = """
    SELECT c.nation, COUNT(*) AS n, SUM(o.amount) AS total, MAX(o.id) AS latest
    FROM shop.orders AS o JOIN lake.ducks.customers AS c ON o.cust = c.cust
    GROUP BY c.nation HAVING COUNT(*) > 1"""
JOINED = """
    SELECT o.id, o.amount, c.nation FROM shop.orders AS o
    LEFT JOIN lake.ducks.customers AS c ON o.cust = c.cust WHERE o.amount > 2"""


class Ducks:
    """Orders in DuckLake, customers in Iceberg."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        (folder / "grebe.toml").write_text(TOML.format(folder=folder))
        self.spark = spark
        self.duck = duckdb.connect(config={"threads": 1})
        load_extensions(self.duck, "ducklake", "sqlite_scanner")
        self.duck.execute(
            f"ATTACH 'ducklake:sqlite:{folder}/meta.sqlite' AS duck (DATA_PATH '{folder}/data/',"
            " META_BUSY_TIMEOUT 10000, META_JOURNAL_MODE 'WAL')"
        )
        self.run(
            "CREATE SCHEMA duck.shop",
            "CREATE TABLE duck.shop.orders (id BIGINT, cust BIGINT, amount DECIMAL(10,2))",
            "INSERT INTO duck.shop.orders SELECT i, i % 11, i % 7 FROM range(300) r(i)",
        )
        for text in (
            "CREATE NAMESPACE IF NOT EXISTS lake.ducks",
            "DROP TABLE IF EXISTS lake.ducks.customers",
            "CREATE TABLE lake.ducks.customers (cust BIGINT, nation STRING) USING iceberg",
            "INSERT INTO lake.ducks.customers SELECT id, concat('n', id % 3) FROM range(9)",
        ):
            spark.sql(text).collect()
        self.engine = Engine(config.load(folder), spark)

    def run(self, *statements: str) -> None:
        for text in statements:
            self.duck.execute(text)

    def refreshed(self) -> dict[str, RefreshResult]:
        results = self.engine.refresh()
        for result in results:
            assert result.error is None, result.error.explain()
            self.engine.verify(str(result.view))
        return {result.view.name: result for result in results}


def outcomes(results: dict[str, RefreshResult]) -> set[Outcome]:
    return {result.outcome for result in results.values()}


@pytest.mark.laws
def test_views_in_ducklake_follow_their_sources(spark: SparkSession, tmp_path: Path) -> None:
    ducks = Ducks(spark, tmp_path)
    ducks.engine.define("shop.totals", TOTALS, Policy.INCREMENTAL)
    ducks.engine.define("shop.joined", JOINED, Policy.INCREMENTAL)
    ducks.engine.define(
        "shop.nations",
        "SELECT nation, SUM(amount) AS total, COUNT(*) AS n FROM shop.joined GROUP BY nation",
        Policy.INCREMENTAL,
    )
    assert outcomes(ducks.refreshed()) == {Outcome.FULL}
    assert outcomes(ducks.refreshed()) == {Outcome.NO_OP}
    ducks.run(
        "DELETE FROM duck.shop.orders WHERE id % 50 = 1",
        "UPDATE duck.shop.orders SET amount = amount + 1, cust = NULL WHERE id = 7",
        "INSERT INTO duck.shop.orders VALUES (900, 2, 5.5), (900, 2, 5.5)",
    )
    spark.sql("UPDATE lake.ducks.customers SET nation = 'moved' WHERE cust = 4").collect()
    assert outcomes(ducks.refreshed()) == {Outcome.INCREMENTAL}
    ducks.run(
        "CALL ducklake_flush_inlined_data('duck')",
        "CALL ducklake_merge_adjacent_files('duck')",
        "CALL ducklake_rewrite_data_files('duck', delete_threshold => 0)",
    )
    assert outcomes(ducks.refreshed()) == {Outcome.NO_OP}
    ducks.run("DELETE FROM duck.shop.orders WHERE cust = 2")
    assert Outcome.FULL not in outcomes(ducks.refreshed())
    shown = ducks.duck.execute("FROM duck.shop.totals").fetchall()
    customers = [tuple(row) for row in spark.table("lake.ducks.customers").collect()]
    ducks.duck.execute("CREATE TEMP TABLE customers (cust BIGINT, nation VARCHAR)")
    ducks.duck.executemany("INSERT INTO customers VALUES (?, ?)", customers)
    wanted = ducks.duck.execute(
        TOTALS.replace("lake.ducks.customers", "customers").replace(
            "shop.orders", "duck.shop.orders"
        )
    ).fetchall()
    assert Counter(shown) == Counter(wanted)
