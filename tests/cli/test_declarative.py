"""The declarative examples, run on Spark and compared with the SQL that means the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.declarative.__main__ import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_F193_to_F199_definitions_without_sql_equal_their_sql(
    spark: SparkSession, tmp_path: Path
) -> None:
    outcomes = main(tmp_path / "shop", spark)
    assert outcomes == {
        "OrderAnalyticsView": ["full", "incremental"],
        "OrderMetricsView": ["full", "incremental"],
        "SpreadView": ["full", "incremental"],
    }
