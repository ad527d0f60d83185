"""Small steps: computed by DuckDB on the driver, the same rows as by Spark, or left to it."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from engine.small_fuzz import KINDS, NAMES, edge_rows
from grebe.compiler.bind.small_kinds import kind_of
from grebe.config import Settings
from grebe.config.settings_model import RefreshSettings
from grebe.engine.result import StepRun
from grebe.engine.small_steps_run import SHADOW
from grebe.engine.spark_hash import spark_hashes
from grebe.formats.frames import to_frame
from grebe.model import Outcome, SmallChoice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_numbers = count()


def test_the_hash_is_that_of_spark(spark: SparkSession) -> None:
    kinds = KINDS
    table = edge_rows(random.Random(7), 400).select([NAMES[kind] for kind in kinds])
    frame = to_frame(spark, table, {NAMES[kind]: kind for kind in kinds})
    calls = [f"xxhash64({NAMES[kind]})" for kind in kinds]
    calls.append(f"xxhash64({', '.join(table.column_names)})")
    wanted = frame.selectExpr(*[f"{call} AS h{i}" for i, call in enumerate(calls)]).toArrow()
    whole = [column.combine_chunks() for column in table.columns]
    for place, kind in enumerate(kinds):
        found = spark_hashes([whole[place]], [kind_of(kind)])
        assert found.to_pylist() == wanted[f"h{place}"].to_pylist(), kind
    found = spark_hashes(whole, [kind_of(kind) for kind in kinds])
    assert found.to_pylist() == wanted[f"h{len(kinds)}"].to_pylist()


@pytest.fixture
def shop(spark: SparkSession, project: Settings, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv(SHADOW, "1")
    settings = replace(project, refresh=RefreshSettings(SmallChoice.AUTO))
    return Shop.opened(spark, settings, f"small{next(_numbers)}")


def who(steps: tuple[StepRun, ...]) -> dict[str, str]:
    return {
        f"{step.kind} {step.name}".strip(): step.why or step.engine for step in steps if step.engine
    }


VIEWS = {
    "sums": "SELECT day, SUM(amount) AS total, COUNT(*) AS n FROM {s}.orders GROUP BY day",
    "ends": "SELECT cust, MIN(amount) AS low, MAX(id) AS high FROM {s}.orders GROUP BY cust",
    "cents": "SELECT year(day) AS y, SUM(amount * 2 - 1) AS c FROM {s}.orders"
    " WHERE amount BETWEEN 3 AND 80 AND id % 2 = 0 OR cust IN (1, 2) GROUP BY year(day)",
    "plain": "SELECT id, amount + 1 AS more FROM {s}.orders WHERE cust < 5",
    "joined": "SELECT c.nation, SUM(o.amount) AS total, MAX(o.day) AS last FROM {s}.orders AS o"
    " JOIN {s}.customers AS c ON o.cust = c.cust GROUP BY c.nation",
    "outer": "SELECT c.cust, c.nation, COUNT(o.id) AS n FROM {s}.customers AS c"
    " LEFT JOIN {s}.orders AS o ON o.cust = c.cust GROUP BY c.cust, c.nation",
    "there": "SELECT cust FROM {s}.customers AS c WHERE EXISTS"
    " (SELECT 1 FROM {s}.orders AS o WHERE o.cust = c.cust AND o.amount > 98)",
    "people": "SELECT day, COUNT(DISTINCT cust) AS n FROM {s}.orders GROUP BY day",
    "top": "SELECT cust, id, amount, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY amount DESC, id) AS p"
    " FROM {s}.orders QUALIFY p <= 3",
    "middle": "SELECT cust, PERCENTILE(amount, 0.25) AS p, MEDIAN(amount) AS m FROM {s}.orders GROUP BY cust",
    "days": "SELECT DISTINCT cust, day FROM {s}.orders",
}


def test_small_changes_run_no_statement(shop: Shop) -> None:
    for name, text in VIEWS.items():
        shop.view(name, text)
    shop.refreshed()
    shop.sql("INSERT INTO {s}.orders VALUES (1000, 3, 7.5, DATE'2026-01-02', 1.0)")
    shop.sql("UPDATE {s}.orders SET amount = amount + 5 WHERE id IN (7, 11, 42)")
    shop.sql("DELETE FROM {s}.orders WHERE id IN (13, 40)")
    results = shop.refreshed()
    for name, result in results.items():
        assert result.outcome is not Outcome.FULL, name
        assert set(who(result.steps).values()) == {"DuckDB"}, (name, who(result.steps))
