"""What happens to Delta tables in their lives, done by Spark: the outcome is a right diff or a reason."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from formats.delta.spark_tables import SparkFolder
from grebe.model import Version, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = "INSERT INTO {t} SELECT id, concat('v', id) FROM range(0, 40, 1, 1)"
OLD_CALENDAR = [
    {"org.apache.spark.version": "2.4.8"},
    {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""},
]
MORE = "INSERT INTO {t} SELECT id, 'more' FROM range(40, 44, 1, 1)"


def rewrite(file: Path, notes: dict[str, str]) -> None:
    """Put notes of another writer into a file."""
    pq.write_table(pq.read_table(file).replace_schema_metadata(notes), file)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def test_maintenance_of_every_kind_changes_no_row(spark: SparkSession, tmp_path: Path) -> None:
    """OPTIMIZE, ZORDER and REORG PURGE of deleted rows, one after the other."""
    table = SparkFolder.create(spark, tmp_path / "t", enableDeletionVectors="true")
    table.sql(ROWS, MORE)
    before = table.sql("DELETE FROM {t} WHERE id IN (3, 41)")
    after = table.sql(
        "REORG TABLE {t} APPLY (PURGE)", "OPTIMIZE {t}", MORE, "OPTIMIZE {t} ZORDER BY (id)"
    )
    stats = table.source().window_stats(Window(before, after))
    assert (stats.rows_added, stats.rows_removed) == (4, 0)
    assert table.check(before, after) == "by-commit/arrow"
    optimized = Version(str(int(after) - 1))
    assert table.source().window_stats(Window(optimized, after)).only_maintenance
    purged = Version(str(int(before) + 1))
    assert table.source().window_stats(Window(before, purged)).only_maintenance


def test_clones_are_tables_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkFolder.create(spark, tmp_path / "origin", enableDeletionVectors="true")
    table.sql(ROWS)
    table.sql("DELETE FROM {t} WHERE id = 1")
    shallow = SparkFolder(spark, tmp_path / "shallow clone")
    first = shallow.sql(f"CREATE TABLE {{t}} SHALLOW CLONE delta.`{table.path}`")
    assert shallow.source().head().identity != table.source().head().identity
    last = shallow.sql("DELETE FROM {t} WHERE id = 2", MORE)
    shallow.check(first, last)
    assert shallow.source().version_stats(last).rows == 42
    replaced = SparkFolder(spark, tmp_path / "replaced")
    before = replaced.sql("CREATE TABLE {t} (id BIGINT, v STRING) USING delta", MORE)
    after = replaced.sql(
        "DELETE FROM {t}", f"CREATE OR REPLACE TABLE {{t}} SHALLOW CLONE delta.`{table.path}`"
    )
    reason = replaced.refused(before, after)
    assert reason is None or reason.code == "source-replaced"
    if reason is None:
        replaced.check(before, after)


def test_a_table_that_is_replaced_is_told(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkFolder.create(spark, tmp_path / "t")
    before = table.sql(ROWS)
    identity = table.source().head().identity
    after = table.sql(
        "CREATE OR REPLACE TABLE {t} USING delta AS SELECT id, 'new' AS v FROM range(5)"
    )
    reason = table.refused(before, after)
    if table.source().head().identity == identity:
        assert reason is None
        table.check(before, after)
    else:
        assert reason is not None
        assert reason.code == "source-replaced"


def test_row_tracking_that_is_switched_on_later_adds_no_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = SparkFolder.create(spark, tmp_path / "t")
    before = table.sql(ROWS, MORE)
    after = table.sql(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        "UPDATE {t} SET v = 'tracked' WHERE id = 41",
    )
    assert int(after) > int(before) + 2  # files are added again, described
    table.check(before, after)
    described = Version(str(int(after) - 1))
    assert table.source().window_stats(Window(before, described)).only_maintenance


def test_column_mapping_that_is_switched_on_keeps_the_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = SparkFolder.create(spark, tmp_path / "t", tail=" PARTITIONED BY (v)")
    before = table.sql(ROWS)
    renamed = table.sql(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "ALTER TABLE {t} RENAME COLUMN id TO number",
        "ALTER TABLE {t} RENAME COLUMN v TO `a part`",
        "DELETE FROM {t} WHERE number = 4",
        "INSERT INTO {t} VALUES (90, 'x/y=z %'), (91, NULL), (92, '')",
    )
    source = table.source()
    old, new = (source.schema_at(v).by_id() for v in (before, renamed))
    assert set(old) == set(new)
    changes = table.changes(before, renamed)
    assert changes.arrow is not None
    found = {
        (row["number"], row["a part"], row["__grebe_weight"]) for row in changes.arrow.to_pylist()
    }
    assert found == {(4, "v4", -1), (90, "x/y=z %", 1), (91, None, 1), (92, None, 1)}
    by_spark = table.source(budget=0).changes(Window(before, renamed), list(new))
    assert by_spark.way.endswith("/spark")
    assert by_spark.arrow is not None
    assert sorted(by_spark.arrow.to_pylist(), key=str) == sorted(changes.arrow.to_pylist(), key=str)
    again = table.sql(
        "ALTER TABLE {t} DROP COLUMN number",
        "ALTER TABLE {t} ADD COLUMN number BIGINT",
        "UPDATE {t} SET number = 1 WHERE `a part` = 'v5'",
    )
    reason = table.refused(renamed, again)
    assert reason is not None
    assert reason.code == "schema-changed"


def test_columns_are_found_by_number(spark: SparkSession, tmp_path: Path) -> None:
    columns = "id BIGINT, s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<p: INT>>"
    table = SparkFolder.create(
        spark, tmp_path / "t", columns, columnMapping__mode="id", enableTypeWidening="true"
    )
    table.sql("INSERT INTO {t} VALUES (1, struct(1, 'x'), array(struct(1))), (2, NULL, NULL)")
    before = table.sql(
        "ALTER TABLE {t} RENAME COLUMN s.a TO first",
        "ALTER TABLE {t} ADD COLUMN s.late DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN s.first TYPE BIGINT",
    )
    after = table.sql("UPDATE {t} SET id = 9 WHERE id = 2", "DELETE FROM {t} WHERE id = 1")
    assert table.check(before, after).endswith("/arrow")
    assert table.check(before, after, table.source(budget=0)).endswith("/spark")


def test_a_feed_that_was_on_for_a_while(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkFolder.create(spark, tmp_path / "t", enableDeletionVectors="true")
    begun = table.sql(ROWS)
    switch = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = '%s')"
    table.sql("DELETE FROM {t} WHERE id = 1", switch % "true")
    fed = table.sql("UPDATE {t} SET v = 'fed' WHERE id IN (2, 3)")
    ended = table.sql(switch % "false", "UPDATE {t} SET v = 'unfed' WHERE id IN (3, 4)")
    assert table.check(begun, ended) == "change-feed/arrow"
    assert table.check(begun, ended, table.source(budget=0)) == "change-feed/spark"
    assert table.check(ended, begun) == "change-feed/arrow"
    table.check(fed, ended)


def test_checkpoints_of_the_second_kind(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkFolder.create(
        spark,
        tmp_path / "t",
        checkpointPolicy="v2",
        checkpointInterval="2",
        enableDeletionVectors="true",
    )
    first = table.sql(ROWS)
    table.sql("DELETE FROM {t} WHERE id = 1", MORE)
    last = table.sql("DELETE FROM {t} WHERE id = 2")
    log = table.path / "_delta_log"
    assert list((log / "_sidecars").iterdir())
    table.check(first, last)
    newest = max(log.glob("*.checkpoint.*")).name[:20]
    for file in log.glob("*.json"):
        if file.name[:20] <= newest and ".checkpoint." not in file.name:
            file.unlink()
    assert table.source().version_stats(last).rows == 42
    reason = table.refused(first, last)
    assert reason is not None
    assert reason.code == "history-expired"


def test_a_vacuum_of_the_past_is_told(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkFolder.create(spark, tmp_path / "t")
    before = table.sql(ROWS)
    settings = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        # VACUUM lists folders in this many tasks: 10,000 unless told.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    after = table.sql("UPDATE {t} SET v = 'x' WHERE id = 1", "VACUUM {t} RETAIN 0 HOURS")
    for key in settings:
        spark.conf.unset(key)
    reason = table.refused(before, after)
    assert reason is not None
    assert reason.code == "history-expired"
    kept = Version(str(int(before) + 1))
    assert table.source().window_stats(Window(kept, after)).only_maintenance


def test_partitions_whose_text_has_no_zone_are_left_to_delta(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = SparkFolder.create(
        spark, tmp_path / "t", "id BIGINT, at TIMESTAMP, d DATE", " PARTITIONED BY (at, d)"
    )
    row = "INSERT INTO {t} VALUES (%d, TIMESTAMP'2024-03-10 02:30:00.5', DATE'0001-01-01')"
    before = table.sql(row % 1)
    spark.conf.set("spark.databricks.delta.write.utcTimestampPartitionValues", "false")
    after = table.sql(row % 2, "INSERT INTO {t} VALUES (3, NULL, NULL)")
    spark.conf.unset("spark.databricks.delta.write.utcTimestampPartitionValues")
    assert table.check(before, after) == "bag-difference/spark"
    zoned = table.sql(row % 4)
    assert table.check(after, zoned).endswith("/arrow")


def test_a_type_that_cannot_be_compared_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkFolder.create(spark, tmp_path / "t", "id BIGINT, j VARIANT")
    before = table.sql("INSERT INTO {t} SELECT 1, parse_json('{\"a\": 1}')")
    after = table.sql("INSERT INTO {t} SELECT 2, parse_json('{\"a\": 2}')")
    reason = table.refused(before, after)
    assert reason is not None
    assert reason.code == "type-without-identity"
    source = table.source()
    number = source.schema_at(after).columns[0].id
    changes = source.changes(Window(before, after), [number])
    assert changes.arrow is not None
    assert changes.arrow.num_rows == 1


@pytest.mark.parametrize("notes", OLD_CALENDAR, ids=str)
def test_dates_in_the_calendar_of_an_old_spark(
    spark: SparkSession, tmp_path: Path, notes: dict[str, str]
) -> None:
    """Delta's own reader shifts dates before 1582 of files that an old Spark wrote."""
    table = SparkFolder.create(spark, tmp_path / "t", "d DATE")
    before = table.sql("INSERT INTO {t} VALUES (DATE'1500-01-01')")
    after = table.sql("INSERT INTO {t} VALUES (DATE'1400-01-01')")
    (file,) = [add.path for add in table.source()._log.commit(int(after)).adds]
    rewrite(Path(file), notes)
    assert table.check(before, after) == "bag-difference/spark"
    shown = table.rows(after, ["d"])
    assert shown != {(date(1500, 1, 1),): 1, (date(1400, 1, 1),): 1}
