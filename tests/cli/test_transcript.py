"""A new user's first half hour, from an empty folder; every answer is readable by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import grebe as package
from cli.conftest import Grebe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_from_an_empty_folder_to_a_broken_view_and_back(
    spark: SparkSession, grebe: Grebe, tmp_path: Path
) -> None:
    """The steps share one project, as a person's do."""
    del spark  # started once for all
    shop = begin(grebe, tmp_path)
    change_a_source(grebe, shop)
    break_a_view(grebe, shop)
    mean_something_else(grebe, shop)
    look_around_and_drop(grebe, shop)


def begin(grebe: Grebe, folder: Path) -> Path:
    said = grebe("init", "shop")
    assert said.code == 0
    assert "grebe refresh" in said.out
    shop = folder / "shop"
    assert "never refreshed" in grebe("status", folder=shop).out

    said = grebe("refresh", folder=shop)
    assert said.code == 0, said
    assert said.out.count("first-refresh") == 3
    assert "making lake.shop.orders from seeds/shop.orders.sql" in said.err
    assert "daily  full (first-refresh)" in said.err
    said = grebe("status", folder=shop)
    assert said.out.count("fresh") >= 3
    assert "stale" not in said.out

    said = grebe("refresh", "-o", "json", folder=shop)
    assert {item["outcome"] for item in said.json} == {"no_op"}
    assert said.err == ""
    return shop


def change_a_source(grebe: Grebe, shop: Path) -> None:
    with package.open(shop) as project:
        project.sql("UPDATE lake.shop.orders SET amount = amount + 1000 WHERE id = 7").collect()
        project.sql("DELETE FROM lake.shop.orders WHERE id IN (8, 9)").collect()
        project.sql("INSERT INTO lake.shop.orders VALUES (5000, NULL, 3, NULL)").collect()
    said = grebe("status", folder=shop)
    assert said.out.count("stale") >= 3
    assert "source-moved" in said.out
    said = grebe("plan", "-o", "json", folder=shop)
    plans = {item["view"]: item for item in said.json}
    assert plans["lake.shop.daily"]["outcome"] == "incremental"
    assert plans["lake.shop.daily"]["windows"][0]["source"] == "lake.shop.orders"
    assert grebe("status", folder=shop).out.count("stale") >= 3

    said = grebe("refresh", folder=shop)
    assert said.code == 0, said
    assert said.out.count("incremental") >= 2
    assert all_equal(grebe, shop)


def all_equal(grebe: Grebe, shop: Path) -> bool:
    said = grebe("verify", folder=shop)
    assert said.code == 0, said
    return said.out.count("equals its query") == 3


def break_a_view(grebe: Grebe, shop: Path) -> None:
    daily = shop / "views" / "daily.sql"
    good = daily.read_text()
    daily.write_text(good.replace("SUM(amount)", "SUM(amuont)"))
    assert "invalid" in grebe("status", folder=shop).out
    said = grebe("refresh", folder=shop)
    assert said.code == 1
    assert "views/daily.sql:4:" in said.err
    assert 'did you mean "amount"?' in said.err
    assert "upstream-failed" in said.out
    assert "no_op" in said.out
    daily.write_text(good)


def mean_something_else(grebe: Grebe, shop: Path) -> None:
    daily = shop / "views" / "daily.sql"
    good = daily.read_text()
    daily.write_text(good.replace("SELECT day", "select  day") + "\n-- said again\n")
    said = grebe("refresh", "daily", folder=shop)
    assert said.code == 0, said
    assert "no_op" in said.out
    daily.write_text(good.replace("COUNT(*) AS orders", "COUNT(*) AS n"))
    assert "invalid" in grebe("status", "daily", folder=shop).out
    said = grebe("refresh", folder=shop)
    assert said.code == 0, said
    assert all_equal(grebe, shop)


def look_around_and_drop(grebe: Grebe, shop: Path) -> None:
    assert "failed" in grebe("history", "daily", folder=shop).out
    said = grebe("retention", folder=shop)
    assert "expire_snapshots" in said.out
    assert "orders" in said.out
    said = grebe("explain", "best_days", "--sql", folder=shop)
    assert "incremental" in said.out
    assert "step 1" in said.out
    said = grebe("explain", "views/daily.sql", "-o", "json", folder=shop)
    assert said.json["view"] == "lake.shop.daily"
    said = grebe("-v", "history", "daily", folder=shop)
    assert "the view holds no rows yet  [first-refresh]" in said.err
    said = grebe("drop", "daily", "--yes", folder=shop)
    assert said.code == 2
    assert "best_days" in said.err
    said = grebe("drop", "daily", "--yes", "--cascade", "-o", "json", folder=shop)
    assert said.code == 0, said
    assert [item["file"] for item in said.json] == ["views/best_days.sql", "views/daily.sql"]
    assert "never refreshed" in grebe("status", "daily", folder=shop).out


def test_explain_answers_for_sql_that_is_nowhere_yet(
    spark: SparkSession, grebe: Grebe, tmp_path: Path
) -> None:
    del spark
    with package.open(tmp_path) as project:
        project.sql("CREATE NAMESPACE lake.s").collect()
        project.sql("CREATE TABLE lake.s.t (id INT, x INT) USING iceberg").collect()
    (tmp_path / "new.sql").write_text("SELECT x, RANK() OVER (ORDER BY x) AS place FROM s.t")
    said = grebe("explain", str(tmp_path / "new.sql"))
    assert said.code == 0, said
    assert "full refresh only" in said.out
    assert "window-without-partition" in said.out
    assert "ready  s.t: iceberg" in said.out
    (tmp_path / "new.sql").write_text("SELECT x, COUNT(*) AS n FROM s.tt GROUP BY x")
    said = grebe("explain", str(tmp_path / "new.sql"))
    assert said.code == 2
    assert 'table "lake.s.tt" does not exist' in said.err
    assert not (tmp_path / "views").exists()
