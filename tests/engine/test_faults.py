"""Faults that meet a refresh from outside, each while it runs; and where every fault is tested."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.shop import At, Shop
from grebe.config import Settings
from grebe.model import Outcome, Policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
FAULTS = {*range(1, 51), 52, *range(54, 59), 60}
_numbers = count()

DAYS = "SELECT cust, COUNT(*) AS n FROM {s}.orders GROUP BY cust"


# --- the table ----------------------------------------------------------------------------------


def table() -> dict[int, list[tuple[str, str]]]:
    """The tests of each fault, as docs/faults.md names them."""
    found: dict[int, list[tuple[str, str]]] = {}
    for line in (ROOT / "docs" / "faults.md").read_text().splitlines():
        if match := re.match(r"\| (\d+) \|", line):
            found[int(match[1])] = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", line)
    return found


def test_every_fault_has_a_test_that_exists() -> None:
    listed = table()
    assert set(listed) == FAULTS
    for fault, tests in listed.items():
        assert tests, fault
        for file, name in tests:
            assert f"def {name}(" in (ROOT / file).read_text(), (fault, file, name)


# --- the faults ---------------------------------------------------------------------------------


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    shop = Shop.opened(spark, project, f"fault{next(_numbers)}", orders=40)
    shop.view("days", DAYS, Policy.AUTO)
    shop.refreshed()
    return shop


def equals(shop: Shop) -> None:
    shop.equals("days", DAYS)


def change(shop: Shop, number: int) -> None:
    shop.sql(
        f"INSERT INTO {{s}}.orders VALUES ({number}, 3, 1, NULL, 0), ({number}, NULL, 1, NULL, 0)"
    )


@pytest.mark.spark
@pytest.mark.parametrize("place", ["run.pinned", "refresh.planned", "refresh.deltas"])
def test_what_a_source_gains_after_the_pin_comes_with_the_next_run(
    shop: Shop, at: At, place: str
) -> None:
    change(shop, 1000)
    at(place, lambda: change(shop, 2000))
    first = shop.refreshed()["days"]
    assert first.rows_in == 2
    assert shop.refreshed()["days"].rows_in == 2
    equals(shop)


@pytest.mark.spark
def test_a_version_expired_before_or_during_a_refresh_is_never_guessed(shop: Shop, at: At) -> None:
    expire = (
        f"CALL lake.system.expire_snapshots(table => '{shop.schema}.orders',"
        " older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    )
    change(shop, 1000)
    shop.sql(expire)
    rebuilt = shop.refreshed()["days"]
    assert [reason.code for reason in rebuilt.reasons] == ["history-expired"]
    change(shop, 2000)
    at("refresh.planned", lambda: shop.sql(expire))
    during = shop.engine.refresh()[0]
    if during.outcome is Outcome.FAILED:
        assert during.reasons[0].code != "internal"
    shop.refreshed()
    equals(shop)


@pytest.mark.spark
def test_two_tables_that_change_names_are_not_mixed_up(shop: Shop) -> None:
    shop.sql("CREATE TABLE {s}.twin USING iceberg AS SELECT * FROM {s}.orders WHERE cust < 4")
    for old, new in (("orders", "away"), ("twin", "orders"), ("away", "twin")):
        shop.sql(f"ALTER TABLE {{s}}.{old} RENAME TO {shop.schema}.{new}")
    result = shop.refreshed()["days"]
    assert [reason.code for reason in result.reasons] == ["source-replaced"]
    equals(shop)


@pytest.mark.spark
def test_how_a_table_is_laid_out_does_not_matter(shop: Shop) -> None:
    """Partitions, order, the version of the format: between two changes, in one window."""
    shop.sql(
        "CREATE TABLE {s}.old USING iceberg TBLPROPERTIES ('format-version'='1')"
        " AS SELECT * FROM {s}.orders"
    )
    text = DAYS.replace("orders", "old")
    shop.view("olds", text)
    shop.refreshed()
    for step, change in enumerate(
        (
            "ADD PARTITION FIELD bucket(4, cust)",
            "SET TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read')",
            "WRITE ORDERED BY id",
            "REPLACE PARTITION FIELD bucket(4, cust) WITH truncate(8, id)",
            "SET TBLPROPERTIES ('format-version'='3')",
        )
    ):
        shop.sql(f"ALTER TABLE {{s}}.old {change}")
        shop.sql(f"INSERT INTO {{s}}.old VALUES ({1000 + step}, 3, 1, NULL, 0)")
        shop.sql(f"DELETE FROM {{s}}.old WHERE id % 10 = {step}")
        if step in (1, 4):
            assert shop.refreshed()["olds"].outcome is Outcome.INCREMENTAL
    shop.equals("olds", text)


@pytest.mark.spark
def test_from_nothing_to_nothing(shop: Shop) -> None:
    shop.sql("DELETE FROM {s}.orders")
    assert shop.refreshed()["days"].outcome is Outcome.INCREMENTAL
    before = shop.refreshed()["days"]
    commits = f"SELECT * FROM {shop.storage('days').quoted()}.snapshots"
    written = shop.spark.sql(commits).count()
    assert shop.refreshed()["days"].outcome is Outcome.NO_OP
    assert shop.spark.sql(commits).count() == written
    shop.sql("DELETE FROM {s}.orders WHERE id = 1")
    after = shop.refreshed()["days"]
    assert (after.outcome, after.row_version) == (Outcome.NO_OP, before.row_version)
    change(shop, 1000)
    assert shop.refreshed()["days"].outcome is Outcome.INCREMENTAL
    equals(shop)


@pytest.mark.spark
def test_two_threads_refresh_one_view(shop: Shop) -> None:
    change(shop, 1000)
    with ThreadPoolExecutor(2) as pool:
        results = [
            future.result()[0] for future in [pool.submit(shop.engine.refresh) for _ in range(2)]
        ]
    for result in results:
        clean = result.outcome is not Outcome.FAILED or result.reasons[0].code == "conflict"
        assert clean, result
    assert any(result.outcome is Outcome.INCREMENTAL for result in results)
    shop.refreshed()
    equals(shop)
