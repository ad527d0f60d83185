"""Where a table stands: quickly, and without Spark."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

import postgres
from formats.contract.adapters import spark_properties
from formats.iceberg.tables import CATALOG, SCHEMA, Table
from grebe.errors import UnknownTableError
from grebe.formats.iceberg.locators import PostgresLocator, SqliteLocator, locator_of
from grebe.model import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROBE = """
import json, sys
from grebe.formats.iceberg.locators import locator_of
from grebe.formats.files import DriverFiles
from grebe.formats.iceberg.source import IcebergSource
from grebe.model import TableName
catalog, properties, names = json.loads(sys.argv[1])
locator = locator_of(catalog, properties)
sources = [IcebergSource(TableName(*name), locator, DriverFiles()) for name in names]
read = []
files = DriverFiles.read
DriverFiles.read = lambda self, paths: (read.extend(paths), files(self, paths))[1]
first = [source.head().version for source in sources]
cold = len(read)
again = [source.head().version for source in sources]
print(json.dumps({
    "cold": cold, "warm": len(read) - cold,
    "versions": first, "same": first == again,
    "heavy": sorted(m for m in sys.modules if m in {"pyspark", "pyarrow", "pyiceberg", "py4j"}),
}))
"""


def test_nothing_changed_for_three_sources_reads_one_file_each_and_no_spark(
    spark: SparkSession,
) -> None:
    tables = [Table.create(spark) for _ in range(3)]
    versions = [table.sql("INSERT INTO {t} VALUES (1, 'a')") for table in tables]
    names = [(t.name.catalog, t.name.schema, t.name.name) for t in tables]
    argument = json.dumps([CATALOG, spark_properties(spark, CATALOG), names])
    run = json.loads(subprocess.check_output([sys.executable, "-c", PROBE, argument]))
    assert (run["versions"], run["same"], run["heavy"]) == (versions, True, [])
    assert (run["cold"], run["warm"]) == (len(tables), 0)


def test_an_unknown_table_gets_a_suggestion(spark: SparkSession) -> None:
    table = Table.create(spark)
    wrong = TableName(CATALOG, SCHEMA, f"{table.name.name}x")
    locator = locator_of(CATALOG, spark_properties(spark, CATALOG))
    with pytest.raises(UnknownTableError) as caught:
        locator.metadata_location(wrong)
    assert caught.value.hint is not None
    assert SCHEMA in caught.value.hint


def test_a_catalog_that_is_not_made_yet_has_no_tables(tmp_path: Path) -> None:
    """Spark makes its file when it is first used."""
    with pytest.raises(UnknownTableError, match="lake"):
        SqliteLocator(str(tmp_path / "none.db"), "lake").metadata_location(
            TableName("lake", "a", "b")
        )


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a PostgreSQL server of our own."""
    with postgres.server() as server:
        yield server.get_uri()


def test_the_same_rows_in_postgresql(spark: SparkSession, address: str) -> None:
    table = Table.create(spark)
    version = table.sql("INSERT INTO {t} VALUES (1, 'a')")
    path = spark_properties(spark, CATALOG)["uri"].removeprefix("jdbc:sqlite:").split("?")[0]
    with closing(sqlite3.connect(path)) as lite:
        rows = lite.execute(
            "SELECT catalog_name, table_namespace, table_name, metadata_location FROM iceberg_tables"
        ).fetchall()
    with psycopg.connect(address) as connection:
        connection.execute(
            "CREATE TABLE iceberg_tables (catalog_name text, table_namespace text,"
            " table_name text, metadata_location text)"
        )
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO iceberg_tables VALUES (%s, %s, %s, %s)", rows)
    locator = PostgresLocator(address, CATALOG)
    source = table.source()
    source._locator = locator
    assert source.head().version == version
    with pytest.raises(UnknownTableError):
        locator.metadata_location(TableName(CATALOG, SCHEMA, "nothing"))


def test_a_jdbc_address_of_postgresql_is_understood() -> None:
    locator = locator_of(
        "lake",
        {"type": "jdbc", "uri": "jdbc:postgresql://db.local:6543/meta", "jdbc.user": "o'hara"},
    )
    assert isinstance(locator, PostgresLocator)
    assert locator._dsn == "host='db.local' port='6543' dbname='meta' user='o\\'hara'"
