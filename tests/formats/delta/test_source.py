"""Single cases of Delta sources, by delta-rs: which way is taken, and what is refused and why."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.schema import Field, PrimitiveType

from formats.delta.tables import NAME, Folder, arrow, check, ids
from formats.recording_files import RecordingFiles
from grebe.errors import (
    CheckFailedError,
    CorruptFileError,
    HistoryExpiredError,
    SourceError,
    UnknownTableError,
)
from grebe.formats.delta.source import DeltaSource
from grebe.formats.files import DriverFiles
from grebe.model import Version, Window

ROWS = [(number, "abc"[number % 3], number / 2) for number in range(12)]


@pytest.fixture
def plain(tmp_path: Path) -> Folder:
    return Folder.create(tmp_path / "plain")


@pytest.fixture
def feed(tmp_path: Path) -> Folder:
    return Folder.create(tmp_path / "feed", enableChangeDataFeed="true")


def log_file(folder: Folder, version: int) -> Path:
    return folder.path / "_delta_log" / f"{version:020d}.json"


def test_a_feed_is_read_and_nothing_else(feed: Folder) -> None:
    first = feed.append(*ROWS)
    feed.update("id = 3", x="100.0")
    feed.delete("id = 4")
    last = feed.append((50, "z", 1.0))
    assert check(feed, first, last) == "change-feed/arrow"
    for path in feed.path.glob("part-*.parquet"):
        path.write_bytes(b"")  # neither those that were rewritten nor the new ones are opened
    source = feed.source()
    changes = source.changes(Window(first, Version(str(int(last) - 1))), ids(source, last))
    assert changes.arrow is not None
    assert changes.arrow.num_rows == 3


def test_a_feed_that_is_on_for_a_part_of_the_window_is_used_there(tmp_path: Path) -> None:
    folder = Folder.create(tmp_path / "t")
    first = folder.append(*ROWS)
    folder.update("id = 1", x="-1.0")
    folder.table.alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
    folder.update("id = 2", x="-2.0")
    folder.table.alter.set_table_properties({"delta.enableChangeDataFeed": "false"})
    last = folder.delete("id = 2 OR id = 7")
    check(folder, first, last)
    for after in range(int(first), int(last)):
        for upto in range(after + 1, int(last) + 1):
            check(folder, Version(str(after)), Version(str(upto)))


def test_compaction_is_maintenance_and_opens_no_file(plain: Folder) -> None:
    plain.append(*ROWS[:6])
    before = plain.append(*ROWS[6:])
    after = plain.compact()
    assert before != after
    stats = plain.source().window_stats(Window(before, after))
    assert (stats.only_maintenance, stats.files_added, stats.files_removed) == (True, 1, 2)
    assert (stats.rows_added, stats.rows_removed, stats.bytes) == (0, 0, 0)
    assert check(plain, before, after) == "no-row-changed"


def test_compaction_between_changes_is_not_read(plain: Folder) -> None:
    plain.append(*ROWS)
    before = plain.append((90, "y", 0.5))
    plain.compact()
    after = plain.append((91, "z", 0.5))
    assert check(plain, before, after) == "by-commit/arrow"
    stats = plain.source().window_stats(Window(before, after))
    assert (stats.rows_added, stats.rows_removed, stats.only_maintenance) == (1, 0, False)


def test_rows_that_come_and_go_are_not_read(plain: Folder) -> None:
    before = plain.append(*ROWS)
    plain.append((90, "y", 0.5))
    after = plain.delete("id = 90")
    assert check(plain, before, after) == "no-row-changed"


def test_a_restore_is_a_window_like_any_other(feed: Folder) -> None:
    first = feed.append(*ROWS)
    second = feed.delete("id < 3")
    third = feed.restore(first)
    assert check(feed, first, third) == "no-row-changed"
    check(feed, second, third)
    assert feed.source().unreadable(Window(third, second), ids(feed.source(), third)) is None
    check(feed, third, second)


def test_counts_of_a_window_with_a_feed(feed: Folder) -> None:
    first = feed.append(*ROWS)
    feed.update("id = 3", x="100.0")
    last = feed.delete("id IN (4, 5)")
    stats = feed.source().window_stats(Window(first, last))
    assert (stats.rows_added, stats.rows_removed) == (1, 3)


def test_vacuumed_files_are_history_that_expired(plain: Folder) -> None:
    first = plain.append(*ROWS)
    second = plain.delete("id = 1")
    last = plain.append((70, "a", 0.0))
    plain.vacuum()
    last = plain.version
    source = plain.source()
    columns = ids(source, last)
    reason = source.unreadable(Window(first, last), columns)
    assert reason is not None
    assert reason.code == "history-expired"
    with pytest.raises(HistoryExpiredError):
        source.changes(Window(first, last), columns)
    with pytest.raises(HistoryExpiredError):
        source.read_at(first, columns)
    assert source.unreadable(Window(second, last), columns) is None
    check(plain, second, last)


def test_what_vacuum_took_of_the_feed_is_found_in_the_files(feed: Folder) -> None:
    first = feed.append(*ROWS)
    last = feed.delete("id = 1")
    for path in (feed.path / "_change_data").glob("*.parquet"):
        path.unlink()
    assert check(feed, first, last) == "end-to-end/arrow"


def test_a_log_that_was_cleaned_up_is_history_that_expired(plain: Folder) -> None:
    first = plain.append(*ROWS)
    plain.append((1, "a", 1.0))
    plain.checkpoint()
    last = plain.append((2, "b", 2.0))
    for version in (0, 1):
        log_file(plain, version).unlink()
    source = plain.source()
    assert source.head().version == last
    columns = ids(source, last)
    reason = source.unreadable(Window(first, last), columns)
    assert reason is not None
    assert reason.code == "history-expired"
    check(plain, Version("2"), last)


def test_schema_and_identity_come_from_a_checkpoint(plain: Folder) -> None:
    plain.append(*ROWS)
    known = plain.source().head()
    plain.checkpoint()
    for version in (0, 1):
        log_file(plain, version).unlink()
    found = plain.source().head()
    assert (found.identity, found.schema, found.version) == (known.identity, known.schema, "1")
    assert check(plain, None, found.version) == "end-to-end/arrow"


def test_a_table_created_anew_has_another_identity(tmp_path: Path) -> None:
    import shutil

    folder = Folder.create(tmp_path / "t")
    source = folder.source()
    folder.append(*ROWS)
    before = source.head()
    shutil.rmtree(folder.path)
    Folder.create(tmp_path / "t").append(*ROWS[:2])
    after = source.head()
    assert (before.version, after.version) == ("1", "1")
    assert before.identity != after.identity
    assert source.version_stats(after.version).rows == 2


def test_added_columns_change_nothing_for_those_who_do_not_use_them(plain: Folder) -> None:
    first = plain.append(*ROWS)
    plain.table.alter.add_columns([Field("late", PrimitiveType("string"))])
    last = plain.append((60, "a", 0.0, "late"))
    source = plain.source()
    old, new = (source.schema_at(version).by_id() for version in (first, last))
    assert set(old) < set(new)
    window = Window(first, last)
    assert source.unreadable(window, list(old)) is None
    (late,) = set(new) - set(old)
    reason = source.unreadable(window, [late])
    assert reason is not None
    assert reason.code == "schema-changed"
    changes = source.changes(window, list(old))
    assert changes.arrow is not None
    assert changes.arrow.num_rows == 1


def test_a_type_that_changed_is_refused(plain: Folder) -> None:
    first = plain.append(*ROWS)
    wide = pa.schema([("id", pa.int64()), ("grp", pa.string()), ("x", pa.float64())])
    rows = arrow([(1, "a", 0.0)], wide)
    write_deltalake(plain.table, rows, mode="overwrite", schema_mode="overwrite")
    source = plain.source()
    reason = source.unreadable(Window(first, plain.version), ids(source, plain.version))
    assert reason is not None
    assert reason.code == "schema-changed"
    unchanged = ids(source, plain.version)[1:]
    assert source.unreadable(Window(first, plain.version), unchanged) is None


def test_files_whose_rows_nobody_counted_are_counted(plain: Folder) -> None:
    first = plain.append(*ROWS)
    last = plain.delete("id < 3")
    for version in (1, 2):
        actions = [json.loads(line) for line in log_file(plain, version).read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"]["stats"] = None
        log_file(plain, version).write_text("\n".join(map(json.dumps, actions)))
    source = plain.source()
    assert source.version_stats(last).rows is None
    assert check(plain, first, last, source) == "end-to-end/arrow"


def test_a_feature_that_nobody_knows_is_refused(plain: Folder) -> None:
    plain.append(*ROWS)
    lines = log_file(plain, 0).read_text().splitlines()
    strange = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["catalogManaged"]}
    kept = [line for line in lines if not line.startswith('{"protocol"')]
    log_file(plain, 0).write_text("\n".join([*kept, json.dumps({"protocol": strange})]))
    with pytest.raises(SourceError) as caught:
        plain.source().head()
    assert caught.value.code == "unknown-table-feature"


def test_maintenance_that_changes_the_number_of_rows_is_not_believed(plain: Folder) -> None:
    first = plain.append(*ROWS)
    last = plain.append((70, "a", 0.0))
    text = log_file(plain, int(last)).read_text()
    log_file(plain, int(last)).write_text(text.replace('"dataChange":true', '"dataChange":false'))
    source = plain.source()
    changes = source.changes(Window(first, last), ids(source, last))
    assert changes.way == "end-to-end/arrow"
    assert changes.arrow is not None
    assert changes.arrow.num_rows == 1


def test_a_feed_that_contradicts_the_row_counts_is_refused(feed: Folder) -> None:
    first = feed.append(*ROWS)
    last = feed.delete("id IN (1, 2)")
    text = log_file(feed, int(last)).read_text()
    lines = [line for line in text.splitlines() if not line.startswith('{"cdc"')]
    other = feed.delete("id = 3")
    fed = next(
        line
        for line in log_file(feed, int(other)).read_text().splitlines()
        if line.startswith('{"cdc"')
    )
    log_file(feed, int(last)).write_text("\n".join([*lines, fed]))
    source = feed.source()
    with pytest.raises(CheckFailedError) as caught:
        source.changes(Window(first, last), ids(source, last))
    assert caught.value.code == "window-guard"


@pytest.mark.parametrize("content", [b"", b"{", b'{"add":{"path"', b"\x00\x01"])
def test_a_torn_commit_is_named(plain: Folder, content: bytes) -> None:
    plain.append(*ROWS)
    log_file(plain, 1).write_bytes(content)
    with pytest.raises(CorruptFileError, match=log_file(plain, 1).name):
        plain.source().version_stats(Version("1"))


def test_a_torn_data_file_is_named(plain: Folder) -> None:
    last = plain.append(*ROWS)
    (path,) = plain.path.glob("part-*.parquet")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CorruptFileError, match=path.name):
        check(plain, None, last)


def test_a_folder_without_a_log_is_no_table(tmp_path: Path) -> None:
    source = DeltaSource(NAME, str(tmp_path / "nothing"), DriverFiles())
    with pytest.raises(UnknownTableError):
        source.head()


def test_bounds_of_files(plain: Folder) -> None:
    plain.append((1, "a", 1.0), (5, "b", 2.0))
    last = plain.append((10, None, None), (20, "c", float("nan")))
    source = plain.source()
    numbers, texts, floats = ids(source, last)
    stats = source.version_stats(last, [numbers, texts, floats])
    assert (stats.rows, stats.files) == (4, 2)
    found = sorted((b.low, b.high, b.has_null) for b in stats.bounds["id"])  # type: ignore[type-var]
    assert found == [(1, 5, False), (10, 20, False)]
    assert {b.has_null for b in stats.bounds["grp"]} == {True, False}
    assert all(b.low is None for b in stats.bounds["x"])


def test_no_column_reads_no_file(plain: Folder) -> None:
    first = plain.append(*ROWS)
    last = plain.append((70, "a", 0.0))
    changes = plain.source().changes(Window(first, last), [])
    assert (changes.way, changes.total, changes.bytes_read) == ("metadata", 1, 0)


PARTS = pa.schema(
    [
        ("s", pa.string()),
        ("i", pa.int16()),
        ("d", pa.date32()),
        ("b", pa.bool_()),
        ("m", pa.decimal128(10, 2)),
        ("v", pa.int32()),
    ]
)


def test_partition_values_of_every_type(tmp_path: Path) -> None:
    import datetime as dt
    from decimal import Decimal

    names = [name for name in PARTS.names if name != "v"]
    folder = Folder.create(tmp_path / "t", shape=PARTS, partitioned=names)
    odd = [None, "a b", "x=1/y", "100%", "ü#?&", "a\\b", "+"]
    rows = [
        (text, number, dt.date(1969, 12, 31), True, Decimal("1.50"), number)
        for number, text in enumerate(odd)
    ]
    first = folder.append(*rows)
    last = folder.append((None, None, None, None, None, 1))
    check(folder, None, last)
    check(folder, first, last)
    check(folder, first, folder.delete("v = 1"))


def test_nothing_changed_costs_no_spark_and_few_files(tmp_path: Path) -> None:
    """A source that knows nothing reads the commits after the checkpoint, and of that metadata alone; then it lists."""
    folder = Folder.create(tmp_path / "t", enableChangeDataFeed="true")
    for number in range(5):
        folder.append((number, "a", 1.0))
    folder.checkpoint()
    for number in range(5):
        folder.append((number, "a", 1.0))
    files = RecordingFiles()
    source = DeltaSource(NAME, str(folder.path), files)
    head = source.head()
    assert head.version == "10"
    read = [Path(path).name for path in (*files.fetched, *files.opened)]
    assert sorted(read) == [
        f"{5:020}.checkpoint.parquet",
        *(f"{number:020}.json" for number in range(6, 11)),
    ]
    asked = (len(files.opened), len(files.fetched), len(files.folders))
    assert source.head() == head
    assert (len(files.opened), len(files.fetched), len(files.folders)) == (*asked[:2], asked[2] + 1)


def test_delta_rs_reads_what_we_read(plain: Folder) -> None:
    """The oracle of these tests is itself held against plain Arrow."""
    plain.append(*ROWS)
    rows = DeltaTable(str(plain.path)).to_pyarrow_table().sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in rows] == ROWS
