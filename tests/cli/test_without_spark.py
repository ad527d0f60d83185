"""Plans and slips of the pen are answered from what is recorded: Spark is not started, and the answer is the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe
from cli.test_two_at_once import prepared
from grebe.api import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("Spark was started")


def same(
    folder: Path, spark: SparkSession, grebe: Grebe, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The outcomes of a plan without Spark, which are those of one that measures and of the refresh."""
    with monkeypatch.context() as patched:
        patched.setattr("grebe.engine.engine.open_session", refuse)
        said = grebe("plan", "-o", "json", folder=folder)
        assert said.code == 0, said
    told = {
        item["view"]: (item["outcome"], [reason["code"] for reason in item["reasons"]], [
            (window["source"], window["rows_added"], window["rows_removed"])
            for window in item["windows"]
        ])
        for item in said.json
    }  # fmt: skip
    with Project.open(folder, spark=spark) as project:
        measured = {
            str(item.view): (str(item.outcome), [reason.code for reason in item.reasons], [
                (str(window.source), window.rows_added, window.rows_removed)
                for window in item.windows
            ])
            for item in project.plan()
        }  # fmt: skip
        assert told == measured
        return {str(item.view): str(item.outcome) for item in project.refresh()}


def test_a_plan_without_spark_is_the_plan(
    tmp_path: Path, spark: SparkSession, grebe: Grebe, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(tmp_path, spark, None)
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("INSERT INTO lake.main.t VALUES (9, 'k', 30), (10, 'a', 7)").collect()
        project.sql("UPDATE lake.main.t SET x = x + 1 WHERE id = 1").collect()
        project.sql("DELETE FROM lake.main.t WHERE id = 2").collect()
    done = same(tmp_path, spark, grebe, monkeypatch)
    assert set(done.values()) == {"incremental"}
    assert set(same(tmp_path, spark, grebe, monkeypatch).values()) == {"no_op"}
    view = tmp_path / "views" / "b.sql"
    text = view.read_text()
    view.write_text(text.replace("x > 5", "xx > 5"))
    monkeypatch.setattr("grebe.engine.engine.open_session", refuse)
    for command in (["plan", "b"], ["explain", "b"]):
        said = grebe(*command, folder=tmp_path)
        assert said.code in (1, 2)
        assert 'did you mean "x"?' in said.out + said.err
        assert "views/b.sql:1:" in said.out + said.err
    (tmp_path / "new.sql").write_text("SELECT kk, COUNT(*) AS n FROM t GROUP BY kk")
    said = grebe("explain", "new.sql", folder=tmp_path)
    assert (said.code, 'did you mean "k"?' in said.err) == (2, True)
