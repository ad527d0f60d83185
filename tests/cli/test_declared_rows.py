"""Declarative views with rows: what they show equals the SQL that is meant, and how they are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grebe.api import Project
from grebe.model import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOML = """
[relations.o.customer]
to = "c"
column = "customer"
key = "id"
[relations.c.city]
to = "ci"
column = "city"
key = "id"
[relations.ci.land]
to = "l"
column = "land"
key = "id"
[relations.o.payments]
to = "p"
column = "id"
key = "o"
many = true
"""
TABLES = (
    "CREATE NAMESPACE IF NOT EXISTS lake.main",
    "CREATE TABLE lake.main.l AS SELECT 1 AS id, 'no' AS code",
    "CREATE TABLE lake.main.ci AS SELECT * FROM VALUES (1, 1), (2, 9) AS t (id, land)",
    "CREATE TABLE lake.main.c AS SELECT * FROM VALUES (1, 1), (2, 2), (3, NULL) AS t (id, city)",
    "CREATE TABLE lake.main.o AS SELECT id, CAST(id % 5 AS INT) AS customer, id % 3 AS x,"
    " TIMESTAMP'2026-01-01 10:00:00' + make_interval(0, 0, 0, CAST(id AS INT)) AS at FROM range(12)",
    "CREATE TABLE lake.main.p AS SELECT * FROM VALUES (1, 5), (1, 6), (2, 7), (99, 1) AS t (o, paid)",
)
JOINED = """
SELECT o.id, o.customer, o.x, o.at, l.id AS li, l.code
FROM lake.main.o LEFT JOIN lake.main.c ON o.customer = c.id
LEFT JOIN lake.main.ci ON c.city = ci.id LEFT JOIN lake.main.l ON ci.land = l.id
"""
MANY = """
SELECT b.id, b.customer, b.x, b.at, q.o, q.paid
FROM lake.main.o AS b LEFT JOIN lake.main.p AS q ON q.o = b.id
"""
PAID = """
SELECT b.id, b.customer, b.x, b.at, COUNT(q.o), COALESCE(SUM(q.paid), 0)
FROM lake.main.o AS b LEFT JOIN lake.main.p AS q ON q.o = b.id GROUP BY ALL
"""
FUNCTIONS = ("$sum", "$min", "$first", "$stddev")


def rows(project: Project, view: str) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in project.read(view).collect()), key=repr)


def test_F192_F194_F199_layouts_levels_links_and_functions(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "grebe.toml").write_text(TOML)
    with Project.open(tmp_path, spark=spark) as project:
        for text in TABLES:
            project.sql(text).collect()
        for kind in ("olap", "oltp", "both"):
            project.define_view({"$type": kind, "$from": "o", "$projection": kind})
        project.define_view({"$type": "deep", "$from": "o", "$expand": ["customer.city.land"]})
        project.define_view({"$type": "many", "$from": "o", "$expand": ["payments"]})
        paid = {"n": {"$count": "payments"}, "paid": {"$sum": "payments.paid"}}
        project.define_view({"$type": "paid", "$from": "o", "$compute": paid})
        for name in FUNCTIONS:
            by = {"$by": "id"} if name in ("$first", "$last") else {}
            one = {"v": {name: "x", **by}}
            spec = {
                "$type": f"f_{name[1:]}",
                "$from": "o",
                "$groupBy": ["customer"],
                "$compute": one,
            }
            project.define_view(spec)
        wanted = {"deep": JOINED, "many": MANY, "paid": PAID, "both": "SELECT * FROM lake.main.o"}
        wanted |= {"olap": wanted["both"], "oltp": wanted["both"]}
        assert {item.outcome for item in project.refresh(jobs=2)} == {Outcome.FULL}
        _layouts_differ(project)
        for change in (
            "DELETE FROM lake.main.o WHERE id = 3",
            "INSERT INTO lake.main.p VALUES (4, 8), (2, 1)",
            "UPDATE lake.main.c SET city = 1 WHERE id = 3",
        ):
            project.sql(change).collect()
        for result in project.refresh(jobs=2):
            document = project.explain(str(result.view)).document
            assert document["incremental"] is (result.outcome is Outcome.INCREMENTAL), result
        for view, text in wanted.items():
            oracle = sorted((tuple(row) for row in project.sql(text).collect()), key=repr)
            assert rows(project, view) == oracle, view
        for view in project.views():
            if view.name.name not in wanted:
                view.verify()


def _layouts_differ(project: Project) -> None:
    """Of the stored tables themselves: partitions, and the size of files."""
    found = set()
    for kind in ("olap", "oltp", "both"):
        facts = project.written()[f"lake.main.{kind}"].facts
        assert facts is not None
        assert facts.storage is not None
        table = facts.storage.quoted()
        properties = {
            row[0]: row[1] for row in project.sql(f"SHOW TBLPROPERTIES {table}").collect()
        }
        described = [row[0] for row in project.sql(f"DESCRIBE TABLE {table}").collect()]
        parts = tuple(name for name in described if name.startswith("Part "))
        found.add((parts, properties.get("write.target-file-size-bytes")))
    assert len(found) == 3
