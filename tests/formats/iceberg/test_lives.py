"""A table that is replaced, rolled back, expired, imported or damaged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formats.iceberg.java import add_column_with_default
from formats.iceberg.tables import SCHEMA, Table
from grebe.errors import CorruptFileError, HistoryExpiredError, SourceReplacedError
from grebe.model import Version, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def reason(table: Table, after: Version, upto: Version) -> str | None:
    found = table.source().unreadable(Window(after, upto), [1])
    return found.code if found else None


def test_dropped_and_created_again_is_another_table(spark: SparkSession) -> None:
    table = Table.create(spark)
    before = table.sql("INSERT INTO {t} VALUES (1, 'a')")
    identity = table.source().head().identity
    table.spark.sql(f"DROP TABLE {table.name.quoted()}")
    table.spark.sql(f"CREATE TABLE {table.name.quoted()} (id BIGINT, v STRING) USING iceberg")
    now = table.sql("INSERT INTO {t} VALUES (1, 'a')")
    assert table.source().head().identity != identity
    assert reason(table, before, now) == "history-expired"


def test_create_or_replace_keeps_the_uuid_and_is_still_recognised(spark: SparkSession) -> None:
    table = Table.create(spark)
    before = table.sql("INSERT INTO {t} VALUES (1, 'a')")
    identity = table.source().head().identity
    now = table.sql("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT 1L AS id, 'b' AS v")
    assert table.source().head().identity == identity
    assert reason(table, before, now) == "source-replaced"
    with pytest.raises(SourceReplacedError):
        table.source().changes(Window(before, now), [1])
    later = table.sql("INSERT INTO {t} VALUES (2, 'c')")
    table.checked(Window(now, later))


def test_an_expired_start_is_said_and_never_guessed(spark: SparkSession) -> None:
    table = Table.create(spark, format__version="2", write_delete_mode="copy-on-write")
    first = table.sql("INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    table.sql("DELETE FROM {t} WHERE id = 1")
    last = table.sql("INSERT INTO {t} VALUES (3, 'c')")
    knows_both = table.source()
    knows_both.head()
    table.call("expire_snapshots", older_than="now()", retain_last="1")
    assert reason(table, first, last) == "history-expired"
    for source in (table.source(), knows_both):
        with pytest.raises(HistoryExpiredError):
            source.changes(Window(first, last), [1])
    table.checked(Window(None, last))


def test_expiry_of_the_middle_does_no_harm(spark: SparkSession) -> None:
    table = Table.create(spark)
    first = table.sql("INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    table.sql(f"ALTER TABLE {{t}} CREATE TAG kept AS OF VERSION {first}")
    table.sql("DELETE FROM {t} WHERE id = 1")
    last = table.sql("INSERT INTO {t} VALUES (3, 'c')")
    table.call("expire_snapshots", older_than="now()", retain_last="1")
    table.checked(Window(first, last))


def test_another_branch_moves_nothing(spark: SparkSession) -> None:
    table = Table.create(spark)
    version = table.sql("INSERT INTO {t} VALUES (1, 'a')")
    table.sql("ALTER TABLE {t} CREATE BRANCH draft")
    spark.sql(f"INSERT INTO {table.name.quoted()}.branch_draft VALUES (9, 'z')").collect()
    assert table.source().head().version == version


def test_a_default_fills_rows_that_are_older_than_their_column(spark: SparkSession) -> None:
    table = Table.create(spark)
    table.sql("INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    add_column_with_default(spark, table, "n", 7)
    first = table.sql("INSERT INTO {t} VALUES (3, 'c', 3)")
    last = table.sql("DELETE FROM {t} WHERE id IN (1, 3)")
    changes = table.checked(Window(first, last), [1, 3])
    assert sorted(changes.arrow["n"].to_pylist()) == [3, 7]
    by_spark = table.checked(Window(first, last), [1, 3], budget=-1)
    assert by_spark.way == "bag-difference/spark"


def imported(spark: SparkSession, folder: Path) -> tuple[Table, Version]:
    """Plain Parquet files without field ids, whose partition column is only in their path."""
    rows = "SELECT id, CAST(id % 3 AS STRING) v, struct(id AS a, 'x' AS b) s FROM range(30)"
    spark.sql(rows).write.partitionBy("v").parquet(str(folder))
    table = Table.create(
        spark, "id BIGINT, s STRUCT<a:BIGINT,b:STRING>, v STRING", tail="PARTITIONED BY (v)"
    )
    return table, table.call("add_files", source_table=f"'`parquet`.`{folder}`'")


@pytest.mark.parametrize("budget", [10**9, -1])
def test_imported_files_are_read_by_name(spark: SparkSession, tmp_path: Path, budget: int) -> None:
    table, first = imported(spark, tmp_path / "plain")
    table.checked(Window(None, first), [1, 2, 3], budget=budget)
    second = table.sql("DELETE FROM {t} WHERE id IN (1, 2, 3)")
    table.sql("ALTER TABLE {t} RENAME COLUMN id TO number")
    third = table.sql("UPDATE {t} SET v = 'moved' WHERE number = 5")
    table.checked(Window(first, second), [1, 2, 3], budget=budget)
    table.checked(Window(first, third), [1, 2, 3], budget=budget)


@pytest.mark.parametrize("damage", ["empty", "half", "flipped"])
@pytest.mark.parametrize(
    "pattern", ["metadata/*.json", "metadata/snap-*.avro", "metadata/*-m*.avro", "data/*"]
)
def test_a_damaged_file_is_named(torn_table: Torn, pattern: str, damage: str) -> None:
    """Whatever is wrong with the bytes: nothing is guessed, the file is named."""
    for file in torn_table.files(pattern):
        content = file.read_bytes()
        half = len(content) // 2
        broken = {
            "empty": b"",
            "half": content[:half],
            "flipped": content[:half] + bytes([content[half] ^ 0xFF]) + content[half + 1 :],
        }[damage]
        file.write_bytes(broken)
        try:
            outcome = torn_table.outcome()
        finally:
            file.write_bytes(content)
        if damage == "flipped" and outcome is None:
            continue  # The bit lies in a part that nobody needs, or the result was the right one.
        assert isinstance(outcome, CorruptFileError), (file, outcome)
        assert file.name in str(outcome)


class Torn:
    """A table with every kind of file, and the right answer to one window."""

    def __init__(self, spark: SparkSession) -> None:
        self.table = Table.create(spark)
        self.first = self.table.sql("INSERT INTO {t} SELECT id, concat('v', id) FROM range(50)")
        self.last = self.table.sql("DELETE FROM {t} WHERE id IN (3, 30)")
        self.right = self.table.source().changes(Window(self.first, self.last), [1, 2]).arrow

    def files(self, pattern: str) -> list[Path]:
        """The files that the window needs."""
        source = self.table.source()
        metadata = source._refreshed()
        states = source._manifests.live(metadata, [int(self.first), int(self.last)]).values()
        needed = {Path(metadata.location).name}
        needed |= {Path(str(s.manifest_list)).name for s in metadata.snapshots.values()}
        needed |= {
            Path(m.path).name for manifests in source._manifests._lists.values() for m in manifests
        }
        needed |= {Path(d.path).name for state in states for d in state.deletes}
        needed |= {Path(w).name for w in self.table.files.opened}
        return [f for f in sorted(self.table.folder().glob(pattern)) if f.name in needed]

    def outcome(self) -> Exception | None:
        """The error of reading the window; None when the answer was right."""
        try:
            found = self.table.source().changes(Window(self.first, self.last), [1, 2]).arrow
        except CorruptFileError as error:
            return error
        assert found == self.right
        return None


@pytest.fixture(scope="module")
def torn_table(spark: SparkSession) -> Torn:
    return Torn(spark)


def test_a_lost_data_file_is_named(torn_table: Torn) -> None:
    file = torn_table.files("data/*.parquet")[0]
    content = file.read_bytes()
    file.unlink()
    try:
        with pytest.raises(HistoryExpiredError, match=file.name):
            torn_table.outcome()
    finally:
        file.write_bytes(content)


def test_a_table_in_a_hadoop_catalog_needs_no_spark_to_find(
    spark: SparkSession, tmp_path: Path
) -> None:
    prefix = "spark.sql.catalog.folder"
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"{prefix}.type", "hadoop")
    spark.conf.set(f"{prefix}.warehouse", str(tmp_path))
    spark.conf.set(f"{prefix}.cache-enabled", "false")
    table = Table.create(spark, catalog="folder")
    first = table.sql("INSERT INTO {t} VALUES (1, 'a')")
    last = table.sql("UPDATE {t} SET v = 'b'")
    assert table.source().capabilities.head_without_spark
    table.checked(Window(first, last))
    assert table.name.schema == SCHEMA
