"""Views in files on Spark: views over views, files that go, and what a sample project makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe
from grebe.api import Project
from grebe.model import Outcome, State
from grebe.project.recovery import Recovered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_recovering_with_a_problem_is_not_a_success(
    tmp_path: Path, grebe: Grebe, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "views").mkdir()
    found = Recovered(problems=("lake.main.v: gone",))
    monkeypatch.setattr(Project, "recover", lambda _: found)
    assert grebe("recover").code == 1
    monkeypatch.setattr(Project, "recover", lambda _: Recovered(others=("x",)))
    assert grebe("recover").code == 0


def test_F193_views_over_views_in_files_are_built_at_the_first_refresh(
    spark: SparkSession, tmp_path: Path, grebe: Grebe
) -> None:
    views = tmp_path / "views"
    views.mkdir()
    child = {"$type": "main.c", "$from": "p", "$filter": {"x": {"$gt": 1}}}
    (views / "c.json").write_text(json.dumps(child))
    (views / "a.json").write_text(json.dumps({"$type": "main.a", "$from": "c"}))
    (views / "p.sql").write_text("SELECT id, x FROM t")
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("CREATE NAMESPACE IF NOT EXISTS lake.main").collect()
        project.sql("CREATE TABLE lake.main.t AS SELECT 1 AS id, 1 AS x, 'k' AS k").collect()
        before = {item.name.name: item.state for item in project.status()}
        assert set(before.values()) == {State.NEVER_REFRESHED}
        assert [
            item["ok"] for item in grebe("doctor", "-o", "json").json if item["what"] == "views"
        ] == [True]
        assert {item.outcome for item in project.refresh()} == {Outcome.FULL}
        project.sql("INSERT INTO lake.main.t VALUES (2, 2, 'k')").collect()
        assert {item.outcome for item in project.refresh()} == {Outcome.INCREMENTAL}
        assert [tuple(row) for row in project.read("a").collect()] == [(2, 2)]
        # The parent has another column from now on; who reads all of it sees it when it is edited.
        (views / "p.sql").write_text("SELECT id, x, k FROM t")
        (views / "c.json").write_text(json.dumps({**child, "$select": ["id", "x", "k"]}))
        assert not project.refresh().failed
        assert [tuple(row) for row in project.read("c").collect()] == [(2, 2, "k")]
        # A file that is gone is told of, in the state and in what a refresh says.
        (views / "a.json").unlink()
        (gone,) = [item for item in project.status() if item.name.name == "a"]
        assert "file-gone" in [reason.code for reason in gone.standing.reasons]
        for done in (project.refresh(), project.refresh("a", full=True)):
            (result,) = [item for item in done if item.view.name == "a"]
            assert result.reasons[-1].code == "file-gone"
        assert "file-gone" in grebe("status").out
