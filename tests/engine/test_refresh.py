"""Refreshes on Spark and Iceberg; after each one the view is compared with its query, both ways."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from engine.shop import VIEWS, Shop
from grebe.config import Settings
from grebe.errors import CheckFailedError, CycleError, NotIncrementalError
from grebe.model import Outcome, Policy
from grebe.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_numbers = count()


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    return Shop.opened(spark, project, f"shop{next(_numbers)}")


def outcomes(results: dict[str, object]) -> set[str]:
    return {result.outcome for result in results.values()}  # type: ignore[attr-defined]


def test_a_graph_of_views_follows_mixed_changes(shop: Shop) -> None:
    shop.define("by_nation", "late", "ranked", "days")
    first = shop.refreshed(first=True)
    assert outcomes(first) == {Outcome.FULL}
    assert {reason.code for result in first.values() for reason in result.reasons} == {
        "first-refresh"
    }
    shop.define("best")
    shop.refreshed(first=True)
    shop.batch(0)
    results = shop.refreshed()
    assert outcomes(results) == {Outcome.INCREMENTAL}
    assert all(result.rows_in and result.rows_out for result in results.values())
    again = shop.refreshed()
    assert outcomes(again) == {Outcome.NO_OP}
    versions = {name: result.version for name, result in results.items()}
    assert {name: result.version for name, result in again.items()} == versions
    shop.batch(1)
    shop.batch(2)
    assert outcomes(shop.refreshed(jobs=2)) == {Outcome.INCREMENTAL}


def test_only_the_columns_of_the_query_are_public(shop: Shop) -> None:
    shop.define("by_nation")
    shop.refreshed()
    public = shop.spark.table(f"lake.{shop.schema}.by_nation")
    assert public.columns == ["nation", "day", "total", "n", "mean", "largest", "scores"]
    query = shop.spark.sql(VIEWS["by_nation"].format(s=f"lake.{shop.schema}"))
    assert public.dtypes == query.dtypes


def test_compaction_changes_nothing(shop: Shop) -> None:
    shop.define("days")
    before = shop.refreshed()["days"]
    shop.sql(
        f"CALL lake.system.rewrite_data_files(table => '{shop.schema}.orders',"
        " options => map('rewrite-all', 'true'))"
    )
    after = shop.refreshed()["days"]
    assert after.outcome is Outcome.NO_OP
    assert after.version == before.version


def test_a_window_without_net_change_moves_the_frontier_alone(shop: Shop) -> None:
    shop.define("days")
    before = shop.refreshed()["days"]
    shop.sql("INSERT INTO {s}.orders VALUES (77777, 1, 1, DATE'2030-01-01', 0)")
    shop.sql("DELETE FROM {s}.orders WHERE id = 77777")
    shop.sql("UPDATE {s}.orders SET score = 1 WHERE id = 5")
    after = shop.refreshed()["days"]
    assert after.outcome is Outcome.NO_OP
    assert after.rows_out == 0
    assert after.frontier != before.frontier


def test_an_altered_stored_row_is_caught(shop: Shop) -> None:
    """The alteration pretends to be one of our own commits, as a bug would."""
    shop.define("by_nation")
    shop.refreshed()
    view = shop.engine.view(f"{shop.schema}.by_nation")
    position = shop.engine.tables.position(view.storage_name, lambda: shop.engine.spark)
    assert position is not None
    assert position.frontier is not None
    session = open_session(shop.engine.settings, shop.spark)
    session.conf.set("spark.sql.iceberg.snapshot-property.grebe.run", position.frontier.run_id)
    session.conf.set(
        "spark.sql.iceberg.snapshot-property.grebe.frontier", position.frontier.to_json()
    )
    count_column = next(name for name in view.plan.shape.hidden if name.endswith("_n"))
    session.sql(
        f"UPDATE {view.storage_name.quoted()} SET {count_column} = {count_column} + 1"
        " WHERE nation = 'n1'"
    ).collect()
    shop.sql("INSERT INTO {s}.orders VALUES (1, 1, 1, DATE'2026-01-02', 0)")
    result = shop.engine.refresh()[0]
    assert result.outcome is Outcome.FAILED
    assert isinstance(result.error, CheckFailedError)
    assert (
        shop.engine.tables.position(view.storage_name, lambda: shop.engine.spark).frontier
        == position.frontier
    )  # type: ignore[union-attr]


def test_a_foreign_write_rebuilds_with_the_reason_or_raises(shop: Shop) -> None:
    shop.define("days")
    shop.refreshed()
    storage = shop.engine.view(f"{shop.schema}.days").storage_name.quoted()
    shop.spark.sql(f"DELETE FROM {storage} WHERE cust = 1").collect()
    strict = shop.engine.refresh(policy=Policy.STRICT)[0]
    assert isinstance(strict.error, NotIncrementalError)
    result = shop.refreshed()["days"]
    assert result.outcome is Outcome.FULL
    assert [reason.code for reason in result.reasons] == ["foreign-write"]


def test_a_source_created_anew_is_not_taken_for_the_old_one(shop: Shop) -> None:
    shop.define("days")
    shop.refreshed()
    shop.sql("CREATE TABLE {s}.copy USING iceberg AS SELECT * FROM {s}.orders WHERE cust < 5")
    shop.sql("DROP TABLE {s}.orders")
    shop.sql("CREATE TABLE {s}.orders USING iceberg AS SELECT * FROM {s}.copy")
    result = shop.refreshed()["days"]
    assert result.outcome is Outcome.FULL
    assert [reason.code for reason in result.reasons] == ["source-replaced"]


def test_a_failed_view_holds_back_its_children_only(shop: Shop) -> None:
    shop.view("shares", "SELECT id, 100 / (amount - 50.5) AS share FROM {s}.orders")
    shop.define("days")
    shop.refreshed()
    shop.view("great", "SELECT id FROM {s}.shares WHERE share > 10")
    shop.refreshed()
    shop.sql("INSERT INTO {s}.orders VALUES (90000, 1, 50.5, DATE'2026-01-02', 0)")
    results = shop.refreshed(failing={"shares"})
    assert results["great"].reasons[0].code == "upstream-failed"
    assert results["days"].outcome in (Outcome.INCREMENTAL, Outcome.NO_OP)
    shop.sql("DELETE FROM {s}.orders WHERE id = 90000")
    shop.refreshed()


def test_policies(shop: Shop) -> None:
    total = "SELECT id, RANK() OVER (ORDER BY amount) AS place FROM {s}.orders"
    for policy in (Policy.STRICT, Policy.INCREMENTAL):
        with pytest.raises(NotIncrementalError) as caught:
            shop.view("places", total, policy)
        assert caught.value.reasons[0].code == "window-without-partition"
    shop.view("places", total, Policy.AUTO)
    shop.refreshed()
    shop.sql("DELETE FROM {s}.orders WHERE id = 7")
    result = shop.refreshed()["places"]
    assert result.outcome is Outcome.FULL
    assert result.reasons[0].code == "window-without-partition"


def test_views_in_a_circle_are_refused(shop: Shop) -> None:
    shop.define("days")
    shop.refreshed()
    shop.view("more", "SELECT cust FROM {s}.days")
    with pytest.raises(CycleError, match="days -> "):
        shop.view("days", "SELECT cust, DATE'2026-01-01' AS day FROM {s}.more")


def test_a_view_that_can_only_grow_is_appended_to(shop: Shop) -> None:
    shop.view("large", "SELECT id, amount FROM {s}.orders WHERE amount > 10")
    shop.refreshed()
    shop.sql(
        "INSERT INTO {s}.orders VALUES (1, 1, 99, NULL, 0), (1, 1, 99, NULL, 0), (2, 1, 5, NULL, 0)"
    )
    result = shop.refreshed()["large"]
    assert (result.outcome, result.rows_out) == (Outcome.INCREMENTAL, 2)
    operations = shop.spark.sql(
        f"SELECT operation FROM {shop.engine.view(f'{shop.schema}.large').storage_name.quoted()}.snapshots"
        f" WHERE snapshot_id = {result.version}"
    ).collect()
    assert [row[0] for row in operations] == ["append"]
