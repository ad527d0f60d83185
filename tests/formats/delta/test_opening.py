"""Delta tables by name: folders under a root, and tables of a catalog that Spark has."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from formats.commit.client import arrow
from formats.commit.lake import COLUMNS, frontier
from formats.delta.commit.folders import Folders
from formats.delta.tables import Folder
from grebe.errors import ConfigError, SourceError, UnknownTableError
from grebe.formats.base import Append, Rows
from grebe.formats.delta.catalog import DeltaCatalog
from grebe.formats.folders import VIEW_FILE
from grebe.formats.parquet.catalog import ParquetCatalog
from grebe.model import CatalogAddress, Schema, TableName, Version, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = TableName("folders", "shop", "orders")


def no_spark() -> NoReturn:
    raise AssertionError("Spark is not needed here")


@pytest.fixture
def folders(tmp_path: Path) -> DeltaCatalog:
    return DeltaCatalog(CatalogAddress("folders", str(tmp_path / "home"), root=str(tmp_path)))


def test_a_folder_is_a_source_without_spark(folders: DeltaCatalog, tmp_path: Path) -> None:
    folder = Folder.create(tmp_path / "shop" / "orders")
    folder.append((1, "a", 0.5))
    source = folders.source(ORDERS, no_spark)
    assert source.head().version == "1"
    assert source.capabilities.head_without_spark
    assert folders.relation(ORDERS) == f"delta.`{tmp_path}/shop/orders`"
    found = folders.position(ORDERS, no_spark)
    assert found is not None
    assert (found.frontier, len(found.foreign)) == (None, 1)


def test_a_folder_that_is_not_there_has_no_position(folders: DeltaCatalog) -> None:
    assert folders.position(ORDERS, no_spark) is None
    with pytest.raises(UnknownTableError):
        folders.source(ORDERS, no_spark).head()


def test_a_moment_before_the_first_run_has_no_version(tmp_path: Path) -> None:
    """What CREATE made is a version of the table, and none of the view."""
    table = Folders(tmp_path).create("t")
    tables = DeltaCatalog(CatalogAddress("folder", str(tmp_path / "home"), root=str(tmp_path)))

    def moment(version: str) -> datetime:
        found = tables.moment(table.name, Version(version), no_spark)
        assert found is not None
        return found

    def at(when: datetime) -> Version | None:
        return tables.version_at(table.name, when, no_spark)

    later = timedelta(milliseconds=1)
    assert at(moment("0") + later) is None
    time.sleep(0.01)
    table.table.alter.set_table_properties({"owner.note": "x"}, raise_if_not_exists=False)
    time.sleep(0.01)
    write = Append(Rows(arrow=arrow([[1, "a", 1]])))
    table.storage.commit([write], frontier("r1"), table.storage.position())
    assert [at(moment(number)) for number in ("0", "1", "2")] == [None, None, "2"]
    time.sleep(0.01)
    table.table.optimize.compact()
    table.table.alter.set_table_properties({"owner.note": "y"}, raise_if_not_exists=False)
    assert at(datetime.now(UTC)) == "3"
    table.table.create_checkpoint()
    for number in range(3):  # a log that was cleaned up does not say what came before
        Path(table.path, "_delta_log", f"{number:020d}.json").unlink()
    assert at(datetime.now(UTC)) == "3"


@pytest.mark.parametrize("name", ["..", ".", "a/b", ""])
def test_a_name_never_leads_out_of_the_root(folders: DeltaCatalog, name: str) -> None:
    for bad in (TableName("folders", name, "t"), TableName("folders", "s", name)):
        with pytest.raises(UnknownTableError):
            folders.relation(bad)


def test_a_public_name_is_replaced_in_one_step(folders: DeltaCatalog, tmp_path: Path) -> None:
    for text in ("SELECT 1", "SELECT 'ü'"):
        folders.publish(ORDERS, None, lambda _, text=text: text)  # type: ignore[arg-type,misc]
    folder = tmp_path / "shop" / "orders"
    assert json.loads((folder / VIEW_FILE).read_text("utf-8")) == {"sql": "SELECT 'ü'"}
    assert [path.name for path in folder.iterdir()] == [VIEW_FILE]


def test_a_folder_that_only_spark_reaches_has_no_place_for_public_names(tmp_path: Path) -> None:
    tables = DeltaCatalog(CatalogAddress("far", str(tmp_path), root="s3://bucket/root"))
    with pytest.raises(ConfigError):
        tables.publish(ORDERS, None, lambda _: "SELECT 1")  # type: ignore[arg-type]


def test_parquet_folders_hold_no_views(tmp_path: Path) -> None:
    tables = ParquetCatalog(CatalogAddress("files", str(tmp_path), root=str(tmp_path)))
    with pytest.raises(ConfigError):
        tables.storage(ORDERS, None)  # type: ignore[arg-type]
    assert tables.position(ORDERS, no_spark) is None
    far = ParquetCatalog(CatalogAddress("files", str(tmp_path), root="s3://bucket"))
    with pytest.raises(ConfigError):
        far.source(ORDERS, no_spark)


@pytest.fixture
def catalog(spark: SparkSession, tmp_path: Path) -> Iterator[DeltaCatalog]:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS spark_catalog.opening").collect()
    yield DeltaCatalog(CatalogAddress("main", str(tmp_path), spark_catalog="spark_catalog"))
    spark.sql("DROP NAMESPACE spark_catalog.opening CASCADE").collect()


@pytest.mark.spark
def test_tables_of_sparks_own_catalog(spark: SparkSession, catalog: DeltaCatalog) -> None:
    stored = TableName("main", "opening", "__grebe_totals")
    assert catalog.position(stored, lambda: spark) is None
    storage = catalog.storage(stored, spark)
    storage.create(Schema("0", COLUMNS), {"grebe.view": "it's"})
    write = Append(Rows(arrow=arrow([[1, "a", 1], [2, "b", 2]])))
    storage.commit([write], frontier("r1"), storage.position())
    found = catalog.position(stored, lambda: spark)
    assert found is not None
    assert found.frontier == frontier("r1")
    source = catalog.source(stored, lambda: spark)
    head = source.head()
    ids = [column.id for column in head.schema.columns]
    changes = source.changes(Window(None, head.version), ids)
    assert changes.arrow is not None
    assert changes.arrow.num_rows == source.read_at(head.version, ids).count() == 2

    public = TableName("main", "opening", "totals")
    catalog.publish(public, spark, lambda _: f"SELECT k FROM {catalog.relation(stored)}")
    assert spark.sql(f"SELECT * FROM {catalog.relation(public)}").count() == 2
    with pytest.raises(SourceError):
        catalog.source(public, lambda: spark)

    staged = TableName("main", "opening", "__grebe_stage_1")
    text = catalog.stage(staged, spark.range(3))
    assert spark.sql(f"SELECT * FROM {text}").count() == 3
    catalog.unstage(staged, spark)
    with pytest.raises(UnknownTableError):
        catalog.source(staged, lambda: spark)
    catalog.unstage(staged, spark)


@pytest.mark.spark
def test_rows_are_staged_in_a_folder_and_removed(
    spark: SparkSession, folders: DeltaCatalog, tmp_path: Path
) -> None:
    staged = TableName("folders", "shop", "__grebe_stage_1")
    text = folders.stage(staged, spark.range(3))
    assert spark.sql(f"SELECT * FROM {text}").count() == 3
    folders.unstage(staged, spark)
    folders.unstage(staged, spark)
    assert not (tmp_path / "shop" / "__grebe_stage_1").exists()
