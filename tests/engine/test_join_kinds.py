"""No text that we run loops over all pairs of rows where Spark's own plan of the user's text does not."""

from __future__ import annotations

import itertools
from collections import Counter
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
    "filters": "SELECT k, x FROM {s}.r WHERE x > 3",
    "join": "SELECT r.k, s.y FROM {s}.r AS r JOIN {s}.s AS s ON r.k = s.k",
    "null_safe": "SELECT r.k, s.y FROM {s}.r AS r JOIN {s}.s AS s ON r.k <=> s.k",
    "lefts": "SELECT r.k, s.y FROM {s}.r AS r LEFT JOIN {s}.s AS s ON r.k = s.k AND s.y > 2",
    "full_join": "SELECT r.k, s.y FROM {s}.r AS r FULL JOIN {s}.s AS s ON r.k = s.k",
    "in_where": "SELECT k, x FROM {s}.r WHERE k IN (SELECT k FROM {s}.s)",
    "not_in": "SELECT k, x FROM {s}.r WHERE k NOT IN (SELECT k FROM {s}.s)",
    "in_value": "SELECT k, x, k IN (SELECT k FROM {s}.s) AS known FROM {s}.r",
    "in_or": "SELECT k, x FROM {s}.r WHERE x > 5 OR k IN (SELECT k FROM {s}.s)",
    "exists_where": "SELECT k FROM {s}.r WHERE EXISTS (SELECT 1 FROM {s}.s WHERE s.k = r.k)",
    "not_exists": "SELECT k FROM {s}.r WHERE NOT EXISTS (SELECT 1 FROM {s}.s WHERE s.k = r.k AND s.y > 1)",
    "exists_value": "SELECT k, EXISTS (SELECT 1 FROM {s}.s WHERE s.k = r.k) AS known FROM {s}.r",
    "in_two": "SELECT k, x FROM {s}.r WHERE (k, x) IN (SELECT k, y FROM {s}.s)",
    "scalar": "SELECT k, (SELECT MAX(y) FROM {s}.s WHERE s.k = r.k) AS most FROM {s}.r",
    "above_mean": "SELECT k, x FROM {s}.r AS r WHERE x > (SELECT AVG(x) FROM {s}.r AS q WHERE q.k = r.k)",
    "grouped": "SELECT k, SUM(x) AS total, MAX(x) AS most FROM {s}.r GROUP BY k",
    "distinct_count": "SELECT k, COUNT(DISTINCT x) AS n FROM {s}.r GROUP BY k",
    "median": "SELECT k, percentile(x, 0.5) AS mid FROM {s}.r GROUP BY k",
    "distincts": "SELECT DISTINCT k, x FROM {s}.r",
    "unions": "SELECT k FROM {s}.r UNION SELECT k FROM {s}.s",
    "except": "SELECT k FROM {s}.r EXCEPT SELECT k FROM {s}.s",
    "intersect": "SELECT k FROM {s}.r INTERSECT ALL SELECT k FROM {s}.s",
    "rank": "SELECT k, x, RANK() OVER (PARTITION BY k ORDER BY x) AS place FROM {s}.r",
    "running": "SELECT k, x, SUM(x) OVER (PARTITION BY k ORDER BY x, id) AS total FROM {s}.r",
    "top": "SELECT k, x FROM (SELECT k, x, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC, id) AS n"
    " FROM {s}.r) WHERE n <= 2",
    "unnested": "SELECT k, v FROM {s}.r LATERAL VIEW explode(array(x, id)) AS v",
    "over_group": "SELECT r.k, q.n FROM {s}.r AS r JOIN (SELECT k, COUNT(*) AS n FROM {s}.s GROUP BY k"
    " HAVING COUNT(*) > 1) AS q ON q.k = r.k",
}
SHORT = (
    "join",
    "lefts",
    "full_join",
    "not_in",
    "in_value",
    "in_or",
    "exists_value",
    "not_exists",
    "scalar",
)
"""Those whose rules write joins of their own; the long suite takes every operator."""
_numbers = itertools.count()
LOOPS = ("BroadcastNestedLoopJoin", "CartesianProduct")
CHANGES = (
    (
        "INSERT INTO {s}.s VALUES (2, 3), (7, 1)",
        "INSERT INTO {s}.r VALUES (90, 7, 4), (91, NULL, 2)",
    ),
    ("DELETE FROM {s}.s WHERE y = 2", "UPDATE {s}.r SET x = x + 1 WHERE k = 1"),
    ("INSERT INTO {s}.s VALUES (NULL, 5)", "DELETE FROM {s}.r WHERE k = 4"),
)


def _loops(spark: SparkSession, text: str) -> list[str]:
    plan = spark.sql(f"EXPLAIN {text}").collect()[0][0]
    return [line.strip() for line in plan.splitlines() if any(word in line for word in LOOPS)]


def _rows(shop: Shop, text: str) -> Counter[tuple[object, ...]]:
    """Collected: Spark's EXCEPT ALL of a query with IN in its SELECT list fails in its optimizer."""
    return Counter(map(tuple, shop.spark.sql(text.format(s=f"lake.{shop.schema}")).collect()))


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    shop = Shop(spark, Engine(project, spark), f"join_kinds_{next(_numbers)}")
    shop.sql("CREATE NAMESPACE {s}")
    shop.sql("CREATE TABLE {s}.r (id INT, k INT, x INT) USING iceberg")
    shop.sql("CREATE TABLE {s}.s (k INT, y INT) USING iceberg")
    shop.sql("INSERT INTO {s}.r VALUES (1, 1, 2), (2, 1, 7), (3, 2, 9), (4, NULL, 1), (5, 4, 6)")
    shop.sql("INSERT INTO {s}.s VALUES (1, 2), (1, 2), (3, 5)")
    return shop


@pytest.mark.parametrize(
    "names", [SHORT, pytest.param(tuple(VIEWS), marks=pytest.mark.laws)], ids=["short", "all"]
)
def test_no_operator_loops_over_pairs(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    """Neither when a view is built nor when it follows changes."""
    allowed = {}
    views = {name: VIEWS[name] for name in names}
    for name, text in views.items():
        allowed[name] = bool(_loops(shop.spark, text.format(s=f"lake.{shop.schema}")))
        shop.view(name, text)
    seen: dict[str, list[str]] = {}
    plain = Execution.sql
    current = [""]

    def noted(execution: Execution, node: object) -> str:
        text = plain(execution, node)  # type: ignore[arg-type]
        if "JOIN" in text and not allowed[current[0]]:
            for line in _loops(execution.spark, text):
                seen.setdefault(current[0], []).append(f"{line}\n{text}")
        return text

    monkeypatch.setattr(Execution, "sql", noted)
    for changes in ((), *CHANGES):
        for change in changes:
            shop.sql(change)
        for name, text in views.items():
            current[0] = name
            (result,) = shop.engine.refresh([f"{shop.schema}.{name}"])
            assert result.error is None, result
            assert _rows(shop, f"SELECT * FROM {{s}}.{name}") == _rows(shop, text), name
    assert not seen, (sorted(seen), [items[0] for items in seen.values()])
