"""Views over views: one cut, parents as they are shown, definitions and schemas that change."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from grebe.config import Settings
from grebe.engine import standing
from grebe.engine.engine import Engine
from grebe.model import Frontier, Outcome, Policy
from grebe.spark.session import open_session
from same_rows import assert_same_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_numbers = count()

TOTALS = "SELECT cust, SUM(amount) AS total FROM {s}.orders GROUP BY cust"
FEW = "SELECT DISTINCT cust FROM {s}.orders WHERE amount > 90"
LARGE = "SELECT o.id, t.total FROM {s}.orders AS o JOIN {s}.totals AS t ON o.cust = t.cust"
BOTH = "SELECT f.cust, t.total FROM {s}.few AS f JOIN {s}.totals AS t ON f.cust = t.cust"


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    return Shop.opened(spark, project, f"graph{next(_numbers)}", orders=60)


def alone(shop: Shop, name: str, **options: object) -> dict[str, object]:
    results = shop.engine.refresh([f"{shop.schema}.{name}"], **options)  # type: ignore[arg-type]
    for result in results:
        if result.outcome is not Outcome.FAILED:
            shop.engine.verify(f"{shop.schema}.{result.view.name}")
    return {result.view.name: result for result in results}


def frontier(shop: Shop, name: str) -> Frontier:
    view = shop.engine.view(f"{shop.schema}.{name}")
    position = shop.engine.tables.position(view.storage_name, lambda: shop.spark)
    assert position is not None
    assert position.frontier is not None
    return position.frontier


def orders_of(shop: Shop, name: str) -> str:
    return frontier(shop, name).by_source[f"lake.{shop.schema}.orders"].version


def composed_equals(shop: Shop, name: str, text: str) -> None:
    shown = shop.spark.table(f"lake.{shop.schema}.{name}")
    query = shop.spark.sql(text)
    assert_same_rows(shown, query)


def test_a_child_alone_reads_what_its_parent_shows(shop: Shop) -> None:
    shop.view("totals", TOTALS)
    shop.view("large", LARGE)
    assert set(alone(shop, "large")) == {"totals", "large"}  # the parent was never refreshed
    shop.batch(0)
    assert alone(shop, "large")["large"].outcome is Outcome.NO_OP  # type: ignore[attr-defined]
    alone(shop, "totals")
    shop.batch(1)
    result = alone(shop, "large")
    assert set(result) == {"large"}
    assert result["large"].outcome is Outcome.INCREMENTAL  # type: ignore[attr-defined]
    assert orders_of(shop, "large") == orders_of(shop, "totals")
    own = shop.engine.view(f"{shop.schema}.totals")
    point = frontier(shop, "large").by_source[str(own.storage_name)]
    assert point.fingerprint == own.fingerprint
    shop.refreshed()
    assert orders_of(shop, "large") == orders_of(shop, "totals")


def test_parents_that_disagree_are_refreshed_or_refused(shop: Shop) -> None:
    shop.view("totals", TOTALS)
    shop.view("few", FEW)
    shop.view("both", BOTH)
    shop.refreshed()
    shop.batch(0)
    alone(shop, "totals")
    refused = alone(shop, "both", parents=False)["both"]
    assert [reason.code for reason in refused.reasons] == ["frontier-conflict"]  # type: ignore[attr-defined]
    assert set(alone(shop, "both")) == {"totals", "few", "both"}
    assert orders_of(shop, "both") == orders_of(shop, "few") == orders_of(shop, "totals")


def test_a_diamond_with_a_branch_that_fails_stands_still(shop: Shop) -> None:
    """The other branch goes on; what reads both waits until both show the same versions again."""
    shop.view("shares", "SELECT id, cust, 100 / (amount - 50.5) AS share FROM {s}.orders")
    shop.view("totals", TOTALS)
    join = (
        "SELECT s.id, s.share, t.total FROM {s}.shares AS s JOIN {s}.totals AS t ON s.cust = t.cust"
    )
    shop.view("joined", join)
    shop.refreshed()
    before, pinned = shop.rows("joined"), orders_of(shop, "joined")
    shop.sql("INSERT INTO {s}.orders VALUES (90000, 1, 50.5, NULL, 0), (90001, 1, 2, NULL, 0)")
    results = shop.refreshed(failing={"shares"})
    assert results["shares"].reasons[0].code == "step-failed"
    assert results["totals"].outcome is Outcome.INCREMENTAL
    assert results["joined"].reasons[0].code == "upstream-failed"
    refused = alone(shop, "joined", parents=False)["joined"]
    assert [reason.code for reason in refused.reasons] == ["frontier-conflict"]  # type: ignore[attr-defined]
    assert (shop.rows("joined"), orders_of(shop, "joined")) == (before, pinned)
    shop.sql("DELETE FROM {s}.orders WHERE id = 90000")
    assert {result.outcome for result in shop.refreshed().values()} == {Outcome.INCREMENTAL}
    assert orders_of(shop, "joined") == orders_of(shop, "shares") == orders_of(shop, "totals")
    shop.equals("joined", join)


def test_parents_agree_when_only_maintenance_lies_between(shop: Shop) -> None:
    shop.view("totals", TOTALS)
    shop.view("few", FEW)
    shop.view("both", BOTH)
    shop.refreshed()
    shop.sql(
        f"CALL lake.system.rewrite_data_files(table => '{shop.schema}.orders',"
        " options => map('rewrite-all', 'true'))"
    )
    shop.sql("UPDATE {s}.orders SET amount = amount + 1000 WHERE id = 5")
    alone(shop, "totals", parents=False)
    shop.sql("UPDATE {s}.orders SET amount = amount - 1000 WHERE id = 5")
    alone(shop, "totals", parents=False)
    alone(shop, "few", parents=False)
    assert alone(shop, "both", parents=False)["both"].outcome is not Outcome.FAILED  # type: ignore[attr-defined]


def test_a_frontier_that_moves_alone_triggers_nobody(shop: Shop) -> None:
    shop.view("totals", TOTALS)
    shop.view("top", "SELECT cust FROM {s}.totals WHERE total > 10")
    before = shop.refreshed()
    shop.sql("UPDATE {s}.orders SET day = DATE'2031-01-01' WHERE id = 3")
    after = shop.refreshed()
    assert {result.outcome for result in after.values()} == {Outcome.NO_OP}
    assert after["totals"].version != before["totals"].version
    assert after["totals"].row_version == before["totals"].row_version
    assert after["top"].version == before["top"].version
    shop.sql("DELETE FROM {s}.orders WHERE cust = 3")
    assert shop.refreshed()["top"].outcome is Outcome.INCREMENTAL


def test_a_parent_rebuilt_in_full_gives_its_child_an_exact_delta(shop: Shop) -> None:
    shop.view("totals", TOTALS)
    shop.view("top", "SELECT cust FROM {s}.totals WHERE total > 100")
    shop.refreshed()
    shop.sql("DELETE FROM {s}.orders WHERE cust = 3 AND id < 30")
    alone(shop, "totals", policy=Policy.FULL)
    result = alone(shop, "top")["top"]
    assert result.outcome in (Outcome.INCREMENTAL, Outcome.NO_OP)  # type: ignore[attr-defined]
    assert result.rows_in == 2  # type: ignore[attr-defined]


def test_a_changed_definition_switches_the_name_and_its_children_follow(shop: Shop) -> None:
    shop.view("totals", TOTALS)
    shop.view("top", "SELECT cust, total FROM {s}.totals WHERE total > 10")
    shop.refreshed()
    old = shop.engine.view(f"{shop.schema}.totals").storage_name
    shop.batch(0)
    shop.view("totals", TOTALS.replace("SUM(amount)", "SUM(amount * 2)"))
    results = shop.refreshed()
    assert [reason.code for reason in results["totals"].reasons] == ["definition-changed"]
    assert results["top"].outcome is not Outcome.FAILED
    assert results["top"].reasons
    schema = f"lake.{shop.schema}"
    doubled = TOTALS.replace("SUM(amount)", "SUM(amount * 2)").format(s=schema)
    composed_equals(shop, "totals", doubled)
    composed_equals(shop, "top", f"SELECT cust, total FROM ({doubled}) AS t WHERE total > 10")
    assert shop.engine.tables.position(old, lambda: shop.spark) is not None
    assert shop.refreshed()["top"].outcome is Outcome.NO_OP


def test_a_new_process_takes_up_where_the_old_one_stopped(shop: Shop) -> None:
    shop.view("wide", "SELECT * FROM {s}.customers")
    shop.refreshed()
    shop.sql("ALTER TABLE {s}.customers ADD COLUMN city STRING")
    shop.sql("INSERT INTO {s}.customers VALUES (99, 'x', 'y')")
    other = Engine(shop.engine.settings, shop.spark)
    other.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    other.define(
        f"{shop.schema}.wide", f"SELECT * FROM {shop.schema}.customers", Policy.INCREMENTAL
    )
    assert other.refresh()[0].outcome is Outcome.INCREMENTAL
    assert shop.spark.table(f"lake.{shop.schema}.wide").columns == ["cust", "nation"]
    stored = dict(other.view(f"{shop.schema}.wide").definition.settings)
    assert stored["spark.sql.session.timeZone"] != "Asia/Tokyo"


def test_a_session_with_other_settings_computes_the_same_rows(shop: Shop) -> None:
    """What a query means was settled when the view was made: zone, ANSI, case."""
    text = (
        "SELECT id, hour(timestamp_seconds(id * 3600)) AS h, try_cast(concat(id, 'x') AS INT) AS w,"
        " CAST(amount AS STRING) AS a, ID % 7 AS d FROM {s}.orders"
    )
    shop.view("meaning", text)
    shop.refreshed()
    shop.sql("INSERT INTO {s}.orders VALUES (90, 1, 2.5, NULL, 0)")
    far = open_session(shop.engine.settings, shop.spark)
    for key, value in (
        ("spark.sql.session.timeZone", "Asia/Tokyo"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.caseSensitive", "true"),
    ):
        far.conf.set(key, value)
    other = Engine(shop.engine.settings, far)
    other.define(f"{shop.schema}.meaning", text.format(s=shop.schema), Policy.INCREMENTAL)
    assert other.refresh()[0].outcome is Outcome.INCREMENTAL
    other.verify(f"{shop.schema}.meaning")
    shop.equals("meaning", text)
    shop.view("divided", "SELECT id, 1 / (cust - 21) AS part FROM {s}.orders")
    shop.refreshed()
    shop.sql("INSERT INTO {s}.orders VALUES (91, 21, 1, NULL, 0)")
    other.define(
        f"{shop.schema}.divided",
        f"SELECT id, 1 / (cust - 21) AS part FROM {shop.schema}.orders",
        Policy.INCREMENTAL,
    )
    (result,) = other.refresh([f"{shop.schema}.divided"])
    assert result.reasons[0].code == "step-failed"  # as the query fails where it was written


def test_columns_that_change_below_a_view(shop: Shop) -> None:
    """Unused ones are followed; a used one is compiled again, or named when it is gone."""
    shop.sql("CREATE TABLE {s}.facts (k INT, v INT, w INT) USING iceberg")
    shop.sql("INSERT INTO {s}.facts VALUES (1, 10, 0), (1, 20, 0), (2, 5, 0)")
    shop.view("sums", "SELECT k, SUM(v) AS total FROM {s}.facts GROUP BY k", Policy.AUTO)
    shop.view("rows", "SELECT v FROM {s}.facts", Policy.AUTO)
    shop.view("other", FEW)
    shop.refreshed()
    shop.sql("ALTER TABLE {s}.facts RENAME COLUMN w TO unused")
    shop.sql("ALTER TABLE {s}.facts ALTER COLUMN v FIRST")
    shop.sql("INSERT INTO {s}.facts VALUES (7, 2, 0)")
    assert shop.refreshed()["sums"].outcome is Outcome.INCREMENTAL
    shop.sql("ALTER TABLE {s}.facts DROP COLUMN unused")
    shop.sql("ALTER TABLE {s}.facts ALTER COLUMN v AFTER k")
    shop.sql("INSERT INTO {s}.facts VALUES (2, 7)")
    assert shop.refreshed()["sums"].outcome is Outcome.INCREMENTAL
    composed_equals(
        shop, "sums", f"SELECT k, SUM(v) AS total FROM lake.{shop.schema}.facts GROUP BY k"
    )
    shop.sql("ALTER TABLE {s}.facts ALTER COLUMN v TYPE BIGINT")
    shop.sql("INSERT INTO {s}.facts VALUES (3, 5000000000)")
    results = shop.refreshed()
    assert results["rows"].outcome is Outcome.FULL
    assert [reason.code for reason in results["rows"].reasons] == ["schema-changed"]
    assert shop.spark.table(f"lake.{shop.schema}.rows").dtypes == [("v", "bigint")]
    composed_equals(shop, "rows", f"SELECT v FROM lake.{shop.schema}.facts")
    shop.sql("ALTER TABLE {s}.facts DROP COLUMN v")
    shop.sql("ALTER TABLE {s}.facts ADD COLUMN v BIGINT")
    shop.sql("INSERT INTO {s}.facts VALUES (4, 1)")
    added = shop.refreshed()["rows"]
    assert added.outcome is Outcome.FULL
    assert [reason.code for reason in added.reasons] == ["schema-changed"]
    composed_equals(shop, "rows", f"SELECT v FROM lake.{shop.schema}.facts")
    before = shop.rows("rows")
    for text in ("RENAME COLUMN v TO value", "DROP COLUMN value"):
        shop.sql(f"ALTER TABLE {{s}}.facts {text}")
        results = shop.refreshed(failing={"rows", "sums"})
        assert results["rows"].reasons[0].code == "unknown-column"
        assert shop.rows("rows") == before


def test_a_source_that_is_gone_stops_only_what_reads_it(shop: Shop) -> None:
    shop.view("named", "SELECT nation FROM {s}.customers")
    shop.view("few", FEW)
    shop.refreshed()
    shop.sql("DROP TABLE {s}.customers")
    results = shop.refreshed(failing={"named"})
    assert results["named"].reasons[0].code == "unknown-table"
    assert results["few"].outcome is Outcome.NO_OP


def test_state_of_another_layout_is_rebuilt_or_refused(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.view("few", FEW, Policy.AUTO)
    shop.refreshed()
    before = shop.rows("few")
    shop.sql("DELETE FROM {s}.orders WHERE cust = 19")
    monkeypatch.setattr(standing, "LAYOUT", standing.LAYOUT - 1)
    refused = shop.engine.refresh()[0]
    assert refused.reasons[0].code == "layout-newer"
    assert shop.rows("few") == before
    monkeypatch.setattr(standing, "LAYOUT", standing.LAYOUT + 2)
    rebuilt = shop.engine.refresh()[0]
    assert (rebuilt.outcome, rebuilt.reasons[0].code) == (Outcome.FULL, "layout-older")
    shop.equals("few", FEW)


def test_a_lost_public_name_comes_back_with_the_next_refresh(shop: Shop) -> None:
    shop.view("few", FEW)
    shop.refreshed()
    shop.sql("DROP VIEW {s}.few")
    assert shop.refreshed()["few"].outcome is Outcome.NO_OP
    composed_equals(shop, "few", FEW.format(s=f"lake.{shop.schema}"))


def test_a_frontier_does_not_stay_behind_for_ever(shop: Shop) -> None:
    """Compaction alone is no reason to write, until the version it left may soon be expired."""
    shop.view("few", FEW)
    before = shop.refreshed()["few"]
    compact = (
        f"CALL lake.system.rewrite_data_files(table => '{shop.schema}.orders',"
        " options => map('rewrite-all', 'true'))"
    )
    shop.sql(compact)
    assert shop.refreshed()["few"].version == before.version
    shop.sql("ALTER TABLE {s}.orders SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms'='2')")
    after = shop.refreshed()["few"]
    assert after.outcome is Outcome.NO_OP
    assert after.version != before.version
    assert after.row_version == before.row_version
    shop.sql(
        f"CALL lake.system.expire_snapshots(table => '{shop.schema}.orders',"
        " older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    )
    assert shop.refreshed()["few"].outcome is Outcome.NO_OP
