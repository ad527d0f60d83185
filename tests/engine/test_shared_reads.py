"""Rows that a step needs at both versions are read once, and are the rows of both versions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from grebe import thresholds
from grebe.compiler.write.steps import ReadBoth
from grebe.config import Settings
from grebe.engine import execute
from grebe.model import Outcome

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

VIEWS = {
    "above": "SELECT o.id, o.amount FROM {s}.orders AS o JOIN {s}.customers AS c ON o.cust = c.cust"
    " WHERE c.nation = 'n1'"
    " AND o.amount > (SELECT AVG(p.amount) FROM {s}.orders AS p WHERE p.cust = c.cust)",
    "ranked": "SELECT c.nation, q.id, q.place FROM {s}.customers AS c LEFT JOIN"
    " (SELECT cust, id, RANK() OVER (PARTITION BY cust ORDER BY amount) AS place"
    " FROM {s}.orders WHERE amount > 20) AS q ON q.cust = c.cust",
    "largest": "SELECT c.nation, q.most FROM {s}.customers AS c LEFT JOIN"
    " (SELECT cust, MAX(amount) AS most FROM {s}.orders GROUP BY cust) AS q ON q.cust = c.cust",
    "scores": "SELECT score, days, COUNT(*) AS n FROM (SELECT cust, MAX(score) AS score,"
    " COUNT(DISTINCT day) AS days FROM {s}.orders WHERE id % 3 <> 1 GROUP BY cust)"
    " GROUP BY score, days",
}
_numbers = itertools.count()


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    return Shop.opened(spark, project, f"both{next(_numbers)}", orders=300)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """The runs of views that read a table once, with its rows at the new and the old version."""
    found: list[tuple[str, int, int]] = []
    plain = execute.Execution._read_both
    apart_as_ever = execute.taken_apart

    def noted(self: execute.Execution, item: ReadBoth) -> None:
        def apart(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
            new, old = apart_as_ever(rows)
            found.append((self.run_id, new.num_rows, old.num_rows))
            return new, old

        with monkeypatch.context() as patch:
            patch.setattr(execute, "taken_apart", apart)
            plain(self, item)

    monkeypatch.setattr(execute.Execution, "_read_both", noted)
    return found


def test_both_versions_come_from_one_read(
    shop: Shop, reads: list[tuple[str, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thresholds, "SHARED_SOURCE_ROWS", 0)
    for name, text in VIEWS.items():
        shop.view(name, text)
    shop.refreshed()
    shop.sql("INSERT INTO {s}.orders SELECT id, cust, amount, day, score FROM {s}.orders LIMIT 40")
    reads.clear()
    shop.batch(0)
    results = shop.refreshed()
    assert {result.outcome for result in results.values()} == {Outcome.INCREMENTAL}
    assert {run for run, _, _ in reads} == {result.run_id for result in results.values()}
    assert any(new != old for _, new, old in reads)


def test_small_tables_are_read_as_they_are(shop: Shop, reads: list[tuple[str, int, int]]) -> None:
    shop.view("above", VIEWS["above"])
    shop.refreshed()
    shop.batch(0)
    shop.refreshed()
    assert not reads
