"""Project folders that are copied and moved: every table format lies in the folder itself."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from grebe.api import Project
from grebe.formats.ducklake import connections
from grebe.formats.ducklake.catalog import address_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD = Path(__file__).parents[1] / "fixtures" / "old_project.tar.xz"
SETTINGS = """\
[defaults]
catalog = "lake"
schema = "shop"
[catalogs.lake]
format = "iceberg"
root = "lake"
[catalogs.delta]
format = "delta"
root = "delta"
[catalogs.files]
format = "parquet"
root = "files"
[catalogs.duck]
format = "ducklake"
uri = "ducklake:sqlite:duck.sqlite"
root = "duck"
[catalogs.single]
format = "ducklake"
uri = "single.ducklake"
"""
TABLES = ("lake", "delta", "files", "duck", "single")
VIEWS = {
    "lake.shop.sums": "SELECT k, COUNT(*) AS n, SUM(id) AS s FROM lake.shop.t GROUP BY k",
    "lake.shop.rows": "SELECT id, k FROM lake.shop.t WHERE id < 1000",
    "lake.shop.over": "SELECT k, n FROM lake.shop.sums WHERE n > 1",
    "lake.shop.listed": "SELECT k, COUNT(*) AS n FROM files.shop.t GROUP BY k",
    "delta.shop.joined": "SELECT a.id, b.k FROM lake.shop.t AS a JOIN delta.shop.t AS b ON a.id = b.id",
    "duck.shop.sums": "SELECT k, COUNT(*) AS n FROM duck.shop.t GROUP BY k",
    "single.shop.sums": "SELECT k, COUNT(*) AS n FROM single.shop.t GROUP BY k",
}


def digests(folder: Path) -> dict[str, str]:
    """Every file below a folder by its content; folders too, for one that is made is a trace."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        )
        for path in sorted(folder.rglob("*"))
    }


def unpacked(folder: Path) -> Path:
    """A project as commit b0e49bb made it, in another place than it was made in."""
    with tarfile.open(OLD) as archive:
        archive.extractall(folder, filter="data")
    return folder / "shop"


def make(folder: Path, spark: SparkSession) -> None:
    """A project with tables and views of every format, refreshed."""
    folder.mkdir()
    (folder / "grebe.toml").write_text(SETTINGS)
    with Project.open(folder, spark=spark) as project:
        session = project.spark
        session.sql("CREATE NAMESPACE lake.shop")
        session.sql(
            "CREATE TABLE lake.shop.t (id INT, k STRING) USING iceberg TBLPROPERTIES"
            " ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
        )
        for name in ("duck", "single"):
            with lake(project, name, create=True) as (run, alias):
                run(f"CREATE SCHEMA {alias}.shop")
                run(f"CREATE TABLE {alias}.shop.t (id INT, k VARCHAR)")
        for number in range(2):
            change(project, number)
        session.sql("DELETE FROM lake.shop.t WHERE id = 1")
        for name, text in VIEWS.items():
            project.create_view(name, text)
        change(project, 2)  # so that the views' own tables have deleted rows, too
        assert not project.refresh().failed


class lake:  # noqa: N801  used as a function
    """What runs statements in a DuckLake catalog of a project, and the catalog's name there."""

    def __init__(self, project: Project, name: str, *, create: bool = False) -> None:
        settings = project.settings
        address = address_of(settings.address(settings.catalog(name)))
        self.session = connections.session(address, create=create)

    def __enter__(self) -> tuple[object, str]:
        found = self.session.__enter__()
        return found.insist, found.alias

    def __exit__(self, *error: object) -> None:
        self.session.__exit__(*error)


def change(project: Project, number: int) -> None:
    """Two rows more in every source."""
    session, folder = project.spark, project.settings.folder
    rows = session.createDataFrame(
        [(2 * number, f"k{number % 3}"), (2 * number + 1, "k0")], "id INT, k STRING"
    )
    rows.writeTo("lake.shop.t").append()
    rows.write.format("delta").mode("append").save(str(folder / "delta/shop/t"))
    rows.write.mode("append").parquet(str(folder / "files/shop/t"))
    for name in ("duck", "single"):
        with lake(project, name) as (run, alias):
            values = f"({2 * number}, 'k{number % 3}'), ({2 * number + 1}, 'k0')"
            run(f"INSERT INTO {alias}.shop.t VALUES {values}")  # type: ignore[operator]
