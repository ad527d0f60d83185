"""One place makes sessions: embedded, beside the caller's, over Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.eventlog import event_log_conf
from grebe.config import Settings, load
from grebe.spark.session import is_connect, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Some start a Spark of their own, which takes minutes on a busy machine.
pytestmark = pytest.mark.spark


def values(spark: SparkSession, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> str:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.session")
    spark.sql("CREATE TABLE lake.session.t (id INT) USING iceberg")
    spark.sql("INSERT INTO lake.session.t VALUES (1), (2)")
    return "lake.session.t"


def test_iceberg_and_delta_in_one_query(spark: SparkSession, table: str, tmp_path: Path) -> None:
    delta = f"delta.`{tmp_path}/d`"
    spark.sql(f"CREATE TABLE {delta} (id INT, name STRING) USING delta")
    spark.sql(f"INSERT INTO {delta} VALUES (2, 'two'), (3, 'three')")
    assert values(spark, f"SELECT name FROM {table} JOIN {delta} USING (id)") == [("two",)]


def test_iceberg_views_persist(spark: SparkSession, table: str) -> None:
    spark.sql(f"CREATE OR REPLACE VIEW lake.session.v AS SELECT min(id) AS least FROM {table}")
    assert values(spark, "SELECT * FROM lake.session.v") == [(1,)]


def test_defaults_of_the_embedded_session(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
    assert spark.conf.get("spark.sql.catalog.lake.cache-enabled") == "false"


def test_the_callers_session_stays_as_it_is(spark: SparkSession, project: Settings) -> None:
    caller = spark.newSession()
    caller.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    caller.conf.set("spark.sql.ansi.enabled", "false")
    caller.conf.set("spark.sql.catalog.mine", "org.apache.iceberg.spark.SparkCatalog")
    caller.sql("SELECT 1 AS one").createOrReplaceTempView("temporary")
    before = caller.conf.getAll
    ours = open_session(project, caller)
    assert ours is not caller
    assert ours.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert ours.conf.get("spark.sql.ansi.enabled") == "false"
    assert ours.conf.get("spark.sql.catalog.mine") == "org.apache.iceberg.spark.SparkCatalog"
    ours.conf.set("spark.sql.session.timeZone", "UTC")
    assert caller.conf.getAll == before
    assert not ours.catalog.tableExists("temporary")


def test_versions_made_elsewhere_can_be_read_at_once(
    spark: SparkSession, project: Settings, table: str
) -> None:
    """With Iceberg's cache on, the second session would not know the new snapshot."""
    moving = table.replace(".t", ".moving")
    spark.sql(f"CREATE TABLE {moving} USING iceberg AS SELECT * FROM {table}")
    ours = open_session(project, spark)
    assert values(ours, f"SELECT count(*) FROM {moving}") == [(2,)]
    spark.sql(f"INSERT INTO {moving} VALUES (3)")
    history = f"SELECT snapshot_id FROM {moving}.snapshots ORDER BY committed_at"
    first, last = (row[0] for row in values(spark, history))
    counts = [
        values(ours, f"SELECT count(*) FROM {moving} VERSION AS OF {v}") for v in (first, last)
    ]
    assert counts == [[(2,)], [(3,)]]


def test_a_second_project_in_one_process(spark: SparkSession, table: str, tmp_path: Path) -> None:
    other = open_session(load(tmp_path, {}))
    other.sql("CREATE NAMESPACE lake.session")
    other.sql("CREATE TABLE lake.session.only_here (id INT) USING iceberg")
    assert not spark.catalog.tableExists("lake.session.only_here")
    assert values(spark, f"SELECT count(*) > 0 FROM {table}") == [(True,)]


def test_a_missing_extension_is_named(tmp_path: Path) -> None:
    """In a process of its own: extensions are fixed when Spark starts."""
    done = run_alone(
        f"""
        from pyspark.sql import SparkSession
        from grebe.config import load
        from grebe.spark.java import find_java
        from grebe.spark.session import open_session
        from grebe.errors import ConfigError
        import os
        os.environ["JAVA_HOME"] = str(find_java().home)
        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        try:
            open_session(load({str(tmp_path)!r}, {{}}), spark)
        except ConfigError as error:
            print(error.code, "|", error.message)
        """
    )
    assert 'spark-extension-missing | catalog "lake" needs the Spark extension' in done


def test_over_connect_with_jobs_counted_from_the_event_log(tmp_path: Path) -> None:
    """The log costs every Spark that writes it a tenth of its time: this one writes it, the tests' own does not."""
    conf = event_log_conf(tmp_path / "events")
    lines = [f'"{key}" = "{value}"' for key, value in conf.items()]
    (tmp_path / "grebe.toml").write_text(
        "\n".join(['[spark]\nremote = "local[2]"', "[spark.conf]", *lines, ""])
    )
    done = run_alone(
        f"""
        from pathlib import Path
        from benchmarks.eventlog import measured
        from grebe.config import load
        from grebe.spark.session import is_connect, open_session
        settings = load({str(tmp_path)!r}, {{}})
        caller = open_session(settings)
        caller.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        ours = open_session(settings, caller)
        ours.sql("CREATE NAMESPACE lake.c")
        ours.sql("CREATE TABLE lake.c.t (id INT) USING iceberg")
        ours.sql("INSERT INTO lake.c.t VALUES (7)")
        print(is_connect(ours), ours is caller, ours.conf.get("spark.sql.session.timeZone"))
        print(caller.sql("SELECT id FROM lake.c.t").collect()[0][0])
        events = Path({str(tmp_path / "events")!r})
        with measured(ours, events) as nothing:
            ours.sql("SELECT * FROM lake.c.t").schema
        with measured(ours, events) as work:
            ours.sql("SELECT id % 2, count(*) FROM lake.c.t GROUP BY 1").collect()
        print(nothing.jobs == 0, work.jobs >= 1, work.rows_read >= 1, work.seconds > 0)
        caller.stop()
        """
    )
    assert done.split() == ["True", "False", "Asia/Tokyo", "7", *["True"] * 4]


def run_alone(code: str) -> str:
    """What a program prints in an interpreter of its own."""
    lines = "\n".join(line.removeprefix("        ") for line in code.splitlines())
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", lines],
        # A Connect server then takes any free port instead of its usual one.
        env={**os.environ, "SPARK_TESTING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_this_session_is_classic(spark: SparkSession) -> None:
    assert not is_connect(spark)


def test_missing_format_extension_is_not_asked_for_parquet(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "grebe.toml").write_text('[catalogs.p]\nformat = "parquet"\nroot = "data"\n')
    assert values(open_session(load(tmp_path, {}), spark), "SELECT 1") == [(1,)]


def test_a_bad_java_stops_before_spark(tmp_path: Path) -> None:
    done = run_alone(
        f"""
        from grebe.config import load
        from grebe.spark.session import open_session
        from grebe.errors import ConfigError
        try:
            open_session(load({str(tmp_path)!r}, {{"GREBE_SPARK__JAVA": "/nowhere"}}))
        except ConfigError as error:
            print(error.code)
        """
    )
    assert done.strip() == "java-missing"
