"""Views as Arrow, without Spark: the same bag as `read()`, nothing hidden, for every format that holds views."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import grebe
from cli.test_formats import SUMS, Site
from grebe.api import Project
from grebe.errors import RefreshError, UnknownTableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HAVING = "SELECT k, COUNT(*) AS n, SUM(x) AS total FROM lake.{s}.t GROUP BY k HAVING COUNT(*) > 1"
ROWS = (
    "SELECT id, k, x, CAST(x AS DECIMAL(12, 2)) AS d, CAST(x AS DOUBLE) / 3 AS f, DATE'2026-01-01' AS day,"
    " TIMESTAMP'2026-01-01 12:00:00' AS at, x > 10 AS big FROM lake.{s}.t"
)
CHILD = """
import sys
sys.modules["pyspark"] = None
import grebe
with grebe.open(sys.argv[1]) as project:
    for name in sys.argv[2:]:
        rows = project[name].to_arrow()
        print(name, rows.num_rows, rows.column_names)
"""


def bag(rows: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())


@pytest.mark.parametrize("kind", ["folders", "duck"])
def test_rows_without_spark_are_those_of_read(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    site = Site(spark, tmp_path, kind)
    try:
        for name, text in (("sums", SUMS), ("many", HAVING), ("plain", ROWS)):
            site.view(name, text)
        check(site.project, ("sums", "many", "plain"))
        site.moved("sums", "many", "plain")
        site.sql("INSERT INTO lake.{s}.t VALUES (7, NULL, NULL), (8, NULL, 5)")
        assert not site.project.refresh().failed
        check(site.project, ("sums", "many", "plain"))
        some = site.project["plain"].to_arrow(["x", "id"], where="x > 15 OR k = 'a'", limit=2)
        assert (some.column_names, some.num_rows) == (["x", "id"], 2)
        with pytest.raises(UnknownTableError, match='no column "idd"'):
            site.project["plain"].to_arrow(["idd"])
        registered(site.project, spark)
    finally:
        site.close()


def registered(project: Project, spark: SparkSession) -> None:
    """A session of the user's own reads every view by its name."""
    session = spark.newSession()
    names = project.register(session)
    assert len(names) == 3
    for view, name in names.items():
        found = bag(session.table(name).toArrow())
        assert found == bag(project.view(view).read().toArrow())
        assert project.view(view).spark_name == name


def check(project: Project, names: tuple[str, ...]) -> None:
    for name in names:
        view = project[name]
        expected, found = view.read().toArrow(), view.to_arrow()
        assert found.column_names == expected.column_names
        assert bag(found) == bag(expected), name
        assert bag(pa.table(view)) == bag(expected)  # the Arrow stream
        assert len(view.to_pandas()) == expected.num_rows
        assert not [column for column in found.column_names if column.startswith("__grebe")]


def test_rows_of_iceberg_need_no_spark_at_all(spark: SparkSession, tmp_path: Path) -> None:
    with grebe.open(tmp_path, spark=spark) as project:
        project.sql("CREATE NAMESPACE lake.s").collect()
        project.sql("CREATE TABLE lake.s.t (id INT, k STRING, x INT) USING iceberg").collect()
        project.sql(
            "INSERT INTO lake.s.t VALUES (1, 'a', 10), (2, NULL, 20), (3, 'a', 30)"
        ).collect()
        for name, text in (("sums", SUMS), ("many", HAVING), ("plain", ROWS)):
            project.create_view(name, text.format(s="s"))
        check(project, ("sums", "many", "plain"))
        project.create_view("odd", "SELECT k, AVG(x) AS a FROM s.t GROUP BY k")
        odd = project["odd"]
        try:
            assert bag(odd.to_arrow()) == bag(odd.read().toArrow())
        except RefreshError as error:
            assert error.code == "only-spark"
        assert project["sums"].spark_name == "lake.main.sums"
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), "sums", "many", "plain"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "many 1 ['k', 'n', 'total']"
