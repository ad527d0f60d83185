"""Rows of a source that are near a change: read once for all views of a run, and enough for each."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from engine.shop import VIEWS, Shop
from grebe import thresholds
from grebe.config import Settings
from grebe.engine import kept_rows
from grebe.engine.kept_rows import Kept, NearRows
from grebe.errors import InternalError
from grebe.formats.iceberg.source import IcebergSource
from grebe.model import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_numbers = count()

MORE = {
    "known": "SELECT id, amount FROM {s}.orders AS o"
    " WHERE EXISTS (SELECT 1 FROM {s}.customers AS c WHERE c.cust = o.cust)",
    "unknown": "SELECT id, cust FROM {s}.orders AS o"
    " WHERE NOT EXISTS (SELECT 1 FROM {s}.customers AS c WHERE c.cust = o.cust)",
    "above": "SELECT o.id, o.amount FROM {s}.orders AS o JOIN {s}.customers AS c ON o.cust = c.cust"
    " WHERE o.amount > (SELECT AVG(p.amount) FROM {s}.orders AS p WHERE p.cust = c.cust)",
    "united": "SELECT o.id, q.cust FROM {s}.orders AS o LEFT JOIN"
    " (SELECT cust FROM {s}.customers UNION ALL SELECT cust FROM {s}.customers) AS q"
    " ON q.cust = o.cust",
    "pairs": "SELECT o.id AS one, p.id AS other FROM {s}.orders AS o JOIN {s}.orders AS p"
    " ON o.cust = p.cust AND o.day <=> p.day AND o.id < p.id",
}
Reads = list[tuple[str, str, Kept | None]]


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    return Shop.opened(spark, project, f"nearby{next(_numbers)}", orders=300)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """What was kept, in a world where every table is large."""
    monkeypatch.setattr(thresholds, "KEPT_SOURCE_ROWS", 0)
    monkeypatch.setattr(thresholds, "KEPT_SHARE", 0.001)
    found: Reads = []
    plain = NearRows.read

    def noted(self: NearRows, spark: SparkSession) -> Kept | None:
        kept = plain(self, spark)
        found.append((self.side.source.name.name, self.column, kept))
        return kept

    monkeypatch.setattr(NearRows, "read", noted)
    return found


def test_every_part_is_read_once_and_is_enough(shop: Shop, reads: Reads) -> None:
    for name, text in MORE.items():
        shop.view(name, text)
    shop.define(*VIEWS)
    shop.refreshed()
    reads.clear()
    shop.batch(0)
    results = shop.refreshed(jobs=2)
    assert {result.outcome for result in results.values()} <= {Outcome.INCREMENTAL, Outcome.NO_OP}
    kept = [(table, column) for table, column, rows in reads if rows is not None]
    # Views over orders alone know nothing of the changed customers: they have keys of their own.
    assert sorted(kept) == [("customers", "cust"), ("orders", "cust"), ("orders", "cust")]


def test_tables_that_are_small_are_read_as_they_are(
    shop: Shop, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thresholds, "KEPT_SOURCE_ROWS", 10_000)
    shop.view("known", MORE["known"])
    shop.view("unknown", MORE["unknown"])
    shop.refreshed()
    shop.batch(0)
    shop.refreshed()
    assert not reads


def test_views_that_stand_at_different_versions(shop: Shop, reads: Reads) -> None:
    for name, text in MORE.items():
        shop.view(name, text)
    shop.refreshed()
    shop.batch(0)
    shop.engine.refresh([f"{shop.schema}.known"])
    shop.batch(1)
    shop.refreshed(jobs=2)
    assert len([kept for _, _, kept in reads if kept]) > 2


def test_keys_of_a_union(shop: Shop, reads: Reads) -> None:
    """No column of one source is set equal to another's: the scans alone say which deltas count."""
    shop.view("united", MORE["united"])
    shop.view("again", MORE["united"].replace("o.id", "o.id + 1 AS id"))
    shop.refreshed()
    shop.sql("INSERT INTO {s}.customers VALUES (18, 'n'), (19, 'n')")
    shop.sql("DELETE FROM {s}.orders WHERE id = 3")
    results = shop.refreshed()
    assert {result.outcome for result in results.values()} == {Outcome.INCREMENTAL}
    assert ("orders", "cust") in {(table, column) for table, column, kept in reads if kept}


def test_a_column_that_only_another_view_reads_and_the_window_lacks(
    shop: Shop, reads: Reads
) -> None:
    shop.view("above", MORE["above"])
    shop.view("known", MORE["known"])
    shop.refreshed()
    shop.sql("ALTER TABLE {s}.orders ADD COLUMN note STRING")
    shop.sql("INSERT INTO {s}.orders VALUES (7000, 4, 50, DATE'2026-01-01', 0.5, 'new')")
    shop.sql("DELETE FROM {s}.orders WHERE id % 50 = 3")
    shop.view("noted", "SELECT cust, MAX(note) AS note FROM {s}.orders GROUP BY cust")
    results = shop.refreshed()
    assert results["above"].outcome is Outcome.INCREMENTAL
    assert any(kept for _, _, kept in reads)


def by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the driver cannot read the files: Spark brings the rows."""
    monkeypatch.setattr(IcebergSource, "rows_on_driver", lambda *_given: None)


def test_a_result_that_is_too_large_for_the_driver(
    shop: Shop, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_spark(monkeypatch)
    monkeypatch.setattr(kept_rows, "collect", lambda _frame: None)
    shop.view("above", MORE["above"])
    shop.refreshed()
    shop.batch(0)
    shop.refreshed()
    assert reads
    assert {kept for _, _, kept in reads} == {None}


def test_rows_that_do_not_hold_their_change_are_a_bug(
    shop: Shop, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.view("above", MORE["above"])
    shop.refreshed()
    shop.sql("INSERT INTO {s}.orders VALUES (7000, 4, 50, DATE'2026-01-01', 0.5)")
    by_spark(monkeypatch)
    plain = kept_rows.collect
    monkeypatch.setattr(kept_rows, "collect", lambda frame: plain(frame.where("id < 7000")))
    error = shop.failed("above")
    assert reads
    assert isinstance(error, InternalError)
