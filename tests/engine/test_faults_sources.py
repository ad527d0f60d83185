"""Sources that move in unusual ways, and ways of refreshing that must not differ in their rows."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.shop import At, Shop
from grebe import config, thresholds
from grebe.compiler.plan.cost import Sizes
from grebe.config import Settings
from grebe.engine import choice
from grebe.engine.engine import Engine
from grebe.engine.source_deltas import Deltas
from grebe.formats.iceberg import source
from grebe.model import Outcome, Policy, Reason
from same_rows import assert_same_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_numbers = count()

DAYS = "SELECT cust, COUNT(*) AS n, SUM(amount) AS total FROM {s}.orders GROUP BY cust"
NAMED = """
    SELECT o.id, o.amount, c.nation FROM {s}.orders AS o
    LEFT JOIN {s}.customers AS c ON o.cust = c.cust"""
NATIONS = """
    SELECT c.nation, COUNT(*) AS n, MAX(o.amount) AS largest FROM {s}.orders AS o
    JOIN {s}.customers AS c ON o.cust = c.cust GROUP BY c.nation"""


@pytest.fixture(scope="module")
def shared(spark: SparkSession, project: Settings) -> Shop:
    """One for all tests, in whatever order they come."""
    shop = Shop.opened(spark, project, "movers", orders=40)
    shop.view("days", DAYS)
    return shop


@pytest.fixture
def shop(shared: Shop) -> Shop:
    """Its views follow their sources, whatever another test has left."""
    shared.refreshed()
    return shared


def insert(shop: Shop, branch: str = "") -> None:
    number = 1000 + next(_numbers)
    shop.sql(
        f"INSERT INTO {{s}}.orders{branch} VALUES ({number}, 3, 1, NULL, 0),"
        f" ({number}, NULL, 1, NULL, 0)"
    )


# --- refs and clocks ----------------------------------------------------------------------------


def test_rows_that_are_staged_or_on_a_branch_count_when_they_are_published(shop: Shop) -> None:
    """And then once: though the snapshot that is published was there before."""
    shop.sql("ALTER TABLE {s}.orders CREATE BRANCH draft")
    insert(shop, ".branch_draft")
    shop.sql("ALTER TABLE {s}.orders SET TBLPROPERTIES ('write.wap.enabled'='true')")
    shop.spark.conf.set("spark.wap.id", "night")
    insert(shop)
    shop.spark.conf.unset("spark.wap.id")
    assert shop.refreshed()["days"].outcome is Outcome.NO_OP
    staged = shop.spark.sql(
        f"SELECT snapshot_id FROM lake.{shop.schema}.orders.snapshots"
        " WHERE summary['wap.id'] = 'night'"
    ).collect()
    table = f"table => '{shop.schema}.orders'"
    shop.sql(f"CALL lake.system.fast_forward({table}, branch => 'main', to => 'draft')")
    results = [shop.refreshed()["days"]]
    shop.sql(f"CALL lake.system.cherrypick_snapshot({table}, snapshot_id => {staged[0][0]})")
    results.append(shop.refreshed()["days"])
    assert [(item.outcome, item.rows_in) for item in results] == [(Outcome.INCREMENTAL, 2)] * 2
    assert shop.refreshed()["days"].outcome is Outcome.NO_OP
    shop.sql("ALTER TABLE {s}.orders UNSET TBLPROPERTIES ('write.wap.enabled')")
    shop.sql("ALTER TABLE {s}.orders DROP BRANCH draft")
    shop.equals("days", DAYS)


TOML = """
[defaults]
catalog = "lake"
[catalogs.lake]
format = "iceberg"
spark_catalog = "lake"
[catalogs.folders]
format = "delta"
root = "folders"
"""
FED = "SELECT k, SUM(v) AS total, COUNT(*) AS n FROM folders.s.facts GROUP BY k"


class Folder:
    """A Delta table and a view over it."""

    def __init__(self, spark: SparkSession, folder: Path, schema: str) -> None:
        (folder / "grebe.toml").write_text(TOML)
        self.path = folder / "folders" / "s" / "facts"
        self.table = f"delta.`{self.path}`"
        self.spark = spark
        self.sql(
            f"CREATE TABLE {self.table} (k INT, v INT) USING delta",
            f"INSERT INTO {self.table} SELECT id % 3, id FROM range(0, 12, 1, 1)",
        )
        self.engine = Engine(config.load(folder), spark)
        self.view = f"{schema}.fed{next(_numbers)}"
        self.engine.define(self.view, FED, Policy.INCREMENTAL)

    def sql(self, *statements: str) -> None:
        for text in statements:
            self.spark.sql(text).collect()

    def outcome(self) -> Outcome:
        """What the next refresh does; the view equals its query afterwards."""
        (result,) = self.engine.refresh()
        assert result.error is None, result.error.explain()
        shown = self.spark.table(f"lake.{self.view}")
        query = self.spark.sql(FED.replace("folders.s.facts", self.table))
        assert_same_rows(shown, query)
        return result.outcome


def test_a_feed_of_changes_that_comes_late_and_goes(shop: Shop, tmp_path: Path) -> None:
    """And clocks that go backwards meanwhile: the order is that of the versions."""
    folder = Folder(shop.spark, tmp_path, shop.schema)
    assert folder.outcome() is Outcome.FULL
    switch = f"ALTER TABLE {folder.table} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = '%s')"
    folder.sql(
        f"UPDATE {folder.table} SET v = v + 1 WHERE k = 1",
        switch % "true",
        f"DELETE FROM {folder.table} WHERE v = 2",
    )
    assert folder.outcome() is Outcome.INCREMENTAL
    folder.sql(
        f"UPDATE {folder.table} SET v = v + 10 WHERE k = 0",
        switch % "false",
        f"UPDATE {folder.table} SET v = v * 2 WHERE k = 0",
        f"DELETE FROM {folder.table} WHERE v = 4",
        switch % "true",
        f"INSERT INTO {folder.table} VALUES (NULL, 1), (2, NULL)",
    )
    for number, file in enumerate(sorted((folder.path / "_delta_log").glob("*.json"))):
        os.utime(file, (2_000_000_000 - 86_400 * number,) * 2)
    assert folder.outcome() is Outcome.INCREMENTAL
    assert folder.outcome() is Outcome.NO_OP


def test_snapshots_whose_clocks_went_backwards(shop: Shop) -> None:
    """The times in the metadata jump back by a day with every commit."""
    number = 2000
    for text in (
        f"INSERT INTO {{s}}.orders VALUES ({number}, 7, 5, NULL, 0)",
        f"UPDATE {{s}}.orders SET cust = 8 WHERE id = {number}",
        f"UPDATE {{s}}.orders SET cust = 9, amount = 6 WHERE id = {number}",
        "DELETE FROM {s}.orders WHERE id = 5",
    ):
        shop.sql(text)
    found = shop.spark.sql(
        f"SELECT file FROM lake.{shop.schema}.orders.metadata_log_entries ORDER BY timestamp"
    ).collect()
    file = Path(found[-1][0].removeprefix("file:"))
    document = json.loads(file.read_text())
    begun = document["snapshots"][0]["timestamp-ms"]
    for age, snapshot in enumerate(document["snapshots"]):
        snapshot["timestamp-ms"] = begun - 86_400_000 * age
    file.write_text(json.dumps(document))
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    assert shop.refreshed()["days"].outcome is Outcome.INCREMENTAL
    shop.equals("days", DAYS)
    assert shop.refreshed()["days"].outcome is Outcome.NO_OP


def test_sources_that_never_stand_still(shop: Shop, at: At) -> None:
    """Each run takes what was there when it began, and says that there is more by now."""
    insert(shop)
    seen = []
    for _ in range(3):
        at("refresh.planned", lambda: insert(shop))
        result = shop.refreshed()["days"]
        assert (result.outcome, result.rows_in) == (Outcome.INCREMENTAL, 2)
        assert result.frontier is not None
        point = result.frontier.by_source[f"lake.{shop.schema}.orders"]
        head = shop.engine.tables.source(
            shop.engine.settings.resolve(f"{shop.schema}.orders"), lambda: shop.spark
        ).head()
        assert point.version != head.version
        seen.append(point.version)
    assert len(set(seen)) == 3
    assert shop.refreshed()["days"].rows_in == 2
    shop.equals("days", DAYS)


# --- ways ---------------------------------------------------------------------------------------


def beside(shop: Shop) -> Shop:
    """The same tables, and an engine that knows no views yet."""
    return Shop(shop.spark, Engine(shop.engine.settings, shop.spark), shop.schema)


def skewed(shop: Shop, step: int) -> None:
    """One key holds half of what changes, and one row of a dimension touches it all."""
    base = 3000 + 1000 * step
    shop.sql(
        "INSERT INTO {s}.orders SELECT id, IF(id % 2 = 0, 3, id % 16),"
        f" CAST(id % 9 AS DECIMAL(10,2)), NULL, 0 FROM range({base}, {base + 60})"
    )
    shop.sql(f"UPDATE {{s}}.orders SET amount = amount + 1 WHERE cust = 3 AND id % 3 = {step}")
    shop.sql(f"UPDATE {{s}}.customers SET nation = 'moved{step}' WHERE cust = 3")


def test_a_change_beyond_the_budget_of_the_driver_that_one_key_holds(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = beside(shop)
    shop.view("sums", DAYS)
    shop.view("named", NAMED)
    shop.refreshed()
    staged: list[str] = []
    stage = Deltas._keep

    def kept(self: Deltas, *given: object) -> object:
        delta = stage(self, *given)  # type: ignore[arg-type]
        staged.append("driver" if delta.staged is None else "staged")
        return delta

    monkeypatch.setattr(Deltas, "_keep", kept)
    monkeypatch.setattr(thresholds, "REWRITTEN_ROWS", -1)
    for step, expected in enumerate(("driver", "staged")):
        if expected == "staged":
            monkeypatch.setattr(thresholds, "DRIVER_ROWS", 10)
            monkeypatch.setattr(thresholds, "COLLECTED_ROWS", 10)
            monkeypatch.setitem(source.IcebergSource.__init__.__kwdefaults__, "driver_budget", 10)
        skewed(shop, step)
        staged.clear()
        results = shop.refreshed()
        assert {result.outcome for result in results.values()} == {Outcome.INCREMENTAL}
        assert expected in staged, staged
    tables = shop.spark.sql(f"SHOW TABLES IN lake.{shop.schema}").collect()
    assert not [row for row in tables if "stage" in row["tableName"]]


def test_a_bad_guess_of_the_costs_changes_no_row(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One history, three policies; the automatic one is made to choose the wrong way each time."""
    shop = beside(shop)
    policies = (Policy.AUTO, Policy.INCREMENTAL, Policy.FULL)
    for policy in policies:
        shop.view(f"by_{policy.value}", NATIONS, policy)
    shop.refreshed()
    wrong = Reason("full-cheaper", "a bad guess")

    def guess(sizes: Sizes, *_: object) -> Reason | None:
        assert sizes.changed is not None
        return wrong if sizes.changed < 10 else None

    monkeypatch.setattr(choice, "full_is_cheaper", guess)
    for change, expected in (
        (lambda: insert(shop), Outcome.FULL),
        (lambda: skewed(shop, 2), Outcome.INCREMENTAL),
    ):
        change()
        results = shop.refreshed()
        assert results["by_auto"].outcome is expected
        assert results["by_incremental"].outcome is not Outcome.FULL
        assert results["by_full"].outcome is Outcome.FULL
        rows = {str(shop.rows(f"by_{policy.value}")) for policy in policies}
        assert len(rows) == 1
    shop.equals("by_auto", NATIONS)


def test_a_full_refresh_that_its_rows_stopped_leaves_the_view_in_its_table(shop: Shop) -> None:
    """Another table is tried for it, in vain: the next refresh follows changes in the one it has."""
    view = "SELECT id, 100 DIV cust AS share FROM {s}.orders WHERE id >= 5000"
    shop.sql("INSERT INTO {s}.orders VALUES (5001, 3, 1, NULL, 0)")
    shop.view("shares", view)
    shop.refreshed()
    there = shop.storage("shares")
    shop.sql("INSERT INTO {s}.orders VALUES (5002, 0, 1, NULL, 0)")
    name = f"{shop.schema}.shares"
    for policy in (Policy.FULL, None):
        (result,) = shop.engine.refresh([name], policy=policy)
        assert result.outcome is Outcome.FAILED
        assert shop.storage("shares") == there
    shop.sql("UPDATE {s}.orders SET cust = 4 WHERE id = 5002")
    (result,) = shop.engine.refresh([name])
    assert result.outcome is Outcome.INCREMENTAL, result.reasons
    assert shop.storage("shares") == there
    shop.equals("shares", view)
