"""A plan is what the refresh after it does; looking at a project writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.test_project import SUMS, Shop
from grebe.api import Project
from grebe.cli.sample import write_sample
from grebe.engine.preview import RefreshPreview
from grebe.engine.result import RefreshResult
from grebe.errors import CheckFailedError, RefreshError
from grebe.model import Outcome, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Said = dict[str, tuple[str, list[str], int | None]]


@pytest.fixture(scope="module")
def lake(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Project]]:
    folder = tmp_path_factory.mktemp("lake")
    with Project.open(folder, spark=spark) as project:
        yield folder, project


@pytest.fixture
def shop(lake: tuple[Path, Project]) -> Shop:
    return Shop(lake[1], lake[0])


def written(project: Project, schema: str) -> object:
    """Everything that looking must not change: tables, records, runs."""
    tables = project.sql(f"SHOW TABLES IN lake.{schema}").collect()
    history = [(run.run_id, run.outcome) for run in project.history(limit=None)]
    return sorted(row["tableName"] for row in tables), project.registry.views(), history


def kept(shop: Shop, selection: str) -> Said:
    """What was planned, after the refresh did the same, and the plan wrote nothing."""
    project = shop.project
    before = written(project, shop.schema)
    plans = project.plan(selection)
    assert written(project, shop.schema) == before
    planned: Said = {
        item.view.name: (str(item.outcome), [r.code for r in item.reasons], item.rows_in)
        for item in plans
    }
    done: Said = {
        item.view.name: (str(item.outcome), [r.code for r in item.reasons], item.rows_in)
        for item in project.refresh(selection)
    }
    assert planned == done
    for name in planned:
        project.view(f"{shop.schema}.{name}").verify()
    return planned


def test_F270_only_what_is_chosen_is_planned(shop: Shop) -> None:
    shop.view("sums", SUMS)
    shop.view("child", "SELECT k FROM {s}.sums WHERE total > 15")
    shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'b', 5), (5, 'c', 60)")
    assert kept(shop, f"{shop.schema}.child") == {"child": ("no_op", [], 0)}
    plans = {item.view.name: item for item in shop.project.plan(f"+{shop.schema}.child")}
    assert [reason.code for reason in plans["child"].reasons] == ["parent-moves"]
    assert (plans["child"].outcome, plans["child"].rows_in) == (Outcome.INCREMENTAL, None)
    assert kept(shop, f"{shop.schema}.sums") == {"sums": ("incremental", [], 2)}
    # One row of it came and one changed: three changes, of which the child sees what it reads.
    assert kept(shop, f"{shop.schema}.child") == {"child": ("incremental", [], 3)}


def test_F270_rows_are_counted_as_they_will_be_read(shop: Shop) -> None:
    shop.sql("CREATE TABLE lake.{s}.copied (id INT, x INT, y INT) USING iceberg")
    shop.sql("INSERT INTO lake.{s}.copied SELECT /*+ COALESCE(1) */ id, id, 0 FROM range(5000)")
    shop.view("copies", "SELECT id, x FROM {s}.copied WHERE x > 10")
    name = f"{shop.schema}.copies"
    shop.sql("UPDATE lake.{s}.copied SET x = 0 WHERE id = 77")
    assert kept(shop, name) == {"copies": ("incremental", [], 2)}
    shop.sql("UPDATE lake.{s}.copied SET y = 1 WHERE id = 78")  # a column that is not read
    assert kept(shop, name) == {"copies": ("no_op", [], 0)}
    shop.sql("INSERT INTO lake.{s}.copied VALUES (6000, 6000, 0), (6000, 6000, 1)")
    shop.sql("DELETE FROM lake.{s}.copied WHERE id = 6000 AND y = 1")
    assert kept(shop, name) == {"copies": ("incremental", [], 1)}
    shop.sql("UPDATE lake.{s}.copied SET x = x + 1")
    assert kept(shop, name) == {"copies": ("full", ["changeset-too-large"], 0)}


def test_F108_the_share_that_a_person_sets_decides(shop: Shop) -> None:
    shop.sql("CREATE TABLE lake.{s}.hundred (id INT, x INT) USING iceberg")
    shop.sql("INSERT INTO lake.{s}.hundred SELECT /*+ COALESCE(1) */ id, id FROM range(100)")
    shop.view(
        "some",
        "CREATE MATERIALIZED VIEW {s}.some TBLPROPERTIES ('grebe.threshold' = '0.3')"
        " AS SELECT id, x FROM {s}.hundred",
    )
    name = f"{shop.schema}.some"
    shop.sql("UPDATE lake.{s}.hundred SET x = x + 1 WHERE id < 30")  # just the share: not above it
    assert kept(shop, name) == {"some": ("incremental", [], 60)}
    shop.sql("UPDATE lake.{s}.hundred SET x = x + 1 WHERE id < 31")
    assert kept(shop, name) == {"some": ("full", ["changeset-too-large"], 0)}
    (run,) = shop.project.view(name).history(limit=1)
    assert dict(run.reasons[0].numbers)["threshold"] == 0.3


def test_F270_another_definition_is_planned_as_such(shop: Shop) -> None:
    shop.view("sums", SUMS)
    shop.view("child", "SELECT k FROM {s}.sums WHERE total > 15")
    shop.project.alter(
        f"{shop.schema}.sums", sql=f"SELECT k, MAX(x) AS total FROM {shop.schema}.t GROUP BY k"
    )
    assert kept(shop, f"{shop.schema}.*") == {
        "sums": ("full", ["definition-changed"], 0),
        "child": ("full", ["source-replaced"], 0),
    }


def test_F270_tables_that_seeds_will_make_are_planned_with(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_sample(tmp_path)
    with Project.open(tmp_path, spark=spark) as project:
        plans = {item.view.name: codes(item) for item in project.plan()}
        assert list(plans.values()) == [(Outcome.FULL, ["first-refresh"])] * 3
        assert project.registry.views() == []
        assert {item.view.name: codes(item) for item in project.refresh()} == plans


def codes(item: RefreshPreview | RefreshResult) -> tuple[Outcome, list[str]]:
    return item.outcome, [reason.code for reason in item.reasons]


def test_looking_writes_nothing(shop: Shop) -> None:
    project, folder = shop.project, shop.folder / "views" / shop.schema
    folder.mkdir(parents=True)
    (folder / "up.sql").write_text(f"SELECT k, COUNT(*) AS n FROM {shop.schema}.t GROUP BY k")
    (folder / "down.sql").write_text(f"SELECT n, COUNT(*) AS m FROM {shop.schema}.up GROUP BY n")
    before = written(project, shop.schema)
    for name in ("up", "down"):
        view = project.view(f"{shop.schema}.{name}")
        assert "incremental" in str(view.explain())
        with pytest.raises(CheckFailedError) as caught:
            view.verify()
        assert caught.value.code == "never-refreshed"
        with pytest.raises(RefreshError, match="never refreshed"):
            view.read()
        assert view.plan().outcome is Outcome.FULL
    assert written(project, shop.schema) == before
    assert not project.refresh(f"{shop.schema}.*").failed
    before = written(project, shop.schema)
    (folder / "up.sql").write_text(f"SELECT k, SUM(x) AS n FROM {shop.schema}.t GROUP BY k")
    down = project.view(f"{shop.schema}.down")
    down.explain()
    down.read().collect()
    with pytest.raises(CheckFailedError):
        down.verify()
    assert written(project, shop.schema) == before
    for file in folder.iterdir():
        file.unlink()


def test_an_invalid_view_is_read_as_its_public_name_shows_it(shop: Shop) -> None:
    project, folder = shop.project, shop.folder / "views" / shop.schema
    name = shop.view("sums", SUMS)
    view = project.view(name)
    rows = shop.rows("sums")
    view.alter(sql=f"SELECT k, MAX(x) AS largest, MIN(x) AS least FROM {shop.schema}.t GROUP BY k")
    assert view.state is State.INVALID
    assert shop.rows("sums") == rows
    assert view.read().columns == ["k", "total"]
    public = project.sql(f"SELECT * FROM lake.{name}").collect()
    assert sorted(tuple(row) for row in public) == rows
    folder.mkdir(parents=True)
    file = folder / "filed.sql"
    file.write_text(f"SELECT id FROM {shop.schema}.t WHERE x > 15")
    assert not project.refresh(f"{shop.schema}.filed").failed
    version = project.view(f"{shop.schema}.filed").status().standing.refreshed_version
    for text in ("SELECT idd FROM nowhere", "no SQL at all", f"SELECT k FROM {shop.schema}.t"):
        file.write_text(text)
        assert shop.rows("filed") == [(2,), (3,)]
        read = project.read(f"{shop.schema}.filed", as_of=version)
        assert read.columns == ["id"]
    file.unlink()
