"""Views and histories that once went wrong, found by the laws."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grebe import config, thresholds
from grebe.config import Settings
from grebe.engine.engine import Engine
from grebe.model import Outcome, Policy
from grebe.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

UNION = "(SELECT k, y FROM t UNION ALL SELECT y AS k, z AS y FROM u)"
MARK = "EXISTS (SELECT 1 FROM u AS m WHERE m.y <=> s.k)"
SUBQUERIES_OVER_UNIONS = {
    "scalar": f"SELECT k, (SELECT MAX(m.z) FROM u AS m WHERE m.y = s.k) AS m FROM {UNION} AS s",
    "in a union": f"SELECT k, {MARK} AS m FROM {UNION} AS s UNION ALL SELECT k, FALSE FROM t",
    # Seed 3 of the laws: two sources change, and the mark is put on the sum of two changes.
    "mark": "SELECT CASE WHEN a2.c1 IN (SELECT COUNT(a4.y) AS c1 FROM t AS a4 WHERE a4.k >= a1.y"
    " HAVING MIN(a4.k) <= 3) THEN 1 ELSE 0 END AS c1 FROM t AS a1 CROSS JOIN (SELECT"
    " COALESCE(a3.y, -1) AS c1 FROM u AS a3 WHERE NOT (1 >= a3.z)) AS a2 WHERE NOT (a1.y <= a1.k)",
}


def test_subqueries_that_are_selected_from_unions(
    spark: SparkSession, project: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thresholds, "REWRITTEN_ROWS", -1)
    settings = replace(project, defaults=replace(project.defaults, schema="counter"))
    for text in (
        "CREATE NAMESPACE lake.counter",
        "CREATE TABLE lake.counter.t (k INT, y INT) USING iceberg",
        "CREATE TABLE lake.counter.u (y INT, z INT) USING iceberg",
        "INSERT INTO lake.counter.u VALUES (3, 2), (3, 3), (2, 0), (1, NULL)",
    ):
        spark.sql(text).collect()
    engine = Engine(settings, spark)
    names = [
        engine.define(name.replace(" ", "_"), sql, Policy.INCREMENTAL).name.name
        for name, sql in SUBQUERIES_OVER_UNIONS.items()
    ]
    engine.refresh(names)
    for text in (
        "INSERT INTO lake.counter.u VALUES (0, 3), (2, 0)",
        "INSERT INTO lake.counter.t VALUES (2, 0), (2, 3), (2, 0), (NULL, 1)",
    ):
        spark.sql(text).collect()
    for result in engine.refresh(names):
        assert result.outcome is Outcome.INCREMENTAL, result
    for name in names:
        engine.verify(name)


def test_rules_that_the_caller_excluded_stay_excluded(
    spark: SparkSession, project: Settings
) -> None:
    own = spark.newSession()
    mine = "org.apache.spark.sql.catalyst.optimizer.ReorderJoin"
    own.conf.set("spark.sql.optimizer.excludedRules", mine)
    ours = str(open_session(project, own).conf.get("spark.sql.optimizer.excludedRules"))
    assert ours.split(",")[0] == mine
    assert ours.endswith("CombineUnions")
    assert own.conf.get("spark.sql.optimizer.excludedRules") == mine


FOLDERS = """
[defaults]
catalog = "folders"
schema = "s"
[catalogs.folders]
format = "delta"
root = "folders"
"""


def test_texts_that_spark_compares_without_their_blanks(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A CHAR is stored with blanks, and so is what it is compared with; as a plain text it is another."""
    (tmp_path / "grebe.toml").write_text(FOLDERS)
    table = f"delta.`{tmp_path}/folders/s/t`"
    for text in (
        f"CREATE TABLE {table} (id INT, c CHAR(5), v VARCHAR(5)) USING delta",
        f"INSERT INTO {table} VALUES (1, 'ab', 'ab'), (2, 'cd', 'cd')",
    ):
        spark.sql(text).collect()
    engine = Engine(config.load(tmp_path), spark)
    for name, sql in (
        ("padded", "SELECT id FROM t WHERE c = 'ab'"),
        ("all", "SELECT * FROM t"),
        ("plain", "SELECT id FROM t WHERE v = 'ab'"),
    ):
        engine.define(name, sql, Policy.AUTO)
    engine.refresh()
    spark.sql(f"INSERT INTO {table} VALUES (3, 'ab', 'ab')").collect()
    found = {item.view.name: item for item in engine.refresh()}
    assert found["plain"].outcome is Outcome.INCREMENTAL
    for name in ("padded", "all"):
        assert [reason.code for reason in found[name].reasons] == ["type-without-identity"]
    for name in found:
        engine.verify(name)


def test_a_step_that_turns_out_empty_still_has_columns(
    spark: SparkSession, project: Settings
) -> None:
    settings = replace(project, defaults=replace(project.defaults, schema="hollow"))
    for text in (
        "CREATE NAMESPACE lake.hollow",
        "CREATE TABLE lake.hollow.a (k INT, v INT) USING iceberg",
        "CREATE TABLE lake.hollow.b (k INT, v INT) USING iceberg",
        "CREATE TABLE lake.hollow.c (y INT, z INT) USING iceberg",
        "INSERT INTO lake.hollow.a VALUES (1, 1), (2, 2)",
        "INSERT INTO lake.hollow.b VALUES (1, 1), (2, 2)",
        "INSERT INTO lake.hollow.c VALUES (1, 1)",
    ):
        spark.sql(text).collect()
    engine = Engine(settings, spark)
    engine.define(
        "largest",
        "SELECT MAX(c.z) AS m FROM (SELECT a.k, COUNT(*) AS x FROM a JOIN b ON a.k = b.k"
        " GROUP BY a.k) AS q LEFT JOIN c ON c.y = q.k",
        Policy.INCREMENTAL,
    )
    engine.refresh(["largest"])
    for text in (
        "INSERT INTO lake.hollow.a VALUES (7, 9)",
        "INSERT INTO lake.hollow.b VALUES (7, 1)",
        "INSERT INTO lake.hollow.c VALUES (7, 8)",
    ):
        spark.sql(text).collect()
        (result,) = engine.refresh(["largest"])
        assert result.outcome in (Outcome.INCREMENTAL, Outcome.NO_OP), result
        engine.verify("largest")


EQUAL_BUT_NOT_THE_SAME = {
    "largest": "SELECT q.x, q.z FROM (SELECT t.x, MAX(u.z) AS z FROM t JOIN u ON t.x = u.s"
    " GROUP BY t.x) AS q JOIN l ON l.v < q.z",
    "extended": "SELECT l.v, q.z FROM l LEFT JOIN (SELECT t.x, u.z FROM t LEFT JOIN u ON t.x = u.s)"
    " AS q ON l.k = q.x",
    "member": "SELECT l.v, t.x FROM l JOIN t ON l.k = t.x"
    " WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.s = t.x AND u.z < 6)",
}


def test_keys_of_two_types(spark: SparkSession, project: Settings) -> None:
    settings = replace(project, defaults=replace(project.defaults, schema="two_types"))
    for text in (
        "CREATE NAMESPACE lake.two_types",
        "CREATE TABLE lake.two_types.l (k STRING, v INT) USING iceberg",
        "CREATE TABLE lake.two_types.t (x INT) USING iceberg",
        "CREATE TABLE lake.two_types.u (s STRING, z INT) USING iceberg",
        "INSERT INTO lake.two_types.l VALUES ('1', 0)",
        "INSERT INTO lake.two_types.t VALUES (1)",
        "INSERT INTO lake.two_types.u VALUES ('1', 9)",
    ):
        spark.sql(text).collect()
    engine = Engine(settings, spark)
    for name, sql in EQUAL_BUT_NOT_THE_SAME.items():
        engine.define(name, sql, Policy.INCREMENTAL)
    engine.refresh(list(EQUAL_BUT_NOT_THE_SAME))
    for text in (
        "INSERT INTO lake.two_types.u VALUES ('01', 5)",
        "INSERT INTO lake.two_types.t VALUES (1)",
        "DELETE FROM lake.two_types.u WHERE s = '1'",
    ):
        spark.sql(text).collect()
        for result in engine.refresh(list(EQUAL_BUT_NOT_THE_SAME)):
            assert result.outcome in (Outcome.INCREMENTAL, Outcome.NO_OP), result
        for name in EQUAL_BUT_NOT_THE_SAME:
            engine.verify(name)
