"""A format that the package has never heard of holds a source of a view like any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from formats.in_memory.catalog import create
from grebe import config, known_formats
from grebe.engine.engine import Engine
from grebe.known_formats import KNOWN, KnownFormat
from grebe.model import Column, Outcome, Policy, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
TOML = """
[defaults]
catalog = "lake"
[catalogs.lake]
format = "iceberg"
spark_catalog = "lake"
[catalogs.mem]
format = "memory"
root = "mem"
"""
ORDERS = TableName("mem", "shop", "orders")


def test_a_view_over_a_new_format_is_refreshed_by_its_changes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = KnownFormat("memory", "formats.in_memory.spec", holds_views=False)
    monkeypatch.setattr(known_formats, "KNOWN", (*KNOWN, line))
    (tmp_path / "grebe.toml").write_text(TOML)
    orders = create(
        str(tmp_path / "mem"), ORDERS, Column(1, "id", "bigint"), Column(2, "amount", "bigint")
    )
    orders.write(pa.table({"id": [1, 2, 2], "amount": [10, 20, 20]}))
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.fresh")
    engine = Engine(config.load(tmp_path), spark)
    text = "SELECT id, SUM(amount) AS total FROM mem.shop.orders GROUP BY id"
    engine.define("fresh.sums", text, policy=Policy.INCREMENTAL)
    assert [result.outcome for result in engine.refresh()] == [Outcome.FULL]
    orders.write(pa.table({"id": [2, 2, 3], "amount": [20, 25, 30]}))
    assert [result.outcome for result in engine.refresh()] == [Outcome.INCREMENTAL]
    rows = spark.sql("SELECT id, total FROM lake.fresh.sums ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(2, 45), (3, 30)]
