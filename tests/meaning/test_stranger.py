"""Texts by which somebody who had not seen the code broke it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grebe.api import Project
from grebe.errors import DefinitionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KEPT = {
    "an untyped NULL": "SELECT a, NULL AS z FROM m.w",
    "a join in brackets": "SELECT x.a, z.b FROM m.w x LEFT JOIN (m.w y JOIN m.w z ON y.b = z.a)"
    " ON x.b = z.b",
    "an inner name of an outer expression": "WITH q AS (SELECT a, b FROM m.w),"
    " r AS (WITH q AS (SELECT b AS z FROM q) SELECT z FROM q) SELECT z FROM r",
    "a column that is called as a function is": "SELECT u.a, EXISTS"
    " (SELECT 1 FROM m.p q WHERE q.k = u.user) AS e, u.user IN (SELECT k FROM m.p) AS i FROM m.u u",
    "a column for NULL": "SELECT * FROM m.p PIVOT (sum(v) FOR k IN ('x', NULL))",
}
REFUSED = (
    ("type-not-stored", "", "SELECT a, INTERVAL '1' DAY AS i FROM m.w"),
    (
        "refused-by-spark",
        "",
        "SELECT a AS x0, "
        + ", ".join(f"x{place} + 1 AS x{place + 1}" for place in range(59))
        + " FROM m.w",
    ),
    # What is behind such a name would be no source: nobody would see it change.
    ("unsupported-sql", "table_reference", "SELECT a FROM IDENTIFIER('m.w')"),
    (
        "unsupported-sql",
        "table_reference",
        "SELECT k FROM m.p JOIN IDENTIFIER('m.w') AS w ON a = v",
    ),
    (
        "unsupported-sql",
        "table_reference",
        "SELECT k FROM m.p WHERE v IN (SELECT a FROM IDENTIFIER('lake.m.w'))",
    ),
    (
        "unsupported-sql",
        "table_reference",
        "SELECT IDENTIFIER('current_' || 'date')() AS d FROM m.p",
    ),
    ("unsupported-sql", "defined_function", "SELECT a, stranger_clock() AS c FROM m.w"),
    ("unsupported-sql", "defined_function", "SELECT a, `default`.stranger_count() AS c FROM m.w"),
    ("unsupported-sql", "defined_function", "SELECT v FROM m.p, stranger_rows()"),
)
FUNCTIONS = (
    "stranger_clock() RETURNS TIMESTAMP RETURN current_timestamp()",
    "stranger_count() RETURNS BIGINT RETURN (SELECT count(*) FROM lake.m.w)",
    "stranger_rows() RETURNS TABLE (a INT) RETURN SELECT a FROM lake.m.w",
)


def test_kept_as_written_or_refused_with_a_code(tmp_path: Path, spark: SparkSession) -> None:
    with Project.open(tmp_path, spark=spark) as project:
        for statement in (
            "CREATE NAMESPACE lake.m",
            "CREATE TABLE lake.m.w (a INT, b INT) USING iceberg",
            "CREATE TABLE lake.m.p (k STRING, v INT) USING iceberg",
            "CREATE TABLE lake.m.u (a INT, user STRING, current_date STRING) USING iceberg",
            "INSERT INTO lake.m.u VALUES (1, 'x', ''), (2, 'y', ''), (3, NULL, '')",
            "INSERT INTO lake.m.w VALUES (1, 2), (3, 4), (NULL, 5), (2, 3), (3, 4)",
            "INSERT INTO lake.m.p VALUES ('x', 1), (NULL, 2)",
        ):
            project.sql(statement).collect()
        for function in FUNCTIONS:
            project.sql(f"CREATE FUNCTION spark_catalog.default.{function}").collect()
        for code, feature, text in REFUSED:
            for policy in ("auto", "full"):
                with pytest.raises(DefinitionError) as caught:
                    project.create_view("m.refused", text, policy=policy)
                assert (caught.value.code, getattr(caught.value, "feature", "")) == (code, feature)
        views = {
            name: project.create_view(f"m.v{place}", text)
            for place, (name, text) in enumerate(KEPT.items())
        }
        for change in (
            "DELETE FROM lake.m.w WHERE a = 3",
            "UPDATE lake.m.w SET b = 9 WHERE a = 1",
            "INSERT INTO lake.m.p VALUES ('y', 3)",
        ):
            project.sql(change).collect()
            assert not project.refresh().failed
            for name, view in views.items():
                said = project.sql(re.sub(r"\bm\.([wpu])\b", r"lake.m.\1", KEPT[name]))
                found = view.read()
                assert found.columns == said.columns, name
                assert Counter(map(tuple, found.collect())) == Counter(
                    map(tuple, said.collect())
                ), name
