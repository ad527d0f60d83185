"""What is not there yet: packages, a catalog's own file; and names that somebody else has."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe
from cli.moved import digests, lake
from grebe.api import Project
from grebe.errors import DefinitionError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACES = {
    "iceberg": 'format = "iceberg"\nroot = "c"\n',
    "delta": 'format = "delta"\nroot = "c"\n',
    "ducklake": 'format = "ducklake"\nuri = "c.ducklake"\nroot = "c"\n',
    "parquet": 'format = "parquet"\nroot = "c"\n',
    "postgres": 'format = "iceberg"\nroot = "c"\n[registry]\nurl = "postgresql://localhost:1/x"\n',
    "jdbc": 'format = "iceberg"\nuri = "jdbc:postgresql://localhost:1/x"\nroot = "c"\n',
}


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    ("place", "package", "extra"),
    [
        ("iceberg", "pyroaring", "iceberg"),
        ("iceberg", "pyspark", "spark"),
        ("delta", "deltalake", "delta"),
        ("ducklake", "duckdb", "ducklake"),
        ("parquet", "pyarrow", "spark"),
        ("postgres", "psycopg", "postgres"),
        ("jdbc", "psycopg", "postgres"),
    ],
)
def test_a_package_that_is_missing_is_told_before_anything_is_written(
    tmp_path: Path,
    grebe: Grebe,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    package: str,
    extra: str,
) -> None:
    (tmp_path / "grebe.toml").write_text(f"[catalogs.c]\n{PLACES[place]}")
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text("SELECT id FROM s.t")
    monkeypatch.setitem(sys.modules, package, None)
    before = digests(tmp_path)
    for command in ("refresh", "recover"):
        said = grebe(command, "-o", "json")
        assert (said.code, said.json["error"]["code"]) == (2, "missing-extra"), said
        assert package in said.json["error"]["message"]
        assert said.json["error"]["hint"] == f'pip install "grebe[{extra}]"'
    with pytest.raises(MissingExtraError):
        Project.open(tmp_path).create_view("w", "SELECT id FROM s.t")
    assert digests(tmp_path) == before


@pytest.mark.spark
def test_a_default_catalog_that_is_not_there_yet_is_made_by_the_first_view(
    tmp_path: Path, grebe: Grebe, spark: SparkSession
) -> None:
    (tmp_path / "grebe.toml").write_text(
        '[defaults]\ncatalog = "lake"\n[catalogs.lake]\nformat = "iceberg"\nroot = "lake"\n'
        '[catalogs.duck]\nformat = "ducklake"\nuri = "ducklake:sqlite:duck.sqlite"\nroot = "duck"\n'
    )
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text("SELECT k, COUNT(*) AS n FROM duck.s.t GROUP BY k")
    with Project.open(tmp_path, spark=spark) as project, lake(project, "duck", create=True) as made:
        run, alias = made
        for text in (
            f"CREATE SCHEMA {alias}.s",
            f"CREATE TABLE {alias}.s.t (k VARCHAR)",
            f"INSERT INTO {alias}.s.t VALUES ('a'), ('a'), ('b')",
        ):
            run(text)  # type: ignore[operator]
    assert grebe("status", "-o", "json").json[0]["state"] == "never refreshed"
    said = grebe("refresh")
    assert said.code == 0, said
    assert grebe("verify").code == 0


@pytest.mark.spark
def test_a_name_that_a_table_has_is_told_with_the_table(
    tmp_path: Path, grebe: Grebe, spark: SparkSession
) -> None:
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("CREATE NAMESPACE lake.main").collect()
        for name in ("t", "v"):
            project.sql(f"CREATE TABLE lake.main.{name} (id INT) USING iceberg").collect()
            project.sql(f"INSERT INTO lake.main.{name} VALUES (1), (2)").collect()
        with pytest.raises(DefinitionError, match=r'"lake\.main\.v" is taken by a table') as caught:
            project.create_view("v", "SELECT id FROM main.t")
        assert caught.value.code == "name-taken"
        assert "lake.main.v" not in {str(view.name) for view in project.views()}
        names = {row[1] for row in project.sql("SHOW TABLES IN lake.main").collect()}
        assert names == {"t", "v"}
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text("SELECT id FROM main.t")
    said = grebe("refresh", "v", "-o", "json")
    assert said.code == 1
    assert "name-taken" in said.out + said.err
    assert "Py4J" not in said.out + said.err
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("DROP TABLE lake.main.v").collect()
        assert not project.refresh().failed
        project.verify()


@pytest.mark.spark
def test_a_view_whose_metadata_is_lost_has_a_way_back(tmp_path: Path, spark: SparkSession) -> None:
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("CREATE NAMESPACE lake.main").collect()
        project.sql("CREATE TABLE lake.main.t (id INT) USING iceberg").collect()
        project.sql("INSERT INTO lake.main.t VALUES (1), (2)").collect()
        for name in ("a", "b", "c", "d"):
            project.create_view(name, "SELECT id, id + 1 AS next FROM main.t")
    lose(tmp_path, "a")
    lose(tmp_path, "b")
    lose(tmp_path, "__grebe_b_*")
    lose(tmp_path, "__grebe_c_*")
    lose(tmp_path, "d")
    with Project.open(tmp_path, spark=spark) as project:
        assert {str(item.state) for item in project.status()} == {"stale"}
        (result,) = project.refresh("a")
        assert str(result.outcome) != "failed", result.error
        assert project.read("a").count() == 2
        for name in ("b", "c", "d"):
            project.drop(name)
        names = {row[1] for row in project.sql("SHOW TABLES IN lake.main").collect()}
        assert {name for name in names if name.startswith("__grebe")} == {
            name for name in names if name.startswith("__grebe_a_")
        }
        assert {str(view.name) for view in project.views()} == {"lake.main.a"}
        for name in ("b", "c", "d"):
            project.create_view(name, "SELECT id FROM main.t")
        project.verify()


def lose(folder: Path, pattern: str) -> None:
    """Remove the metadata of a table or a public name."""
    (found,) = (folder / ".grebe" / "warehouse" / "main").glob(f"{pattern}/metadata")
    shutil.rmtree(found)
