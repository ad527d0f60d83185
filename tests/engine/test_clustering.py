"""In which order rows are stored: what people ask for, and what is chosen without them."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from grebe import thresholds
from grebe.config import Settings
from grebe.engine.clustering import is_ordered
from grebe.formats.base import KeyBounds
from grebe.model import Policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = datetime.date(2024, 1, 1)


def files(*ends: tuple[object, object], size: int = 100) -> list[KeyBounds]:
    return [KeyBounds("k", *pair, bytes=size) for pair in ends]


@pytest.mark.parametrize(
    ("found", "ordered"),
    [
        (files((0, 9), (10, 19), (20, 29)), True),
        (files((0, 10), (10, 20), (20, 30), (30, 40), (40, 50)), False),
        (files((0, 29), (0, 29), (0, 29)), False),
        (files((0, 9)), False),
        (files((DAY, DAY), (DAY + datetime.timedelta(1), DAY + datetime.timedelta(9))), True),
        (files((0, 9), (10, 19)) + files((0, 99), size=2), True),
        (files((None, None), (10, 19)), False),
        ([], False),
    ],
    ids=["apart", "touching", "mixed", "one", "days", "a small one", "unknown", "none"],
)
def test_files_are_in_an_order_when_their_ranges_hardly_overlap(
    found: list[KeyBounds], ordered: bool
) -> None:
    assert is_ordered(found) is ordered


@pytest.mark.spark
def test_large_views_lie_by_their_keys_or_like_their_largest_ordered_source(
    spark: SparkSession, project: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop.opened(spark, project, "ordered", orders=1)
    shop.sql("DELETE FROM {s}.orders")
    for low in (100, 0):
        shop.sql(
            "INSERT INTO {s}.orders SELECT id, hash(id) % 5, id, NULL, 0"
            f" FROM range({low}, {low + 100}) ORDER BY id DESC"
        )
    shop.view("joined", "SELECT o.id, c.nation FROM {s}.orders o JOIN {s}.customers c USING (cust)")
    shop.view("sums", "SELECT id, COUNT(*) AS n FROM {s}.orders GROUP BY id")

    def ids(name: str) -> list[int]:
        return [row[0] for row in spark.sql(f"SELECT id FROM lake.ordered.{name}").collect()]

    shop.refreshed()
    for name in ("joined", "sums"):
        assert ids(name) != sorted(ids(name))  # they are small
    monkeypatch.setattr(thresholds, "CLUSTERED_ROWS", 1)
    shop.refreshed(policy=Policy.FULL)
    for name in ("joined", "sums"):
        assert len(ids(name)) > 20
        assert ids(name) == sorted(ids(name))
