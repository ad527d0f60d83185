"""Folders of Parquet files: new files are inserts, everything else is refused with the reason."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from formats.contract.oracle import bag, difference
from formats.contract.replay import arrow_of
from formats.delta.test_lives import OLD_CALENDAR
from grebe import thresholds
from grebe.errors import CorruptFileError, HistoryExpiredError, SourceError, UnknownTableError
from grebe.formats.base import WEIGHT
from grebe.formats.parquet import listing, rows
from grebe.formats.parquet.listing import FileEntry, Shelf
from grebe.formats.parquet.source import ParquetSource
from grebe.formats.parquet_calendar import in_old_calendar
from grebe.model import TableName, Version, Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

NAME = TableName("files", "shop", "orders")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder and the project that remembers it."""

    path: Path
    home: Path
    spark: Callable[[], SparkSession] | None = None

    def put(self, name: str, **columns: Any) -> Version:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), file)
        return self.source().head().version

    def source(self, budget: int = thresholds.DRIVER_BYTES) -> ParquetSource:
        """A source that knows only what the project remembers."""
        shelf = Shelf.of(str(self.home), NAME)
        return ParquetSource(NAME, str(self.path), shelf, spark=self.spark, driver_budget=budget)

    def changes(self, after: Version | None, upto: Version) -> list[dict[str, Any]]:
        source = self.source()
        ids = [column.id for column in source.schema_at(upto).columns]
        changes = source.changes(Window(after, upto), ids).arrow
        assert changes is not None
        return list(changes.to_pylist())

    def reason(self, after: Version, upto: Version) -> str | None:
        source = self.source()
        ids = [column.id for column in source.schema_at(upto).columns]
        found = source.unreadable(Window(after, upto), ids)
        return found.code if found else None


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "orders", tmp_path / "home")


def test_new_files_are_inserts(folder: Folder) -> None:
    first = folder.put("a.parquet", id=[1, 2, 2], v=["x", None, None])
    second = folder.put("b.parquet", id=[2, 3], v=[None, "z"])
    assert folder.changes(first, second) == [
        {"id": 2, "v": None, WEIGHT: 1},
        {"id": 3, "v": "z", WEIGHT: 1},
    ]
    assert folder.changes(None, second)[1] == {"id": 2, "v": None, WEIGHT: 3}
    stats = folder.source().window_stats(Window(first, second))
    assert (stats.rows_added, stats.rows_removed, stats.files_added) == (2, 0, 1)
    assert not stats.only_maintenance


def test_the_same_files_are_the_same_version(folder: Folder) -> None:
    first = folder.put("a.parquet", id=[1])
    assert folder.source().head() == folder.source().head()
    assert folder.source().head().version == first
    assert folder.changes(first, first) == []


def test_a_listing_is_written_once_and_footers_are_read_once(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.put("a.parquet", id=[1])
    kept = {path: path.stat().st_mtime_ns for path in folder.home.rglob("*.json")}
    folder.source().head()
    assert {path: path.stat().st_mtime_ns for path in folder.home.rglob("*.json")} == kept
    stat = (folder.path / "a.parquet").stat()
    content = (folder.path / "a.parquet").read_bytes()
    (folder.path / "a.parquet").write_bytes(b"x" * len(content))  # a footer nobody asks for again
    os.utime(folder.path / "a.parquet", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    folder.put("b.parquet", id=[2])


@pytest.mark.parametrize("what", ["vanished", "changed", "touched", "moved"])
def test_files_that_vanish_or_change_are_refused_with_the_reason(folder: Folder, what: str) -> None:
    folder.put("a.parquet", id=[1])
    first = folder.put("b.parquet", id=[2])
    file = folder.path / "a.parquet"
    match what:
        case "vanished":
            file.unlink()
        case "changed":
            pq.write_table(pa.table({"id": [1, 1]}), file)
        case "touched":
            os.utime(file, ns=(1, 1))
        case "moved":
            file.rename(folder.path / "c.parquet")
    second = folder.source().head().version
    assert first != second
    wanted = "files-vanished" if what in ("vanished", "moved") else "files-changed"
    assert folder.reason(first, second) == wanted
    with pytest.raises(SourceError) as caught:
        folder.changes(first, second)
    assert caught.value.code == wanted
    third = folder.put("d.parquet", id=[4])
    assert folder.changes(second, third) == [{"id": 4, WEIGHT: 1}]


def test_a_version_whose_listing_is_gone_is_refused(folder: Folder) -> None:
    first = folder.put("a.parquet", id=[1])
    shutil.rmtree(folder.home)
    second = folder.put("b.parquet", id=[2])
    assert folder.reason(first, second) == "history-expired"
    with pytest.raises(HistoryExpiredError):
        folder.source().schema_at(first)


def test_old_listings_go(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "KEPT", 2)
    versions = [folder.put(f"{number}.parquet", id=[number]) for number in range(4)]
    assert len(list(folder.home.rglob("*.json"))) == 2
    assert folder.reason(versions[0], versions[3]) == "history-expired"
    assert folder.reason(versions[2], versions[3]) is None


def test_a_file_that_changes_while_it_is_read_is_an_error(folder: Folder) -> None:
    first = folder.put("a.parquet", id=[1])
    second = folder.put("b.parquet", id=[2])
    pq.write_table(pa.table({"id": [9]}), folder.path / "b.parquet")
    with pytest.raises(HistoryExpiredError):
        folder.changes(first, second)


def test_hidden_files_do_not_count(folder: Folder) -> None:
    first = folder.put("a.parquet", id=[1])
    for name in ("_SUCCESS", "_metadata", ".a.parquet.crc", "_temporary/x.parquet", ".grebe/x"):
        file = folder.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"not parquet")
    assert folder.source().head().version == first


def test_a_damaged_file_is_named(folder: Folder) -> None:
    folder.put("a.parquet", id=[1])
    (folder.path / "b.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(CorruptFileError, match=r"b\.parquet"):
        folder.source().head()


def test_no_folder_and_an_empty_one(folder: Folder) -> None:
    with pytest.raises(UnknownTableError):
        folder.source().head()
    folder.path.mkdir()
    with pytest.raises(SourceError) as caught:
        folder.source().head()
    assert caught.value.code == "empty-folder"


def test_partition_folders(folder: Folder) -> None:
    folder.put("day=2024-01-01/kind=1/a.parquet", id=[1])
    first = folder.put("day=2024-01-02/kind=2/a.parquet", id=[2])
    types = {column.name: column.type for column in folder.source().schema_at(first).columns}
    assert types == {"id": "bigint", "day": "date", "kind": "int"}
    second = folder.put("day=__HIVE_DEFAULT_PARTITION__/kind=3/a.parquet", id=[3])
    assert folder.changes(first, second) == [{"id": 3, "day": None, "kind": 3, WEIGHT: 1}]
    stats = folder.source().version_stats(
        second, [c.id for c in folder.source().schema_at(second).columns]
    )
    days = [(bound.low, bound.has_null) for bound in stats.bounds["day"]]
    assert days == [(date(2024, 1, 1), False), (date(2024, 1, 2), False), (None, True)]
    third = folder.put("day=2024-01-03/kind=x%2Fy z/a.parquet", id=[4])
    assert folder.reason(second, third) == "schema-changed"
    assert folder.changes(None, third)[-2]["kind"] == "x/y z"


def test_columns_that_come_later_and_types_that_disagree(folder: Folder) -> None:
    first = folder.put("a.parquet", id=[1])
    second = folder.put("b.parquet", id=[2], late=["l"])
    source = folder.source()
    used = [column.id for column in source.schema_at(first).columns]
    assert source.unreadable(Window(first, second), used) is None
    assert folder.reason(first, second) == "schema-changed"
    third = folder.put("c.parquet", id=[3])
    assert folder.changes(second, third) == [{"id": 3, "late": None, WEIGHT: 1}]
    with pytest.raises(SourceError) as caught:
        folder.put("d.parquet", id=["text"])
    assert caught.value.code == "files-disagree"


@pytest.mark.parametrize(
    "other",
    [("b.parquet", {"ID": [2]}), ("Id=2/b.parquet", {"v": ["b"]}), ("b.parquet", {"V": [1]})],
    ids=["another file", "a folder", "another type"],
)
def test_names_that_differ_in_case_are_no_two_columns(
    folder: Folder, other: tuple[str, dict[str, list[object]]]
) -> None:
    """Spark takes them for one column, Arrow for two that are NULL in each other's files."""
    first = folder.put("a.parquet", id=[1], v=["a"])
    used = [column.id for column in folder.source().schema_at(first).columns]
    name, columns = other
    with pytest.raises(SourceError) as caught:
        folder.put(name, **columns)
    assert caught.value.code == "files-disagree"
    assert "differ" in str(caught.value)
    second = listing.version_of(listing.walk(str(folder.path)))
    source = folder.source()
    for ask in (
        lambda: source.unreadable(Window(first, second), used),
        lambda: source.changes(Window(first, second), used),
        lambda: source.read_at(second, used),
    ):
        with pytest.raises(SourceError) as caught:
            ask()
        assert caught.value.code == "files-disagree"


def test_partition_folders_that_differ_in_case_are_refused(folder: Folder) -> None:
    folder.put("day=1/a.parquet", id=[1])
    with pytest.raises(SourceError) as caught:
        folder.put("Day=2/b.parquet", id=[1])
    assert caught.value.code == "files-disagree"


def test_types_that_spark_lacks_are_refused_only_where_they_are_used(folder: Folder) -> None:
    import datetime as dt

    first = folder.put("a.parquet", id=[1], t=[dt.time(1, 2)])
    second = folder.put("b.parquet", id=[2], t=[dt.time(3, 4)])
    assert folder.reason(first, second) == "type-without-identity"
    source = folder.source()
    used = [c.id for c in source.schema_at(second).columns if c.name == "id"]
    assert source.unreadable(Window(first, second), used) is None


def test_nothing_changed_opens_no_file_and_a_new_file_alone_is_opened(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        folder.put(f"p={number % 6}/{number}.parquet", id=[number])
    opened = []
    footer = rows.footer

    def counted(root: str, path: str, size: int, time: int) -> FileEntry:
        opened.append(path)
        return footer(root, path, size, time)

    monkeypatch.setattr(rows, "footer", counted)
    before = folder.source().head()
    assert opened == []
    assert folder.put("p=0/new.parquet", id=[60]) != before.version
    assert opened == ["p=0/new.parquet"]


TYPES = (
    "SELECT id AS i, CAST(id AS TINYINT) ti, CAST(id AS SMALLINT) si, id > 1 AS b, id / 2 AS d,"
    " CAST(id AS FLOAT) f, CAST(id AS DECIMAL(20,3)) de, DATE'1969-12-31' dt,"
    " TIMESTAMP'2024-03-10 02:30:00.123456' ts, TIMESTAMP_NTZ'2024-03-10 02:30:00' nt,"
    " CAST(id AS STRING) s, X'00FF' bi, array(id, NULL) ar, map('k', TIMESTAMP'1999-01-01') mp,"
    " named_struct('x y', id, 'z', array(named_struct('q', 'r'))) st, CAST(NULL AS DOUBLE) n,"
    " concat('p ', id % 2) AS part"
)


@pytest.mark.spark
def test_spark_reads_what_the_driver_reads(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "t", tmp_path / "home", lambda: spark)
    path = str(folder.path)
    versions = []
    for number in range(2):
        rows = spark.sql(f"{TYPES} FROM range({number * 5}, {number * 5 + 5}, 1, 1)")
        rows.write.partitionBy("part").mode("append").parquet(path)
        versions.append(folder.source().head().version)
    source = folder.source()
    schema = source.schema_at(versions[1])
    own = {field.name: field.dataType.simpleString() for field in spark.read.parquet(path).schema}
    assert {c.name: c.type.replace("`", "") for c in schema.columns} == own
    ids = [column.id for column in schema.columns]
    window = Window(versions[0], versions[1])
    by_driver, by_spark = source.changes(window, ids), folder.source(budget=0).changes(window, ids)
    assert (by_driver.way, by_spark.way) == ("new-files/arrow", "new-files/spark")
    new, old = (bag(source.read_at(version, ids).toArrow()) for version in reversed(versions))
    assert sum(old.values()) == 5
    assert bag(arrow_of(by_driver)) == bag(arrow_of(by_spark)) == difference(new, old)


@pytest.mark.spark
@pytest.mark.parametrize("notes", OLD_CALENDAR, ids=str)
def test_dates_in_the_calendar_of_an_old_spark(
    spark: SparkSession, tmp_path: Path, notes: dict[str, str]
) -> None:
    """Spark shifts dates before 1582 of files that an old Spark wrote."""
    folder = Folder(tmp_path / "orders", tmp_path / "home", lambda: spark)
    first = folder.put("a.parquet", d=[date(1500, 1, 1)])
    rows = pa.table({"d": [date(1400, 1, 1)]}).replace_schema_metadata(notes)
    pq.write_table(rows, folder.path / "b.parquet")
    source = folder.source()
    second = source.head().version
    used = [column.id for column in source.schema_at(second).columns]
    changes = source.changes(Window(first, second), used)
    expected = difference(
        *(bag(source.read_at(version, used).toArrow()) for version in (second, first))
    )
    assert bag(arrow_of(changes)) == expected != {(date(1400, 1, 1),): 1}
    assert changes.way == "new-files/spark"
    alone = Folder(folder.path, folder.home).source()
    with pytest.raises(SourceError) as caught:
        alone.changes(Window(first, second), used)
    assert caught.value.code == "needs-spark"


@pytest.mark.parametrize(
    ("notes", "old"),
    [
        ({}, False),
        ({"org.apache.spark.version": "3.0.1"}, True),
        ({"org.apache.spark.version": "3.10.0-SNAPSHOT"}, False),
        ({"org.apache.spark.version": "4.1.0"}, False),
        ({"org.apache.spark.version": "odd"}, True),
        ({"org.apache.spark.legacyINT96": ""}, True),
    ],
    ids=str,
)
def test_which_files_an_old_spark_wrote(notes: dict[str, str], *, old: bool) -> None:
    assert in_old_calendar({key.encode(): text.encode() for key, text in notes.items()}) is old
