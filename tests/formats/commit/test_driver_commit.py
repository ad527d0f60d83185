"""Small commits that the driver makes: the same table for every reader, the same fence, and nothing left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

from formats.commit.arena import Arena
from formats.commit.client import Client, arrow
from formats.commit.lake import SMALL, Barrier, Lake, Table, frontier
from grebe.errors import ConflictError, UnknownOutcomeError
from grebe.formats.base import Append, Overwrite, Rows
from grebe.formats.iceberg import commit
from grebe.formats.iceberg.avro_editing import decoded, plain
from grebe.formats.iceberg.locators import SqliteLocator
from grebe.model import Column

pytestmark = pytest.mark.spark

Clients = Callable[[int], Client]


@pytest.fixture(autouse=True)
def _by_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SMALL, "1")


@pytest.fixture
def statements(table: Table, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What commits say to Spark."""
    said: list[str] = []
    run = commit.IcebergCommitter._sql

    def told(self: commit.IcebergCommitter, text: str) -> None:
        said.append(text)
        run(self, text)

    monkeypatch.setattr(commit.IcebergCommitter, "_sql", told)
    return said


def put(table: Table, run: str, *writes: Any) -> Any:
    return table.storage.commit(writes, frontier(run), table.storage.position())


def build(table: Table, rows: list[list[Any]]) -> None:
    put(table, "r0", Append(Rows(arrow=arrow(rows))))


def metadata(table: Table) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(table.location()).read_text(encoding="utf-8"))
    return found


def files(table: Table) -> set[str]:
    root = Path(metadata(table)["location"])
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("version", [2, 3])
def test_every_engine_reads_what_the_driver_wrote(
    lake: Lake, version: int, statements: list[str]
) -> None:
    table = lake.create(version)
    build(table, [[1, "a", 10], [2, "b", 20]])
    assert statements, "the first build is Spark's"
    statements.clear()
    put(table, "r1", Append(Rows(arrow=arrow([[3, "ä", None], [None, None, 5]]))))
    put(table, "r2", Append(Rows(arrow=arrow([[3, "ä", None]]))))
    put(table, "r3")
    done = put(table, "r4", Overwrite(Rows(arrow=arrow([[7, "x", 1], [8, None, -(2**63)]]))))
    again = put(table, "r5", Append(Rows(arrow=arrow([[9, "", 2**63 - 1]]))))
    assert not statements, "no word to Spark"
    wanted = [(7, "x", 1), (8, None, -(2**63)), (9, "", 2**63 - 1)]
    assert sorted(table.rows(), key=str) == sorted(wanted, key=str)
    location = table.location()
    by_pyiceberg = StaticTable.from_metadata(location).scan().to_arrow()
    assert sorted(
        map(tuple, (row.values() for row in by_pyiceberg.to_pylist())), key=str
    ) == sorted(wanted, key=str)
    position = table.storage.position()
    assert (position.version, position.foreign) == (again.version, ())
    assert position.frontier == frontier("r5")
    assert table.refs() == {"main", "grebe_frontier"}
    assert (done.rows_inserted, done.rows_deleted) == (2, 5)
    snapshots = {s["snapshot-id"]: s for s in metadata(table)["snapshots"]}
    summary = snapshots[int(again.version)]["summary"]
    assert (summary["total-records"], summary["total-data-files"]) == ("3", "2")


def test_spark_goes_on_from_what_the_driver_wrote(table: Table) -> None:
    build(table, [[1, "a", 10], [2, "b", 20]])
    put(table, "r1", Overwrite(Rows(arrow=arrow([[1, "x", 1], [2, "y", 2], [3, "z", 3]]))))
    first = table.sql("SELECT k, _row_id FROM {t}")
    assert len({row for _, row in first}) == 3
    table.sql("DELETE FROM {t} WHERE k = 2")
    table.sql("INSERT INTO {t} VALUES (4, 'w', 4)")
    assert table.rows() == [(1, "x", 1), (3, "z", 3), (4, "w", 4)]
    ids = table.sql("SELECT k, _row_id FROM {t}")
    assert len({row for _, row in ids}) == 3
    assert set(ids) >= {row for row in first if row[0] != 2}
    put(table, "r2", Overwrite(Rows(arrow=arrow([[5, "v", 5]]))))
    assert table.rows() == [(5, "v", 5)]
    table.call("rewrite_data_files", "options => map('rewrite-all', 'true')")
    table.call(
        "expire_snapshots", "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"
    )
    assert table.rows() == [(5, "v", 5)]
    put(table, "r3", Append(Rows(arrow=arrow([[6, "u", 6]]))))
    assert table.rows() == [(5, "v", 5), (6, "u", 6)]


def test_fields_are_those_that_spark_writes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry by entry: the same fields are there, those that both know have values of one kind."""
    said = []
    for by_driver in ("0", "1"):
        monkeypatch.setenv(SMALL, "0")
        table = lake.create()
        build(table, [[1, "a", 10]])
        monkeypatch.setenv(SMALL, by_driver)
        table = Table(lake, table.name, lake.storage(table.name))
        put(table, "r1", Overwrite(Rows(arrow=arrow([[2, "b", 20]]))))
        document = metadata(table)
        main = next(
            s for s in document["snapshots"] if s["snapshot-id"] == document["current-snapshot-id"]
        )
        listing = decoded(Path(main["manifest-list"]).read_bytes())
        entries = [
            record
            for item in listing.records
            for record in decoded(Path(plain(item["manifest_path"])).read_bytes()).records
        ]
        said.append(
            (
                shape(document),
                shape(main),
                sorted(map(shape_text, listing.records)),
                sorted(map(shape_text, entries)),
            )
        )
    ours, theirs = said[1], said[0]
    assert ours[2] == theirs[2]
    assert ours[3] == theirs[3]
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]


def shape_text(record: dict[str, Any]) -> str:
    return json.dumps(shape(record), sort_keys=True)


OWN = (
    "upper_bounds",
    "lower_bounds",
    "column_sizes",
    "summary",
    "metadata-log",
    "snapshots",
    "snapshot-log",
)


def shape(value: Any) -> Any:
    """Which fields there are, and of which type each value is; what counts, by its value."""
    value = plain(value)
    if isinstance(value, dict):
        return {
            name: value[name] if name in COUNTED else shape(value[name])
            for name in sorted(value)
            if name not in OWN
        }
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value).__name__


COUNTED = (
    "status", "content", "record_count", "file_format", "added_files_count", "deleted_files_count",
    "existing_files_count", "added_rows_count", "deleted_rows_count", "existing_rows_count",
    "added-rows", "first-row-id", "next-row-id", "format-version", "last-sequence-number",
    "sequence-number", "schema-id",
)  # fmt: skip


def test_types_survive(lake: Lake) -> None:
    kinds = {
        "b": ("BOOLEAN", pa.bool_(), True),
        "i": ("INT", pa.int32(), -5),
        "d": ("DATE", pa.date32(), date(1582, 10, 10)),
        "small": ("DECIMAL(9,2)", pa.decimal128(9, 2), Decimal("-12.30")),
        "middle": ("DECIMAL(18,3)", pa.decimal128(18, 3), Decimal("7.125")),
        "large": ("DECIMAL(38,2)", pa.decimal128(38, 2), Decimal(-(10**30))),
        "t": ("TIMESTAMP_NTZ", pa.timestamp("us"), datetime(2026, 1, 2, 3, 4, 5, 6)),  # noqa: DTZ001
        "f": ("DOUBLE", pa.float64(), -0.0),
        "raw": ("BINARY", pa.binary(), b"\x00\xff"),
    }
    columns = [
        Column(number, name, kind[0]) for number, (name, kind) in enumerate(kinds.items(), 1)
    ]
    table = lake.create(columns=columns)
    rows = pa.table({name: pa.array([kind[2], None], kind[1]) for name, kind in kinds.items()})
    put(table, "r0", Append(Rows(arrow=rows)))
    by_spark = table.sql("SELECT * FROM {t}")
    put(table, "r1", Overwrite(Rows(arrow=rows)))
    assert table.sql("SELECT * FROM {t}") == by_spark
    found = duckdb.sql(
        f"SELECT * FROM read_parquet('{metadata(table)['location']}/data/r1-*.parquet')"
    )
    assert found.to_arrow_table().to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("place", ["iceberg.planned", "iceberg.written", "iceberg.publish.request"])
def test_somebody_faster_wins_and_nothing_is_left(
    table: Table, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(table, [[1, "a", 10]])
    slow = table.storage.position()
    waiting = [place]

    def reached(name: str) -> None:
        if waiting and name == waiting[0]:
            waiting.clear()
            put(table, "fast", Append(Rows(arrow=arrow([[2, "b", 20]]))))

    monkeypatch.setattr(commit, "reach", reached)
    with pytest.raises(ConflictError):
        table.storage.commit([Overwrite(Rows(arrow=arrow([[9, "z", 9]])))], frontier("slow"), slow)
    assert table.rows() == [(1, "a", 10), (2, "b", 20)]
    assert not [name for name in files(table) if name.startswith("data/slow")]


def test_a_property_that_was_set_meanwhile_stays(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(table, [[1, "a", 10]])
    waiting = ["iceberg.publish.request"]

    def reached(name: str) -> None:
        if waiting and name == waiting[0]:
            waiting.clear()
            table.sql("ALTER TABLE {t} SET TBLPROPERTIES ('note' = 'mine')")

    monkeypatch.setattr(commit, "reach", reached)
    put(table, "r1", Append(Rows(arrow=arrow([[2, "b", 20]]))))
    assert table.rows() == [(1, "a", 10), (2, "b", 20)]
    assert metadata(table)["properties"]["note"] == "mine"


@pytest.mark.parametrize("landed", [True, False])
def test_a_lost_reply_is_resolved_by_reading(
    table: Table, landed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(table, [[1, "a", 10]])
    swap = SqliteLocator.swap
    lost = [True]

    def losing(self: SqliteLocator, *given: Any) -> bool:
        if not lost:
            return swap(self, *given)
        lost.clear()
        if landed:
            swap(self, *given)
        raise OSError("the reply was lost")

    monkeypatch.setattr(SqliteLocator, "swap", losing)
    put(table, "r1", Append(Rows(arrow=arrow([[2, "b", 20]]))))
    assert table.rows() == [(1, "a", 10), (2, "b", 20)]
    assert table.storage.position().frontier == frontier("r1")


def test_replies_that_are_always_lost_leave_it_open(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(table, [[1, "a", 10]])

    def losing(self: SqliteLocator, *_: Any) -> bool:
        raise OSError("the reply was lost")

    monkeypatch.setattr(SqliteLocator, "swap", losing)
    monkeypatch.setattr(commit, "PAUSES", (0.0, 0.0))
    with pytest.raises(UnknownOutcomeError):
        put(table, "r1", Append(Rows(arrow=arrow([[2, "b", 20]]))))
    assert table.rows() == [(1, "a", 10)]


PLACES = (
    "iceberg.planned",
    "iceberg.written",
    "iceberg.publish.request",
    "iceberg.publish.reply",
    "iceberg.published",
)


@pytest.mark.parametrize("place", PLACES)
def test_a_kill_anywhere_leaves_the_old_rows_or_the_new_ones(
    table: Table, client: Clients, place: str
) -> None:
    build(table, [[1, "a", 10]])
    writer = client(10)
    writer.ask("position", table.name)
    writer.send(
        "commit",
        table.name,
        run="dead",
        kind="overwrite",
        rows=[[5, "e", 5]],
        failpoints=f"{place}=kill",
    )
    writer.process.wait(120)
    landed = table.storage.position().frontier == frontier("dead")
    assert landed == (place in ("iceberg.publish.reply", "iceberg.published"))
    assert table.rows() == ([(5, "e", 5)] if landed else [(1, "a", 10)])
    put(table, "next", Append(Rows(arrow=arrow([[6, "f", 6]]))))
    assert (6, "f", 6) in table.rows()


@pytest.mark.parametrize("place", ["iceberg.planned", "iceberg.publish.request"])
def test_exactly_one_of_two_writers_wins(
    lake: Lake, client: Clients, barrier: Barrier, table: Table, place: str
) -> None:
    arena = Arena(lake, (client(10), client(11)), barrier, table)
    for seed in (1, 4, 5, 10, 11):  # append, overwrite, frontier; again
        arena.race(place, seed)
