"""Whole versions read without Delta's reader give what Delta's reader gives, or are left to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formats.contract.oracle import bag
from formats.delta.spark_tables import SparkFolder
from grebe import thresholds
from grebe.errors import HistoryExpiredError
from grebe.formats.spark_files import place_of_rows
from grebe.model import Version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = "INSERT INTO {t} SELECT id, concat('v', id) FROM range(0, 40, 1, 1)"
MORE = "INSERT INTO {t} SELECT id, 'more' FROM range(40, 44, 1, 1)"


def same(table: SparkFolder, version: Version) -> str:
    """By which reader a version was read, after it was compared with Delta's own."""
    source = table.source()
    columns = source.schema_at(version).columns
    frame = source.read_at(version, [column.id for column in columns])
    names = [column.name for column in columns]
    assert frame.columns == names
    assert bag(frame.toArrow(), names) == table.rows(version, names)
    plan = str(frame._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]
    return "direct" if "InMemoryFileIndex" in plan else "delta"


def test_every_version_of_a_table_with_vectors(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkFolder.create(spark, tmp_path / "a table %41", enableDeletionVectors="true")
    assert same(table, table.source().head().version) == "delta"  # nothing to read yet
    versions = [
        table.sql(text)
        for text in (
            ROWS,
            "DELETE FROM {t} WHERE id IN (0, 3, 39)",  # the first and the last position
            MORE,
            "UPDATE {t} SET v = NULL WHERE id % 7 = 0",
            "ALTER TABLE {t} ADD COLUMNS (w DECIMAL(9, 2), s STRUCT<a: INT, b: ARRAY<DATE>>)",
            "INSERT INTO {t} VALUES (50, 'x', 1.5, named_struct('a', 1, 'b', array(DATE '1500-01-01')))",
            "DELETE FROM {t} WHERE id BETWEEN 40 AND 43",  # a whole file
            "OPTIMIZE {t}",
            "RESTORE TABLE {t} TO VERSION AS OF 2",
        )
    ]
    assert {same(table, version) for version in versions} == {"direct"}


def test_columns_are_found_by_the_names_in_the_files(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkFolder.create(spark, tmp_path / "t", columnMapping__mode="name")
    first = table.sql(ROWS)
    last = table.sql(
        "ALTER TABLE {t} RENAME COLUMN v TO `a b`",
        "ALTER TABLE {t} RENAME COLUMN id TO v",
        "ALTER TABLE {t} ADD COLUMNS (id BIGINT)",
        "INSERT INTO {t} VALUES (1, 'x', 2)",
    )
    assert same(table, first) == same(table, last) == "direct"


@pytest.mark.parametrize(
    ("columns", "tail", "settings", "steps"),
    [
        ("id BIGINT, v STRING", " PARTITIONED BY (v)", {}, [ROWS]),
        ("id BIGINT, v STRING", "", {"columnMapping__mode": "id"}, [ROWS]),
        (
            "id INT, v STRING",
            "",
            {"enableTypeWidening": "true"},
            [ROWS, "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT", MORE],
        ),
        ("id BIGINT, v CHAR(5)", "", {}, [MORE]),
        (
            "id BIGINT, _metadata STRUCT<file_name: STRING, row_index: BIGINT>",
            "",
            {},
            [
                "INSERT INTO {t} SELECT id, named_struct('file_name', 'x', 'row_index', 1L) FROM range(9)"
            ],
        ),
    ],
    ids=["partitions", "numbers", "wider types", "blanks", "a name of Spark's"],
)
def test_what_only_delta_makes_sense_of(
    spark: SparkSession,
    tmp_path: Path,
    columns: str,
    tail: str,
    settings: dict[str, str],
    steps: list[str],
) -> None:
    table = SparkFolder.create(spark, tmp_path / "t", columns, tail, **settings)
    assert same(table, table.sql(*steps)) == "delta"


def test_many_files_and_many_deleted_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SparkFolder.create(spark, tmp_path / "t", enableDeletionVectors="true")
    table.sql(ROWS, MORE)
    version = table.sql("DELETE FROM {t} WHERE id < 3")
    monkeypatch.setattr(thresholds, "DELETED_ROWS", 2)
    assert same(table, version) == "delta"
    monkeypatch.setattr(thresholds, "DELETED_ROWS", 3)
    assert same(table, version) == "direct"
    monkeypatch.setattr(thresholds, "LIVE_FILES", 1)
    assert same(table, version) == "delta"


def test_names_that_spark_takes_for_hidden(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads nothing from them, and says nothing."""
    table = SparkFolder.create(spark, tmp_path / "t")
    version = table.sql(ROWS)
    (file,) = tmp_path.glob("t/part-*.parquet")
    commit = tmp_path / "t" / "_delta_log" / f"{int(version):020}.json"
    text = commit.read_text()
    for place in ("_hidden.parquet", ".hidden/part-0.parquet", "a+b.parquet"):
        target = tmp_path / "t" / place
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(file.read_bytes())
        commit.write_text(text.replace(file.name, place))
        (commit.parent / f".{commit.name}.crc").unlink(missing_ok=True)
        (commit.parent / f"{int(version):020}.crc").unlink(missing_ok=True)
        assert same(table, version) == "delta"


def test_two_files_of_one_name(spark: SparkSession, tmp_path: Path) -> None:
    """A name does not tell whose position is deleted."""
    table = SparkFolder.create(spark, tmp_path / "t")
    version = table.sql(ROWS)
    (file,) = tmp_path.glob("t/part-*.parquet")
    other = file.parent / "other" / file.name
    other.parent.mkdir()
    other.write_bytes(file.read_bytes())
    commit = tmp_path / "t" / "_delta_log" / f"{int(version):020}.json"
    lines = commit.read_text().splitlines()
    lines += [line.replace(file.name, f"other/{file.name}") for line in lines if '"add"' in line]
    commit.write_text("\n".join(lines) + "\n")
    for left in commit.parent.glob("*.crc"):
        left.unlink()
    (commit.parent / f".{commit.name}.crc").unlink(missing_ok=True)
    assert same(table, version) == "delta"
    assert table.source().version_stats(version).rows == 80
    _, key = place_of_rows([str(file), str(other)])
    assert key(str(file)) != key(str(other))
    _, short = place_of_rows([str(file)])
    assert short(str(file)) == file.name


def test_a_file_that_is_gone_is_told(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkFolder.create(spark, tmp_path / "t")
    version = table.sql(ROWS, MORE)
    (first, *_) = tmp_path.glob("t/part-*.parquet")
    first.unlink()
    source = table.source()
    columns = [column.id for column in source.schema_at(version).columns]
    with pytest.raises(HistoryExpiredError, match=first.name):
        source.read_at(version, columns)
