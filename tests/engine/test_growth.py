"""Long texts, and outputs that read outputs: the rows are plain Spark's for the user's own text."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from grebe.config import Settings
from grebe.engine.engine import Engine
from grebe.errors import GrebeError
from grebe.model import Policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_numbers = count()
TERMS = 1000
"""Spark reads thousands of OR; at so many of `+` and `||` its parser gives up, of AND its tasks."""
DOUBLED = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(8))

VIEWS = {
    "either": "SELECT k, x FROM {s}.r WHERE "
    + " OR ".join("x = NULL" if i == 500 else f"x = {i * 3}" for i in range(TERMS)),
    "all_of": "SELECT k, x FROM {s}.r WHERE " + " AND ".join(f"x <> {i * 7}" for i in range(TERMS // 4)),
    "glued": "SELECT k, " + " || ".join(["s", "'-'"] * (TERMS // 4)) + " AS v FROM {s}.r",
    "total": "SELECT k, x" + "".join(f" {'-+'[i % 3 == 0]} k" for i in range(TERMS // 2))
    + " AS v FROM {s}.r",
    "doubled": f"SELECT x + k AS a0, {DOUBLED}, k FROM {{s}}.r WHERE x < 100",
    "shadowed": "SELECT k, x + 1 AS k2, k2 + k AS x2, x AS s2, x2 + k2 + x AS v,"
    " v + v + x2 + k2 + v + x2 + k2 + v + v AS w, w + w AS u, u + w AS s FROM {s}.r",
    "grouped": "SELECT k, SUM(x) + COUNT(*) + MAX(x) AS a, a + a + a + a AS b, b + b + b + b AS c,"
    " c + c - a AS d, d + b AS e FROM {s}.r GROUP BY k",
    "windowed": "SELECT k, x + k + x + k AS a, a + a + a AS b, b + b + b AS c,"
    " SUM(x) OVER (PARTITION BY k) AS w, w + c + w AS v, v + v + c AS u, x FROM {s}.r",
    "keyed": "SELECT x % 5 AS a, a + 1 AS b, COUNT(*) AS n, n + a AS m FROM {s}.r GROUP BY x % 5",
    "asked": "SELECT x + 1 AS a, (SELECT MAX(k) FROM {s}.r) AS h, a + h AS b, k FROM {s}.r",
}  # fmt: skip

CHANGES = (
    "INSERT INTO {s}.r SELECT id % 7, id, CASE WHEN id % 3 = 0 THEN NULL ELSE 'i' || id END"
    " FROM range(100, 140)",
    "UPDATE {s}.r SET x = x + 5 WHERE k = 3",
    "INSERT INTO {s}.r VALUES (NULL, NULL, NULL), (1, NULL, 'n'), (1, NULL, 'n')",
    "DELETE FROM {s}.r WHERE x % 4 = 0",
    "DELETE FROM {s}.r WHERE k IS NULL OR k < 2",
)


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    shop = Shop(spark, Engine(project, spark), f"growth_{next(_numbers)}")
    shop.sql("CREATE NAMESPACE {s}")
    shop.sql("CREATE TABLE {s}.r (k INT, x INT, s STRING) USING iceberg")
    shop.sql(
        "INSERT INTO {s}.r SELECT id % 7, id, CASE WHEN id % 4 = 0 THEN NULL ELSE 's' || id END"
        " FROM range(100)"
    )
    return shop


def test_rows_are_those_of_the_text(shop: Shop) -> None:
    for name, text in VIEWS.items():
        shop.view(name, text)
    shop.refreshed()
    for together in (CHANGES[:2], CHANGES[2:4], CHANGES[4:]):
        for change in together:
            shop.sql(change)
        shop.refreshed()
    for name, text in VIEWS.items():
        shop.equals(name, text)


def levels(count: int) -> str:
    steps = "".join(
        f", q{i + 1} AS (SELECT * FROM q{i} UNION ALL SELECT * FROM q{i})" for i in range(count)
    )
    return "WITH q0 AS (SELECT k, x, s FROM {s}.r)" + steps + f" SELECT * FROM q{count}"


def test_what_is_too_large_is_refused_or_run_as_it_is(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a small limit, since Spark itself is slow where the true one is met."""
    monkeypatch.setattr("grebe.compiler.budget.LIMIT", 6_000)
    text = levels(4)
    with pytest.raises(GrebeError) as caught:
        shop.view("strict", text, Policy.STRICT)
    assert "too-large" in str(caught.value) + repr(vars(caught.value))
    shop.view("kept", text, Policy.AUTO)
    shop.refreshed()
    shop.sql(CHANGES[0])
    shop.refreshed()
    shop.equals("kept", text)
