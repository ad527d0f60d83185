"""Every way in which DuckLake keeps rows, read by Spark and compared with DuckDB's own reading."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from formats.contract.oracle import Bag, bag, difference
from formats.contract.replay import arrow_of
from formats.ducklake.lakes import Lake
from grebe import thresholds
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.model import TableName, Version, Window
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
Lakes = Callable[..., Lake]
MANY = "SELECT i AS id, 'g' || (i % 3) AS g FROM range({}, {}) r(i)"


@dataclass(slots=True)
class Table:
    """A table, and what DuckDB saw in it after every step."""

    spark: SparkSession
    lake: Lake
    name: str = "t"
    columns: str = "*"
    seen: dict[Version, Bag] = field(default_factory=dict)

    def source(self, **options: int) -> DuckLakeSource:
        name = TableName("lake", "main", self.name.strip('"'))
        return DuckLakeSource(name, self.lake.address, spark=lambda: self.spark, **options)

    def step(self, *statements: str) -> Version:
        self.lake.run(*statements)
        with self.lake.writing() as connection:
            rows = connection.execute(f"SELECT {self.columns} FROM lake.{self.name}")
            found = bag(rows.to_arrow_table())
        version = self.source().head().version
        self.seen[version] = found
        return version

    def check(self) -> None:
        """Spark reads every version as DuckDB did, and finds the changes of the whole history."""
        source = self.source()
        for version, rows in self.seen.items():
            ids = [column.id for column in source.schema_at(version).columns]
            assert bag(source.read_at(version, ids).toArrow()) == rows, version
        first, *_, last = self.seen
        ids = [column.id for column in source.schema_at(last).columns]
        window = Window(first, last)
        used = [number for number in ids if source.unreadable(window, [number]) is None]
        small = arrow_of(source.changes(window, used))
        large = self.source(driver_budget=-1).changes(window, used)
        assert large.way == "files/spark"
        assert bag(arrow_of(large)) == bag(small)
        if used == ids and len(self.seen[first]) and self._same_columns(first, last):
            assert bag(small) == difference(self.seen[last], self.seen[first])

    def _same_columns(self, first: Version, last: Version) -> bool:
        source = self.source()
        return source.schema_at(first).columns == source.schema_at(last).columns

    def natively(self, version: Version) -> bool:
        """Whether Spark reads files of a version itself."""
        source = self.source()
        ids = [column.id for column in source.schema_at(version).columns]
        plan = source.read_at(version, ids)
        return bool(plan.inputFiles())


@pytest.fixture
def table(spark: SparkSession, lake: Lake) -> Table:
    return Table(spark, lake)


def test_inlined_rows_deletes_and_updates_and_their_flush(table: Table) -> None:
    table.step("CREATE TABLE lake.t (id INTEGER, g VARCHAR)", "INSERT INTO lake.t VALUES (1, 'a')")
    table.step(f"INSERT INTO lake.t {MANY.format(10, 60)}")
    both = table.step(
        "DELETE FROM lake.t WHERE id IN (1, 12)", "INSERT INTO lake.t VALUES (2, NULL)"
    )
    assert table.natively(both)
    table.step("UPDATE lake.t SET g = 'u' WHERE id IN (2, 13)")
    table.step("DELETE FROM lake.t WHERE id BETWEEN 20 AND 45")
    table.step("CALL ducklake_flush_inlined_data('lake')")
    table.step("INSERT INTO lake.t VALUES (3, 'late')", "DELETE FROM lake.t WHERE id = 14")
    table.check()


def test_merged_files_hold_rows_of_several_versions(table: Table) -> None:
    table.step(
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)", f"INSERT INTO lake.t {MANY.format(0, 20)}"
    )
    table.step(f"INSERT INTO lake.t {MANY.format(20, 40)}")
    table.step(f"INSERT INTO lake.t {MANY.format(40, 60)}")
    table.step("CALL ducklake_merge_adjacent_files('lake')")
    table.step("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    table.step("DELETE FROM lake.t WHERE id % 2 = 0")
    table.step("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
    table.step("UPDATE lake.t SET g = 'r' WHERE id < 30")
    table.check()


def test_columns_renamed_added_dropped_widened(table: Table) -> None:
    table.step(
        "CREATE TABLE lake.t (id INTEGER, a VARCHAR, b INTEGER, gone VARCHAR)",
        "INSERT INTO lake.t SELECT i, 'a', i, 'x' FROM range(20) r(i)",
    )
    table.step("ALTER TABLE lake.t RENAME COLUMN a TO name", "ALTER TABLE lake.t DROP COLUMN gone")
    table.step("ALTER TABLE lake.t ADD COLUMN a VARCHAR DEFAULT 'new'")
    table.step("INSERT INTO lake.t SELECT i, 'b', i, 'own' FROM range(20, 40) r(i)")
    table.step("ALTER TABLE lake.t ALTER COLUMN b TYPE BIGINT", "DELETE FROM lake.t WHERE id = 5")
    table.step("INSERT INTO lake.t SELECT i, 'b', 5000000000, 'own' FROM range(40, 60) r(i)")
    table.step("ALTER TABLE lake.t ADD COLUMN late DATE")
    table.check()


def test_partitions_and_their_change(table: Table) -> None:
    table.step(
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)",
        "ALTER TABLE lake.t SET PARTITIONED BY (g)",
        f"INSERT INTO lake.t {MANY.format(0, 40)}",
    )
    table.step("INSERT INTO lake.t SELECT i, NULL FROM range(15) r(i)")
    table.step("ALTER TABLE lake.t SET PARTITIONED BY (bucket(4, id))")
    table.step(f"INSERT INTO lake.t {MANY.format(100, 140)}")
    table.step(
        "DELETE FROM lake.t WHERE g = 'g1'", "UPDATE lake.t SET g = 'odd = %/#' WHERE id < 9"
    )
    assert table.natively(next(iter(table.seen)))
    table.check()


def test_files_of_others(table: Table, tmp_path: Path) -> None:
    table.step(
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)", f"INSERT INTO lake.t {MANY.format(0, 20)}"
    )
    rows = {"ID": pa.array([1, 2, None], pa.int32()), "g": pa.array(["a", None, "c"])}
    pq.write_table(pa.table(rows), tmp_path / "plain.parquet")
    folder = tmp_path / "g=hive"
    folder.mkdir()
    pq.write_table(pa.table({"id": pa.array([7, 8], pa.int64())}), folder / "part.parquet")
    table.step(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path / 'plain.parquet'}')")
    table.step(
        f"CALL ducklake_add_data_files('lake', 't', '{folder / 'part.parquet'}',"
        " hive_partitioning => true)"
    )
    table.step("DELETE FROM lake.t WHERE id IN (2, 7)")
    table.check()


def test_encrypted_files(spark: SparkSession, opened: Lakes) -> None:
    table = Table(spark, opened("duckdb", ", ENCRYPTED"))
    table.step(
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)", f"INSERT INTO lake.t {MANY.format(0, 30)}"
    )
    version = table.step("DELETE FROM lake.t WHERE id BETWEEN 5 AND 20")
    table.step("INSERT INTO lake.t VALUES (1, 'inlined')")
    assert not table.natively(version)
    table.check()


def test_types_that_only_duckdb_reads(spark: SparkSession, lake: Lake) -> None:
    texts = "id, CAST(u AS VARCHAR) AS u, CAST(j AS VARCHAR) AS j, CAST(b AS DECIMAL(20,0)) AS b"
    table = Table(spark, lake, columns=f"{texts}, CAST(s AS TIMESTAMP) AS s")
    table.step(
        "CREATE TABLE lake.t (id UINTEGER, u UUID, j JSON, b UBIGINT, s TIMESTAMP_S)",
        "INSERT INTO lake.t SELECT i, '00000000-0000-0000-0000-00000000000' || (i % 10), '[1]',"
        " 18446744073709551615, '2024-01-02 03:04:05' FROM range(30) r(i)",
    )
    table.step("DELETE FROM lake.t WHERE id = 3")
    kinds = [column.type for column in table.source().head().schema.columns]
    assert kinds == ["bigint", "string", "string", "decimal(20,0)", "timestamp_ntz"]
    table.check()


def test_many_rows_that_only_duckdb_reads_are_staged(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thresholds, "DUCK_BYTES", -1)
    table.step(
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)", f"INSERT INTO lake.t {MANY.format(0, 20)}"
    )
    table.step(f"INSERT INTO lake.t {MANY.format(20, 40)}")
    table.step("CALL ducklake_merge_adjacent_files('lake')")
    table.check()


def test_folders_with_odd_names(spark: SparkSession, opened: Lakes, tmp_path: Path) -> None:
    lake = opened()
    table = Table(spark, lake, name='"od d [x]{1,2}*"')
    table.step(
        f"CREATE TABLE lake.{table.name} (id BIGINT, g VARCHAR)",
        f"INSERT INTO lake.{table.name} {MANY.format(0, 20)}",
    )
    table.step(f"DELETE FROM lake.{table.name} WHERE id BETWEEN 3 AND 15")
    source = table.source()
    for version, rows in table.seen.items():
        assert bag(source.read_at(version, [1, 2]).toArrow()) == rows


@pytest.mark.parametrize("folder", ["odd//./data", "near"])
def test_folders_that_are_spelled_in_more_than_one_way(
    spark: SparkSession, opened: Lakes, tmp_path: Path, folder: str
) -> None:
    """Spark spells paths in its own way, and rows are told deleted by their file's path."""
    lake = opened()
    spelled = os.path.relpath(tmp_path / folder) if folder == "near" else f"{tmp_path}/{folder}"
    lake.address = replace(lake.address, data_path=spelled)
    table = Table(spark, lake)
    table.step(
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)", f"INSERT INTO lake.t {MANY.format(0, 20)}"
    )
    version = table.step("DELETE FROM lake.t WHERE id BETWEEN 3 AND 15")
    assert table.natively(version)
    assert bag(table.source().read_at(version, [1, 2]).toArrow()) == table.seen[version]


def test_a_pinned_read_without_columns_counts(table: Table) -> None:
    version = table.step(
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)", f"INSERT INTO lake.t {MANY.format(0, 20)}"
    )
    table.lake.run("DELETE FROM lake.t WHERE id < 5", "INSERT INTO lake.t VALUES (1, 'a')")
    assert table.source().read_at(version, []).count() == 20
    assert table.source().read_at(table.source().head().version, []).count() == 16


def test_row_groups_are_skipped_by_the_column_that_is_asked_for(table: Table) -> None:
    """Columns are found by number, row groups are skipped by name: of a column that had another one, not."""
    table.step(
        "CREATE TABLE lake.t (a BIGINT, b BIGINT, k BIGINT)",
        "INSERT INTO lake.t SELECT i, -i, i * 10 FROM range(2000) r(i)",
    )
    version = table.step(
        "ALTER TABLE lake.t RENAME a TO c",
        "ALTER TABLE lake.t RENAME b TO a",
        "ALTER TABLE lake.t RENAME c TO b",
        "INSERT INTO lake.t (a, b, k) SELECT -i, i, i * 10 FROM range(2000, 4000) r(i)",
    )
    assert table.natively(version)
    frame = table.source().read_at(version, [1, 2, 3])
    assert sorted(frame.columns) == ["a", "b", "k"]
    for text, rows in (("a = -500", 1), ("b = 500", 1), ("k = 5000", 1), ("a > 0", 0)):
        assert frame.where(text).count() == rows, text
    plan = str(frame.where("k = 5000")._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]
    assert "EqualTo(k,5000)" in plan  # never renamed: this one skips
    assert "EqualTo(a," not in str(
        frame.where("a = -500")._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    )


def test_few_changed_rows_in_large_files_are_read_from_the_feed(table: Table) -> None:
    before = table.step(
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)", f"INSERT INTO lake.t {MANY.format(0, 2000)}"
    )
    after = table.step("UPDATE lake.t SET g = 'x' WHERE id % 100 = 0")
    changes = table.source(driver_budget=0).changes(Window(before, after), [1, 2])
    assert changes.way == "feed/duckdb"
    assert bag(arrow_of(changes)) == difference(table.seen[after], table.seen[before])


def test_the_quoted_names_of_spark(table: Table) -> None:
    version = table.step(
        'CREATE TABLE lake.t ("a`b" BIGINT, "c.d" VARCHAR)', "INSERT INTO lake.t VALUES (1, 'x')"
    )
    frame = table.source().read_at(version, [2, 1])
    assert frame.columns == ["c.d", "a`b"]
    assert frame.select(quote("a`b")).collect()[0][0] == 1


@pytest.mark.parametrize(
    "later",
    [
        [],
        ["CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)"],
        # The commit of the flush itself is expired: nothing says any more that there was one.
        [
            "INSERT INTO lake.t VALUES (9, 'late')",
            "CALL ducklake_expire_snapshots('lake', versions => [6])",
        ],
    ],
    ids=["flushed", "rewritten", "forgotten"],
)
def test_a_flush_that_does_not_say_of_how_many_commits_its_deletes_are(
    table: Table, later: list[str]
) -> None:
    # The flush writes one file with the deletes of three commits and leaves partial_max empty.
    table.step(
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)",
        "INSERT INTO lake.t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
    )
    table.step("UPDATE lake.t SET g = 'x' WHERE id = 1")
    table.step("UPDATE lake.t SET g = 'y' WHERE id = 1")
    table.step("DELETE FROM lake.t WHERE id IN (2, 4)")
    table.lake.run("CALL ducklake_flush_inlined_data('lake')", *later)
    table.check()
    source = table.source()
    for after, upto in itertools.permutations(table.seen, 2):
        changes = source.changes(Window(after, upto), [1, 2])
        assert bag(arrow_of(changes)) == difference(table.seen[upto], table.seen[after]), (
            changes.way
        )


@pytest.mark.parametrize(
    "data", ["file://{}/data", "{}/pos=7", "{}/_ducklake_internal_snapshot_id=1"]
)
def test_deleted_rows_stay_deleted_however_the_folder_is_called(
    spark: SparkSession, opened: Lakes, tmp_path: Path, data: str
) -> None:
    lake = opened("sqlite")
    lake.address = replace(lake.address, data_path=data.format(tmp_path))
    table = Table(spark, lake)
    table.step(
        "CALL lake.set_option('data_inlining_row_limit', 0)",
        "CREATE TABLE lake.t (id BIGINT, g VARCHAR)",
        f"INSERT INTO lake.t {MANY.format(0, 20)}",
    )
    once = table.step("DELETE FROM lake.t WHERE id = 3")
    table.step("DELETE FROM lake.t WHERE id = 4")
    assert table.natively(once)
    table.check()


def test_a_version_that_lists_a_data_file_twice_is_said(opened: Lakes) -> None:
    """DuckLake itself shows its rows twice: a rewrite came before the flush of a delete."""
    lake = opened("sqlite")
    lake.run(
        "CREATE TABLE lake.t (id INTEGER, g VARCHAR)",
        "CALL lake.set_option('data_inlining_row_limit', 10)",
        f"INSERT INTO lake.t {MANY.format(0, 20)}",
        "DELETE FROM lake.t WHERE id < 12",
        "DELETE FROM lake.t WHERE id = 13",
    )
    source = DuckLakeSource(TableName("lake", "main", "t"), lake.address)
    before = source.head().version
    assert before.endswith(":7")
    lake.run(
        "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
        "CALL ducklake_flush_inlined_data('lake')",
    )
    reason = source.unreadable(Window(before, source.head().version), [1])
    assert reason is not None
    assert reason.code == "history-expired"
    assert "twice" in reason.message


def test_a_delete_that_a_commit_overtook_does_not_show_too_early(opened: Lakes) -> None:
    """DuckLake gives it the date that its commit was to have: an older version loses rows by it."""
    lake = opened("duckdb")
    lake.run(
        "CALL lake.set_option('data_inlining_row_limit', 0)",
        "CREATE TABLE lake.t (id INTEGER, g VARCHAR)",
        f"INSERT INTO lake.t {MANY.format(0, 20)}",
        f"INSERT INTO lake.t {MANY.format(100, 120)}",
        "DELETE FROM lake.t WHERE id = 0",
    )
    source = DuckLakeSource(TableName("lake", "main", "t"), lake.address)
    with lake.writing() as fast, fast.cursor() as slow:
        slow.execute("BEGIN")
        slow.execute("DELETE FROM lake.t WHERE id IN (1, 2)")
        fast.execute("DELETE FROM lake.t WHERE id = 100")
        snapshots = "SELECT max(snapshot_id) FROM ducklake_snapshots('lake')"
        ((newest,),) = fast.execute(snapshots).fetchall()
        slow.execute("COMMIT")
    before = Version(f"{newest}:38")
    lake.run("DELETE FROM lake.t WHERE id = 9")
    reason = source.unreadable(Window(before, source.head().version), [1])
    assert reason is not None
    assert reason.code == "history-expired"
    assert "38 rows" in reason.message
