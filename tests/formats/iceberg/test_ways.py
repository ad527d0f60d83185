"""Which files are read for a window, by which way, and what guards the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from pyroaring import BitMap64

from formats.contract.oracle import bag
from formats.iceberg.java import delete_where_id
from formats.iceberg.tables import Table
from grebe.errors import CheckFailedError
from grebe.formats.iceberg.deletes import DeletedPositions
from grebe.formats.weights import FileWeights
from grebe.model import Version, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

REWRITE_ALL = "map('rewrite-all', 'true')"


def insert(first: int, last: int) -> str:
    return f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ id, 'v' FROM range({first}, {last}, 1, 1)"


def compacted(spark: SparkSession) -> tuple[Table, Version, Version]:
    """F0, then F1 appended, then both rewritten into F2."""
    table = Table.create(spark)
    after = table.sql(insert(0, 5000))
    table.sql(insert(5000, 5010))
    return table, after, table.call("rewrite_data_files", options=REWRITE_ALL)


def test_a_compaction_inside_the_window_is_not_read(spark: SparkSession) -> None:
    table, after, upto = compacted(spark)
    changes = table.checked(Window(after, upto))
    assert changes.way == "by-commit/arrow"
    assert len(table.files.opened) == 1
    assert bag(changes.arrow) == bag(changes.arrow.sort_by("id"))
    assert changes.arrow["id"].to_pylist() == list(range(5000, 5010))


def test_a_rewritten_table_is_read_end_to_end_when_that_is_less(spark: SparkSession) -> None:
    table = Table.create(spark)
    after = table.sql(insert(0, 10))
    table.sql(insert(10, 5000))
    table.call("rewrite_data_files", options=REWRITE_ALL)
    upto = table.sql("DELETE FROM {t} WHERE id >= 10")
    changes = table.checked(Window(after, upto))
    assert changes.arrow.num_rows == 0


def test_the_two_ways_agree_in_both_directions(spark: SparkSession) -> None:
    table, after, upto = compacted(spark)
    back = table.checked(Window(upto, after))
    assert back.way == "end-to-end/arrow"
    assert back.arrow["id"].to_pylist() == list(range(5000, 5010))


def test_only_touched_files_are_opened(spark: SparkSession) -> None:
    table = Table.create(spark)
    for part in range(5):
        after = table.sql(insert(part * 100, part * 100 + 100))
    table.files.opened.clear()
    upto = table.sql("DELETE FROM {t} WHERE id = 250")
    changes = table.source().changes(Window(after, upto), [1])
    assert changes.way == "end-to-end/arrow"
    assert len(table.files.opened) == 1
    total = table.source().version_stats(upto).bytes
    assert 0 < (changes.bytes_read or 0) < total / 5


def test_maintenance_alone_opens_no_data_file(spark: SparkSession) -> None:
    table = Table.create(spark)
    after = table.sql(insert(0, 100))
    table.call("rewrite_manifests")
    upto = table.call("rewrite_data_files", options=REWRITE_ALL)
    source = table.source()
    changes = source.changes(Window(after, upto), [1, 2])
    assert changes.way == "no-row-changed"
    assert changes.arrow.num_rows == 0
    assert table.files.opened == []
    assert source.window_stats(Window(after, upto)).only_maintenance
    assert not source.window_stats(Window(None, upto)).only_maintenance


def test_statistics_come_from_metadata(spark: SparkSession) -> None:
    table = Table.create(spark)
    after = table.sql(insert(0, 100))
    table.sql(insert(100, 130))
    upto = table.sql("DELETE FROM {t} WHERE id < 7")
    source = table.source()
    stats = source.window_stats(Window(after, upto))
    assert (stats.rows_added, stats.rows_removed) == (30, 7)
    assert (stats.files_added, stats.files_removed) == (1, 0)
    assert not stats.only_maintenance
    version = source.version_stats(upto, [1])
    assert version.rows == 123
    assert [(bound.low, bound.high, bound.has_null) for bound in version.bounds["id"]] in (
        [(0, 99, False), (100, 129, False)],
        [(100, 129, False), (0, 99, False)],
    )
    assert table.files.opened == []


@pytest.mark.parametrize("data_format", ["orc", "avro"])
def test_other_file_formats_are_compared_whole(spark: SparkSession, data_format: str) -> None:
    table = Table.create(spark, write_format_default=data_format, format__version="2")
    after = table.sql(insert(0, 20))
    upto = table.sql("UPDATE {t} SET v = 'w' WHERE id = 3")
    assert table.checked(Window(after, upto)).way == "bag-difference/spark"
    assert table.checked(Window(after, after)).way == "no-row-changed"


def test_equality_deletes_are_compared_whole(spark: SparkSession) -> None:
    table = Table.create(spark, format__version="2")
    after = table.sql(insert(0, 20))
    delete_where_id(spark, table, 4)
    upto = table.sql(insert(4, 5))
    assert table.checked(Window(after, upto)).way == "bag-difference/spark"
    assert table.source().window_stats(Window(after, upto)).rows_added is None
    assert table.source().version_stats(upto).rows is None


def test_over_the_budget_spark_reads_the_same_files(spark: SparkSession) -> None:
    table, after, upto = compacted(spark)
    assert table.checked(Window(after, upto), budget=-1).way == "by-commit/spark"
    assert table.files.opened == []


def test_spark_finds_files_whose_paths_hold_odd_characters(spark: SparkSession) -> None:
    table = Table.create(spark, tail="PARTITIONED BY (v)")
    odd = ["a b", "c%d", "e+f", "ü", "x=y", "{g,h}", "[i]", "q?*", "%2B", "k'l"]
    values = ", ".join(
        f"({i}, '{v.replace(chr(39), chr(92) + chr(39))}')" for i, v in enumerate(odd)
    )
    after = table.sql(f"INSERT INTO {{t}} VALUES {values}")
    upto = table.sql("UPDATE {t} SET id = id + 100 WHERE id % 2 = 0")
    assert table.checked(Window(None, upto), budget=-1).way == "end-to-end/spark"
    assert table.checked(Window(after, upto), budget=-1).way == "end-to-end/spark"
    assert table.checked(Window(after, upto)).way == "end-to-end/arrow"


def _nothing_deleted(*_: object) -> BitMap64:
    return BitMap64()


def _one_more(original: Callable[..., None]) -> Callable[..., None]:
    def add(self: FileWeights, sign: int, deleted: BitMap64) -> None:
        original(self, sign, deleted)
        self.marks = {}

    return add


def test_the_guard_sees_deletes_that_were_overlooked(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table.create(spark)
    after = table.sql(insert(0, 20))
    upto = table.sql("DELETE FROM {t} WHERE id = 3")
    for broken, name, replacement in (
        (DeletedPositions, "positions", _nothing_deleted),
        (FileWeights, "add", _one_more(FileWeights.add)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(broken, name, replacement)
            with pytest.raises(CheckFailedError) as caught:
                table.source().changes(Window(after, upto), [1])
        assert caught.value.code == "window-guard"
    table.checked(Window(after, upto))
