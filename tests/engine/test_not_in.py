"""NOT IN is hashed as Spark hashes it: a loop over all pairs never ends on real tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from grebe.config import Settings
from grebe.engine.engine import Engine
from grebe.engine.execute import Execution

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VIEWS = {
    "absent": "SELECT cust FROM {s}.asked WHERE cust NOT IN (SELECT cust FROM {s}.seen)",
    "none": "SELECT cust FROM {s}.asked WHERE NOT (cust IN (SELECT cust FROM {s}.seen WHERE n > 9))",
    "made": "SELECT cust + 1 AS c FROM {s}.asked WHERE cust + 1 NOT IN (SELECT n * 2 FROM {s}.seen)",
}


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    shop = Shop(spark, Engine(project, spark), "not_in")
    shop.sql("CREATE NAMESPACE {s}")
    return shop


def _loops(spark: SparkSession, text: str) -> list[str]:
    plan = spark.sql(f"EXPLAIN {text}").collect()[0][0]
    slow = ("BroadcastNestedLoopJoin", "CartesianProduct")
    return [line.strip() for line in plan.splitlines() if any(word in line for word in slow)]


def test_no_loop_over_pairs(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when the view is built nor when it follows changes, with NULLs on either side."""
    shop.sql("CREATE TABLE {s}.asked (cust INT) USING iceberg")
    shop.sql("CREATE TABLE {s}.seen (cust INT, n INT) USING iceberg")
    shop.sql("INSERT INTO {s}.asked VALUES (1), (2), (NULL), (4)")
    shop.sql("INSERT INTO {s}.seen VALUES (1, 1), (4, 2)")
    for name, text in VIEWS.items():
        assert _loops(shop.spark, text.format(s=f"lake.{shop.schema}")) == []
        shop.view(name, text)
    said: list[str] = []
    plain = Execution.sql

    def noted(execution: Execution, node: object) -> str:
        text = plain(execution, node)  # type: ignore[arg-type]
        if "ANTI JOIN" in text:
            said.append(text)
            assert _loops(execution.spark, text) == [], text
        return text

    monkeypatch.setattr(Execution, "sql", noted)
    shop.refreshed()
    assert said
    for change in (
        "INSERT INTO {s}.seen VALUES (2, 3), (7, 1), (NULL, 10)",
        "INSERT INTO {s}.asked VALUES (8), (NULL)",
        "DELETE FROM {s}.seen WHERE cust IS NULL",
        "DELETE FROM {s}.seen WHERE n < 100",
    ):
        shop.sql(change)
        assert not any(result.error for result in shop.engine.refresh())
        for name, text in VIEWS.items():
            shop.equals(name, text)
