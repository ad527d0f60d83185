"""Broken, hostile and lost views beside good ones: each fails by itself, told, and harms no other."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe
from cli.test_bad_inputs import BROKEN_VIEWS
from grebe.api import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUERY = "SELECT id, x FROM s.t"
KEY, VALUE = "k'); DROP TABLE t; --", "it's \"\\ `v`'); DROP TABLE t; --"
GOOD = {
    "good": QUERY,
    "odd; DROP TABLE t": QUERY,
    'it\'s "quoted" `here`': QUERY,
    "marked": f"CREATE MATERIALIZED VIEW marked TBLPROPERTIES ({{key}} = {{value}}) AS {QUERY}",
}
LOST = {
    "missing": ("SELECT id FROM s.nowhere", "unknown-table"),
    "missing_schema": ("SELECT id FROM nowhere.t", "unknown-table"),
    "missing_column": ("SELECT idd FROM s.t", "unknown-column"),
    "two": (f"{QUERY}; DROP TABLE s.t", "unsupported-sql"),
}


def literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def test_broken_views_harm_no_sibling(spark: SparkSession, grebe: Grebe, tmp_path: Path) -> None:
    del spark  # started once for all
    folder = tmp_path / "views"
    folder.mkdir()
    wanted: list[str] = []
    for number, (what, (prepare, code)) in enumerate(BROKEN_VIEWS.items()):
        if what == "defined twice":  # two files, of which one is whole
            continue
        prepare(tmp_path / "case")
        shutil.move(tmp_path / "case" / "views", folder / f"c{number}")
        shutil.rmtree(tmp_path / "case")
        for file in (folder / f"c{number}").glob("*.json"):  # a name of its own
            named = file.read_text().replace('"$type": "s', f'"$type": "c{number}.s')
            file.write_text(named)
        wanted.append(code)
    for name, text in GOOD.items():
        filled = text.format(key=literal(KEY), value=literal(VALUE))
        (folder / f"{name}.sql").write_text(filled)
    for name, (text, _) in LOST.items():
        (folder / f"{name}.sql").write_text(text)
    with Project.open(tmp_path) as project:
        project.sql("CREATE NAMESPACE lake.s").collect()
        project.sql("CREATE NAMESPACE lake.main").collect()
        project.sql("CREATE TABLE lake.s.t (id INT, x INT) USING iceberg").collect()
        project.sql("INSERT INTO lake.s.t VALUES (1, 10), (2, 20)").collect()
        said = grebe("refresh", "-o", "json")
        assert said.code == 1, said
        found = {item["view"].removeprefix("lake."): item for item in said.json}
        for name in GOOD:
            assert found.pop(f"main.{name}")["outcome"] == "full"
            project.view(f"main.`{name.replace('`', '``')}`").verify()
        for name, (_, code) in LOST.items():
            error = found.pop(f"main.{name}")["error"]
            assert (error["code"], bool(error["hint"])) == (code, True), error
        told = [item["error"] for item in found.values()]
        assert sorted(error["code"] for error in told) == sorted(wanted)
        assert all(error["hint"] for error in told)
        assert project.sql("SELECT * FROM lake.s.t").count() == 2
        tables = project.sql("SHOW TABLES IN lake.main").collect()
        assert len(tables) == len(GOOD)
        facts = project.written()["lake.main.marked"].facts
        assert facts is not None
        assert facts.storage is not None
        properties = project.tables.properties(facts.storage, lambda: project.spark)
        assert properties is not None
        assert properties[KEY] == VALUE
        newer_layout(grebe, project)


def newer_layout(grebe: Grebe, project: Project) -> None:
    """Rows of a later grebe are left alone, and the command says so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grebe.engine.refresh.LAYOUT", 99)
        project.sql("INSERT INTO lake.s.t VALUES (3, 30)").collect()
        assert grebe("refresh", "good").code == 0
    project.sql("INSERT INTO lake.s.t VALUES (4, 40)").collect()
    said = grebe("refresh", "good", "-o", "json")
    assert said.code == 1
    assert said.json[0]["error"]["code"] == "layout-newer"
    assert "newer" in said.json[0]["error"]["hint"]
    assert project.read("good").count() == 3
