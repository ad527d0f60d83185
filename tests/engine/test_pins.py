"""What a run reads, and what it builds upon: siblings, parents that stood still, nothing to do."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from grebe import thresholds
from grebe.config import Settings
from grebe.engine.engine import Engine
from grebe.engine.result import RefreshResult
from grebe.errors import NotIncrementalError
from grebe.model import Outcome, Policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_numbers = count()
_EXPIRE = (
    "CALL lake.system.expire_snapshots(table => '{table}',"
    " older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
)


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    shop = Shop(spark, Engine(project, spark), f"cut{next(_numbers)}")
    shop.sql("CREATE NAMESPACE {s}")
    shop.sql("CREATE TABLE {s}.s (k INT, region STRING, v INT) USING iceberg")
    shop.sql("INSERT INTO {s}.s VALUES (1, 'EU', 1), (2, 'EU', 2), (3, 'US', 3)")
    return shop


def alone(shop: Shop, name: str, **options: object) -> RefreshResult:
    return shop.refreshed(names=[f"{shop.schema}.{name}"], **options)[name]


def shown(shop: Shop, result: RefreshResult) -> str:
    assert result.frontier is not None
    return result.frontier.by_source[f"lake.{shop.schema}.s"].version


def test_a_column_of_one_view_does_not_stop_its_siblings(shop: Shop) -> None:
    shop.view("b", "SELECT k FROM {s}.s")
    shop.refreshed()
    shop.sql("ALTER TABLE {s}.s ADD COLUMN z INT")
    shop.sql("INSERT INTO {s}.s VALUES (4, 'EU', 4, 40)")
    shop.view("a", "SELECT z FROM {s}.s")
    results = shop.refreshed()
    assert results["a"].outcome is Outcome.FULL
    assert results["b"].outcome is Outcome.INCREMENTAL


def test_a_child_alone_never_goes_back_behind_parents_that_stood_still(shop: Shop) -> None:
    """Rows that the grandparent filters away move it and the child, not the parent between."""
    shop.view("g", "SELECT k, v FROM {s}.s WHERE region = 'EU'")
    shop.view("p", "SELECT COUNT(*) AS n FROM {s}.g")
    shop.view("q", "SELECT k FROM {s}.g")
    shop.view("c", "SELECT s.k, p.n FROM {s}.s AS s CROSS JOIN {s}.p AS p")
    shop.view("d", "SELECT q.k, p.n FROM {s}.q AS q CROSS JOIN {s}.p AS p")
    shop.refreshed()
    shop.sql("INSERT INTO {s}.s VALUES (7, 'US', 7)")
    before = shop.refreshed()
    assert (before["p"].outcome, before["c"].outcome) == (Outcome.NO_OP, Outcome.INCREMENTAL)
    assert shown(shop, before["p"]) != shown(shop, before["c"])
    after = alone(shop, "c", parents=False)
    assert (after.outcome, after.version) == (Outcome.NO_OP, before["c"].version)
    assert shown(shop, after) == shown(shop, before["c"])
    shop.sql("INSERT INTO {s}.s VALUES (8, 'US', 8)")
    assert alone(shop, "c", parents=False).outcome is Outcome.NO_OP  # g has not seen it yet
    assert alone(shop, "g").outcome is Outcome.NO_OP
    assert alone(shop, "c", parents=False).outcome is Outcome.INCREMENTAL
    assert alone(shop, "d", parents=False).outcome is Outcome.NO_OP
    shop.sql("INSERT INTO {s}.s VALUES (9, 'EU', 9)")
    alone(shop, "g")
    # p shows rows of g as they were, which nobody can tell the version of any more: it joins.
    assert shop.refreshed(names=[f"{shop.schema}.c"])["c"].outcome is Outcome.INCREMENTAL


def test_a_view_that_can_only_be_recomputed_is_left_alone_when_nothing_moved(shop: Shop) -> None:
    shop.view("places", "SELECT k, RANK() OVER (ORDER BY v) AS place FROM {s}.s", Policy.AUTO)
    before = shop.refreshed()["places"]
    again = shop.refreshed()["places"]
    assert (again.outcome, again.version, again.reasons) == (Outcome.NO_OP, before.version, ())
    shop.sql(f"CALL lake.system.rewrite_data_files(table => '{shop.schema}.s')")
    assert shop.refreshed()["places"].version == before.version
    shop.sql("INSERT INTO {s}.s VALUES (4, 'EU', 0)")
    moved = shop.refreshed()["places"]
    assert (moved.outcome, moved.reasons[0].code) == (Outcome.FULL, "window-without-partition")


def test_strict_is_not_rebuilt_because_of_others(shop: Shop) -> None:
    """A column's type or a parent's definition: only the view's own new text is a first build."""
    shop.view("sums", "SELECT region, SUM(v) AS total FROM {s}.s GROUP BY region", Policy.STRICT)
    shop.view("rows", "SELECT v FROM {s}.s", Policy.STRICT)
    shop.view("child", "SELECT total FROM {s}.sums", Policy.STRICT)
    shop.refreshed()
    shop.sql("ALTER TABLE {s}.s ALTER COLUMN v TYPE BIGINT")
    refused = shop.refreshed(names=[f"{shop.schema}.rows"], failing={"rows"})["rows"]
    assert isinstance(refused.error, NotIncrementalError)
    assert [reason.code for reason in refused.error.reasons] == ["schema-changed"]
    assert alone(shop, "rows", policy=Policy.FULL).outcome is Outcome.FULL
    shop.view(
        "sums", "SELECT region, SUM(v + 1) AS total FROM {s}.s GROUP BY region", Policy.STRICT
    )
    results = shop.refreshed(failing={"child"})
    assert results["sums"].outcome is Outcome.FULL
    assert [reason.code for reason in results["sums"].reasons] == ["definition-changed"]
    refused = results["child"]
    assert isinstance(refused.error, NotIncrementalError)
    assert [reason.code for reason in refused.error.reasons] == ["source-replaced"]


def test_a_child_outlives_the_version_that_changed_its_parents_rows(shop: Shop) -> None:
    shop.view("g", "SELECT k, v FROM {s}.s WHERE region = 'EU'")
    shop.view("p", "SELECT s.k, g.v FROM {s}.s AS s JOIN {s}.g AS g ON s.k = g.k")
    shop.refreshed()
    shop.sql("INSERT INTO {s}.s VALUES (7, 'US', 7)")
    alone(shop, "g")
    storage = shop.engine.view(f"{shop.schema}.g").storage_name
    shop.sql(_EXPIRE.format(table=f"{storage.schema}.{storage.name}"))
    assert alone(shop, "p", parents=False).outcome is Outcome.NO_OP
    shop.sql("INSERT INTO {s}.s VALUES (1, 'US', 7)")
    alone(shop, "g")
    shop.sql(_EXPIRE.format(table=f"{storage.schema}.{storage.name}"))
    assert alone(shop, "p", parents=False).outcome is Outcome.INCREMENTAL


def test_rows_of_somebody_else_in_a_parent_are_not_passed_on(shop: Shop) -> None:
    shop.view("g", "SELECT k, v FROM {s}.s WHERE region = 'EU'")
    shop.view("p", "SELECT SUM(v) AS total FROM {s}.g")
    shop.refreshed()
    storage = shop.engine.view(f"{shop.schema}.g").storage_name.quoted()
    shop.sql(f"INSERT INTO {storage} VALUES (99, 99)")
    refused = alone(shop, "p", parents=False, failing={"p"})
    assert refused.reasons[0].code == "frontier-conflict"
    results = shop.refreshed(names=[f"{shop.schema}.p"])
    assert results["g"].reasons[0].code == "foreign-write"
    assert results["p"].outcome is Outcome.NO_OP


def test_changes_that_a_view_does_not_show_write_nothing_however_many(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thresholds, "DRIVER_ROWS", -1)
    shop.view("g", "SELECT k, v FROM {s}.s WHERE region = 'EU'")
    before = shop.refreshed()["g"]
    for change in (
        "INSERT INTO {s}.s VALUES (7, 'US', 7)",
        "DELETE FROM {s}.s WHERE region = 'US'",
    ):
        shop.sql(change)
        after = shop.refreshed()["g"]
        assert (after.outcome, after.rows_in > 0) == (Outcome.NO_OP, True)
        assert after.row_version == before.row_version
    shop.sql("INSERT INTO {s}.s VALUES (8, 'EU', 8)")
    assert shop.refreshed()["g"].outcome is Outcome.INCREMENTAL
