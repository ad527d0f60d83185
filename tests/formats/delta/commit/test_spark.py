"""Commits by one Spark statement, alone and beside delta-rs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from formats.commit.client import arrow
from formats.commit.lake import COLUMNS, Barrier, frontier
from formats.contract.oracle import bag
from formats.delta.commit.conftest import Clients
from formats.delta.commit.folders import Folders, StorageFolder
from formats.delta.commit.test_commit import MIXED, ONE, THREE, append, merge
from grebe.errors import CheckFailedError, ConflictError, StepFailedError
from grebe.formats.base import Append, Committed, Merge, Overwrite, Rows, Write
from grebe.formats.delta.driver_writes import suits
from grebe.formats.delta.log import Log
from grebe.formats.delta.storage import DeltaStorage
from grebe.formats.failpoints import VARIABLE
from grebe.formats.files import DriverFiles
from grebe.model import Column, Schema, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def storage_of(spark: SparkSession, path: Path, *, by_driver: bool) -> DeltaStorage:
    name = TableName("folder", "views", path.name)
    return DeltaStorage(
        spark, name, f"delta.`{path}`", lambda: Log(str(path), DriverFiles()), by_driver
    )


@pytest.fixture
def table(folders: Folders, spark: SparkSession) -> StorageFolder:
    """A table that Spark made and Spark writes to."""
    name = TableName("folder", "views", f"s{next(folders._numbers)}")
    storage = storage_of(spark, folders.path(name), by_driver=False)
    storage.create(Schema("0", COLUMNS), {"grebe.view": "test"})
    return StorageFolder(folders, name, storage)


def commit(table: StorageFolder, run: str, *writes: Write) -> Committed:
    return table.storage.commit(writes, frontier(run), table.storage.position())


def by_driver(table: StorageFolder) -> StorageFolder:
    return replace(table, storage=replace(table.storage, by_driver=True))


def test_one_life_by_spark_and_delta_rs_in_turn(table: StorageFolder) -> None:
    done = commit(table, "r1", append(THREE))
    assert (done.version, done.rows_inserted, done.rows_deleted) == ("1", 3, 0)
    done = commit(by_driver(table), "r2", merge(MIXED))
    done = commit(
        table,
        "r3",
        merge([[None, "y", 6, "update"], [3, None, None, "delete"], [4, "d", 4, "insert"]]),
    )
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (1, 1, 1)
    assert table.rows() == [(None, "y", 6), (1, "a", 11), (4, "d", 4)]
    found = table.storage.position()
    assert (found.frontier, found.version, found.row_version) == (frontier("r3"), "3", "3")
    done = commit(table, "r4")
    found = table.storage.position()
    assert (found.frontier, found.version, found.row_version) == (frontier("r4"), "4", "3")
    bagged: list[list[object]] = [
        [1, "a", 11, "delete"],
        [1, "a", 11, "insert"],
        [1, "a", 11, "insert"],
    ]
    write = merge(bagged, on=("k", "v", "n"), expect_updated=0, expect_deleted=1)
    commit(table, "r5", write, append([[5, "e", 5]]))
    assert table.rows() == [
        (None, "y", 6),
        (1, "a", 11),
        (1, "a", 11),
        (4, "d", 4),
        (5, "e", 5),
    ]
    done = commit(table, "r6", Overwrite(Rows(sql="SELECT 1 AS n, 'a' AS v, 2 AS k")))
    assert (done.rows_inserted, done.rows_deleted, table.rows()) == (1, 5, [(2, "a", 1)])
    commit(by_driver(table), "r7", append(ONE))
    assert table.storage.position().frontier == frontier("r7")
    assert table.table.transaction_version("grebe") == 7


@pytest.mark.parametrize(
    "write",
    [
        merge([[9, "x", 9, "update"]], expect_deleted=0),
        merge([[1, "a", 10, "delete"]], on=("k", "v", "n"), expect_updated=0, expect_deleted=2),
        merge([[1, "b", 1, "insert"]], expect_updated=0, expect_deleted=0, unique=True),
        merge([[1, "b", 1, "update"], [1, "c", 1, "update"]], expect_updated=2, expect_deleted=0),
    ],
    ids=["missing update", "copies", "key exists", "claimed twice"],
)
def test_stored_rows_that_contradict_stop_the_statement(table: StorageFolder, write: Merge) -> None:
    commit(by_driver(table), "r1", append(ONE))
    with pytest.raises(CheckFailedError) as caught:
        commit(table, "r2", write)
    assert caught.value.code == "integrity"
    assert (table.storage.position().frontier, table.rows()) == (frontier("r1"), [(1, "a", 10)])


def test_a_statement_that_fails_leaves_nothing(table: StorageFolder) -> None:
    commit(by_driver(table), "r1", append(ONE))
    query = "SELECT 1 AS k, 'a' AS v, CAST(raise_error('no') AS BIGINT) AS n"
    with pytest.raises(StepFailedError):
        commit(table, "r2", Append(Rows(sql=query)))
    assert (table.storage.position().frontier, table.rows()) == (frontier("r1"), [(1, "a", 10)])


@pytest.fixture
def paused(barrier: Barrier) -> Iterator[Barrier]:
    """Commits of this process stop right before their statement."""
    os.environ[VARIABLE] = barrier.at("delta.commit.request")
    yield barrier
    os.environ[VARIABLE] = ""


def test_a_loser_whose_statement_spark_skips_never_reports_success(
    table: StorageFolder, client: Clients, paused: Barrier
) -> None:
    """Spark says nothing when the transaction number is taken: the log does."""
    other = client(0)
    other.ask("position", table.name)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(commit, table, "late", append([[2, "b", 2]]))
        waiting = paused.arrive()
        won = other.ask("commit", table.name, run="won", kind="append", rows=ONE)
        assert "version" in won
        paused.release(waiting)
        with pytest.raises(ConflictError):
            late.result()
    assert table.rows() == [(1, "a", 10)]
    assert table.storage.position().frontier == frontier("won")


def test_a_foreign_write_that_slips_in_below_is_told_at_the_next_position(
    table: StorageFolder, paused: Barrier
) -> None:
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(commit, table, "r1", append(ONE))
        waiting = paused.arrive()
        write_deltalake(table.table, arrow([[7, "theirs", 7]]), mode="append")
        paused.release(waiting)
        assert run.result().version == "2"
    found = table.storage.position()
    assert found.frontier == frontier("r1")
    assert [text.split(" by ")[0] for text in found.foreign] == ["WRITE 1"]


def test_a_table_that_exists_is_left_alone(table: StorageFolder) -> None:
    commit(by_driver(table), "r1", append(ONE))
    table.storage.create(Schema("0", COLUMNS), {})
    assert table.rows() == [(1, "a", 10)]
    with pytest.raises(ConflictError):
        table.storage.create(Schema("0", (*COLUMNS, Column(4, "more", "BIGINT"))), {})


TYPES = {
    "id": "INT",
    "a b": "STRING",
    "q\"t'": "BIGINT",
    "d.o.t": "DOUBLE",
    "größe": "DECIMAL(38,18)",
    "select": "DATE",
    "MiXed": "TIMESTAMP",
    "nt": "TIMESTAMP_NTZ",
    "bi": "BINARY",
    "bo": "BOOLEAN",
    "ti": "TINYINT",
    "st": "STRUCT<`in ner`: INT, y: ARRAY<STRING>>",
    "mp": "MAP<STRING, DOUBLE>",
}
VALUES = (
    "SELECT 1, 'x', 2L, double('NaN'), 12345678901234567890.5BD, DATE'0001-01-01',"
    " TIMESTAMP'2024-03-10 02:30:00.000001', TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', X'00FF',"
    " true, 5Y, named_struct('in ner', 1, 'y', array('p', NULL)), map('k', -0.0D)"
    " UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
)


def test_odd_names_and_all_types_by_delta_rs_as_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = tuple(Column(i, name, kind) for i, (name, kind) in enumerate(TYPES.items()))
    tables = []
    for way in (True, False):
        path = tmp_path / f"types {way}"
        storage = storage_of(spark, path, by_driver=way)
        storage.create(Schema("0", columns), {})
        listed = ", ".join(f"`{name}`" for name in TYPES)
        cast = ", ".join(f"CAST(`{name}` AS {kind}) AS `{name}`" for name, kind in TYPES.items())
        rows = spark.sql(f"SELECT {cast} FROM ({VALUES}) AS v({listed})").toArrow()
        storage.commit([Append(Rows(arrow=rows))], frontier("r1"), storage.position())
        actions = ["update", "delete"]
        changes = rows.append_column("__grebe_action", pa.array(actions))
        write = Merge(Rows(arrow=changes), ("id", "a b", "q\"t'"), 1, 1)
        storage.commit([write], frontier("r2"), storage.position())
        tables.append(spark.read.format("delta").load(str(path)).toArrow())
    assert bag(tables[0]) == bag(tables[1])
    assert tables[0].num_rows == 1


def test_what_the_driver_leaves_to_spark(table: StorageFolder) -> None:
    log = table.storage.log()
    state = log.state(0)
    small = merge(MIXED)
    assert suits(small, state, log.files, log.root)
    assert suits(None, state, log.files, log.root)
    assert not suits(Append(Rows(sql="SELECT 1")), state, log.files, log.root)
    assert not suits(small, state, log.files, "s3://bucket/table")
    tracked = replace(state.protocol, writer=state.protocol.writer | {"rowTracking"})
    assert not suits(small, replace(state, protocol=tracked), log.files, log.root)
    floats = state.metadata.schema.replace('"long"', '"double"')
    double = replace(state, metadata=replace(state.metadata, schema=floats))
    assert not suits(small, double, log.files, log.root)
