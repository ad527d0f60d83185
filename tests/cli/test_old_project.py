"""A folder that an older version made goes on: its tables, its status, its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe
from cli.moved import unpacked
from grebe.api import Project
from grebe.model import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TEXTS = {
    "daily": "SELECT day, COUNT(*) AS orders, SUM(amount) AS total FROM lake.shop.orders GROUP BY day",
    "by_city": "SELECT o.id, c.city, o.amount FROM lake.shop.orders AS o JOIN lake.shop.customers AS c"
    " ON o.customer = c.customer",
    "best_days": "SELECT day, SUM(amount) AS total FROM lake.shop.orders GROUP BY day"
    " HAVING SUM(amount) > 50",
}
KEPT = {"daily": "5db447c9", "by_city": "55d322fa", "best_days": "cc06926b"}
"""The ends of the names of the tables that hold the rows."""


def _stored(project: Project, schema: str) -> set[str]:
    rows = project.sql(f"SHOW TABLES IN lake.{schema}").collect()
    return {row["tableName"] for row in rows if row["tableName"].startswith("__grebe_")}


def _equals(project: Project, name: str) -> bool:
    rows, said = project.read(f"shop.{name}"), project.spark.sql(TEXTS[name])
    return rows.exceptAll(said).isEmpty() and said.exceptAll(rows).isEmpty()


def test_an_older_folder_goes_on(
    tmp_path: Path, spark: SparkSession, grebe: Grebe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moved, adopted, looked at without Spark, then refreshed by what changed alone."""
    monkeypatch.setenv("GREBE_VIEWS__CHECK", "auto")
    folder = unpacked(tmp_path)
    assert grebe("adopt", folder=folder).code == 0
    states = {
        item["view"]: item["state"] for item in grebe("status", "-o", "json", folder=folder).json
    }
    assert set(states.values()) == {"stale"}
    with Project.open(folder, spark=spark) as project:
        for change in (
            None,
            "INSERT INTO lake.shop.orders VALUES (9, 1, DATE '2026-01-05', 60, 'z')",
            "DELETE FROM lake.shop.orders WHERE id = 3",
        ):
            if change:
                project.sql(change).collect()
            outcomes = {item.view.name: item.outcome for item in project.refresh()}
            assert {outcomes[name] for name in TEXTS} == {Outcome.INCREMENTAL}
            assert all(_equals(project, name) for name in TEXTS)
        assert all(report.rows >= 0 for report in project.verify())
        assert {f"__grebe_{name}_{mark}" for name, mark in KEPT.items()} <= _stored(project, "shop")
        assert len(_stored(project, "shop")) == len(KEPT) + len(("share",))


def test_rows_of_an_older_version_that_read_the_text_otherwise_are_made_anew(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREBE_VIEWS__CHECK", "auto")
    texts = ["SELECT id, v FROM lake.o.t WHERE v < 20", "SELECT id, v FROM lake.o.t WHERE v > 5"]
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("CREATE NAMESPACE lake.o")
        project.sql("CREATE TABLE lake.o.t (id INT, v INT) USING iceberg").collect()
        project.sql("INSERT INTO lake.o.t VALUES (1, 1), (2, 10), (3, 30)").collect()
        view = project.create_view("o.v", texts[0])
        (storage,) = _stored(project, "o")
        # As if the one who made the table had taken the second text for the first.
        project.sql(
            f"ALTER TABLE lake.o.{storage} SET TBLPROPERTIES ('grebe.sql' = '{texts[1]}', 'grebe.meaning' = '')"
        ).collect()
        project.alter("o.v", sql=texts[1])
        assert _stored(project, "o") == {storage}
        result = view.refresh()
        assert result.outcome is Outcome.FULL
        assert [reason.code for reason in result.reasons] == ["frontier-unproven"]
        assert "older version" in result.reasons[0].message
        assert sorted(map(tuple, view.read().collect())) == [(2, 10), (3, 30)]
        assert view.refresh().outcome is Outcome.NO_OP
