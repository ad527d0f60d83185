"""What commits write about the values of their files: a reader that skips by it loses no row."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from formats.commit.lake import frontier
from formats.delta.commit.folders import Folders, StorageFolder
from formats.delta.commit.test_spark import storage_of
from grebe.formats.base import ACTION, Append, Committed, Merge, Rows, Write
from grebe.formats.delta.actions import AddedFile
from grebe.formats.delta.driver_writes import suits
from grebe.formats.delta.schema import DeltaField, DeltaPrimitive, DeltaSchema
from grebe.formats.delta.stats import bounds, settings
from grebe.formats.delta.storage import SETTINGS
from grebe.formats.parquet.schema import exchange, spark_text
from grebe.model import Column, Schema, TableName
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGE = Decimal("12345678901234.5678")
KEYS: Mapping[str, tuple[pa.DataType, Any]] = {
    "decimal of a double": (pa.decimal128(15, 2), Decimal("1234567890123.45")),
    "wide decimal": (pa.decimal128(18, 4), LARGE),
    "widest decimal": (pa.decimal128(38, 0), Decimal("-123456789012345678901234567890")),
    "small wide decimal": (pa.decimal128(38, 37), Decimal("0." + "1" * 37)),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        datetime(2024, 1, 1, 1, 1, 1, 123999, tzinfo=UTC),
    ),
    "timestamp before 1970": (
        pa.timestamp("us", tz="UTC"),
        datetime(1950, 1, 1, 1, 1, 1, 123999, tzinfo=UTC),
    ),
    "timestamp without zone": (pa.timestamp("us"), datetime(2024, 1, 1, 1, 1, 1, 999999)),  # noqa: DTZ001
    "long string": (pa.string(), "z" * 200),
    "string that ends all others": (pa.string(), "\U0010ffff" * 70),
    "bytes": (pa.binary(), b"\xff" * 100),
    "integer beyond doubles": (pa.int64(), 2**53 + 1),
    "old date": (pa.date32(), date(1, 1, 1)),
}
CASES = pytest.mark.parametrize(("kind", "value"), KEYS.values(), ids=KEYS.keys())


def created(folders: Folders, shape: pa.Schema) -> StorageFolder:
    name = TableName("folder", "views", f"stats{next(folders._numbers)}")
    types = {field.name: spark_text(exchange(field.type)) for field in shape}
    configuration: dict[str, str | None] = {**SETTINGS, **settings(types)}
    DeltaTable.create(str(folders.path(name)), shape, configuration=configuration)
    return StorageFolder(folders, name, folders.storage(name))


def keyed(folders: Folders, kind: pa.DataType, value: object) -> StorageFolder:
    """A table of one row, committed by the driver."""
    table = created(folders, pa.schema([("k", kind), ("n", pa.int64())]))
    commit(table, "r1", Append(Rows(arrow=row(kind, value, 1))))
    return table


def row(kind: pa.DataType, value: object, number: int) -> pa.Table:
    return pa.table({"k": pa.array([value], kind), "n": pa.array([number], pa.int64())})


def update(kind: pa.DataType, value: object) -> Merge:
    changes = row(kind, value, 2).append_column(ACTION, pa.array(["update"]))
    return Merge(Rows(arrow=changes), ("k",), expect_updated=1, expect_deleted=0)


def commit(table: StorageFolder, run: str, *writes: Write) -> Committed:
    return table.storage.commit(writes, frontier(run), table.storage.position())


def statistics(path: Path, version: int) -> dict[str, Any]:
    """The statistics of the one file that a version added, numbers as they are written."""
    text = (path / "_delta_log" / f"{version:020d}.json").read_text("utf-8")
    adds = [action["add"] for line in text.splitlines() if "add" in (action := json.loads(line))]
    (add,) = adds
    found: dict[str, Any] = json.loads(add["stats"], parse_float=Decimal)
    return found


@CASES
def test_a_key_is_found_again_by_delta_rs(
    folders: Folders, kind: pa.DataType, value: object
) -> None:
    table = keyed(folders, kind, value)
    wanted = ds.field("k") == pa.scalar(value, kind)
    assert table.table.to_pyarrow_table(filters=wanted).num_rows == 1
    assert commit(table, "r2", update(kind, value)).rows_updated == 1
    assert table.table.to_pyarrow_table()["n"].to_pylist() == [2]
    if kind not in {
        pa.string(),
        pa.binary(),
    }:  # pyarrow refuses those of files that delta-rs merged
        assert table.table.to_pyarrow_table(filters=wanted).num_rows == 1


@pytest.mark.spark
@CASES
def test_a_key_is_found_again_by_spark(
    folders: Folders, spark: SparkSession, kind: pa.DataType, value: object
) -> None:
    from pyspark.sql import functions as sf

    table = keyed(folders, kind, value)
    commit(table, "r2", update(kind, value))
    for version, number in ((1, 1), (2, 2)):
        stored = spark.read.format("delta").option("versionAsOf", version).load(str(table.path))
        ((literal, shown),) = stored.collect()
        assert shown == number
        wanted = sf.lit(str(literal) if isinstance(value, date) else literal)
        found = stored.where(sf.col("k") == wanted.cast(stored.schema["k"].dataType))
        assert [tuple(one) for one in found.collect()] == [(literal, number)]


@pytest.mark.spark
def test_a_filter_of_spark_finds_nan(folders: Folders, spark: SparkSession) -> None:
    table = created(folders, pa.schema([("x", pa.float64()), ("y", pa.float32())]))
    values = [1.5, math.nan]
    rows = pa.table({"x": pa.array(values, pa.float64()), "y": pa.array(values, pa.float32())})
    commit(table, "r1", Append(Rows(arrow=rows)))
    stored = spark.read.format("delta").load(str(table.path))
    assert stored.where("x > 10").count() == stored.where("y > 10").count() == 1


def test_the_driver_writes_bounds_only_where_they_are_bounds(folders: Folders) -> None:
    parts = pa.struct([("d", pa.decimal128(18, 4)), ("i", pa.int64())])
    named = {"i": pa.int64(), "d.o t": pa.int64(), "narrow": pa.decimal128(15, 2)}
    unnamed = {"wide": pa.decimal128(16, 2), "x": pa.float64(), "parts": parts}
    shape = pa.schema(list((named | unnamed).items()))
    table = created(folders, shape)
    one = {"i": 2**62 + 1, "d.o t": 7, "narrow": Decimal("0.01"), "wide": Decimal(1), "x": 1.0}
    rows = pa.Table.from_pylist([one | {"parts": {"d": LARGE, "i": 1}}], schema=shape)
    commit(table, "r1", Append(Rows(arrow=rows)))
    found = statistics(table.path, 1)
    assert found["numRecords"] == 1
    exact = {name: one[name] for name in named}
    assert found["minValues"] == found["maxValues"] == exact
    assert found["nullCount"] == dict.fromkeys(named, 0)


def of_log(kind: str, low: str, high: str) -> tuple[object, object]:
    """The bounds of a column in a file whose log spells them like this."""
    stats = f'{{"numRecords":1,"minValues":{{"k":{low}}},"maxValues":{{"k":{high}}}}}'
    field = DeltaField("k", "k", DeltaPrimitive(kind))
    file = AddedFile("f", 1, {}, None, data_change=True, stats=stats, counted=1)
    (bound,) = bounds([file], DeltaSchema("0", (field,), False, ()), [field])["k"]
    return bound.low, bound.high


def test_bounds_of_decimals_are_read_as_they_are_written() -> None:
    assert of_log("decimal(15,2)", "1234567890123.45", "1234567890123.46") == (
        Decimal("1234567890123.45"),
        Decimal("1234567890123.46"),
    )


@pytest.mark.parametrize(
    ("kind", "value"),
    [("decimal(18,4)", LARGE), ("decimal(38,37)", KEYS["small wide decimal"][1])],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_that_were_doubles_still_hold_the_value(
    kind: str, value: Decimal, sign: int
) -> None:
    for text in (str(sign * value), repr(float(sign * value))):
        low, high = of_log(kind, text, text)
        assert isinstance(low, Decimal)
        assert isinstance(high, Decimal)
        assert low <= sign * value <= high
        assert high - low <= abs(value) / 10**10


def test_bounds_that_were_cut_off_are_none() -> None:
    assert of_log("decimal(38,0)", str(-(2**63)), str(2**63 - 1)) == (None, None)


TYPES = ("BIGINT", "DECIMAL(18,4)", "STRING", "BOOLEAN", "DOUBLE")


@pytest.mark.spark
@pytest.mark.parametrize(
    "names", [("a", "b", "c", "d", "x"), ("a b", "d.o.t", "ti`ck", "MiXed", "x")]
)
def test_filters_find_rows_of_both_writers(
    spark: SparkSession, tmp_path: Path, names: tuple[str, ...]
) -> None:
    parts = f"STRUCT<{quote(names[0])}: DECIMAL(18,4), x: DOUBLE>"
    types = dict(zip((*names, "st"), (*TYPES, parts), strict=True))
    columns = tuple(Column(i, name, kind) for i, (name, kind) in enumerate(types.items()))
    storage = storage_of(spark, tmp_path / "both", by_driver=False)
    storage.create(Schema("0", columns), {})
    row = f"1L, {LARGE}BD, 'a', true, 1.5D, named_struct('{names[0]}', {LARGE}BD, 'x', 1.5D)"
    query = f"SELECT * FROM VALUES ({row}) AS v({', '.join(map(quote, types))})"
    rows = spark.sql(query).toArrow()
    for number, each in enumerate((storage, replace(storage, by_driver=True))):
        write = Append(Rows(arrow=rows))
        each.commit([write], frontier(f"r{number}"), each.position())
        found = statistics(tmp_path / "both", number + 1)
        assert len(found["minValues"]) == len(found["maxValues"]) == 2
    log = storage.log()
    assert ["delta-rs" in str(log.commit(number).info) for number in (1, 2)] == [False, True]
    table = DeltaTable(str(tmp_path / "both"))
    stored = spark.read.format("delta").load(str(tmp_path / "both"))
    for name in names:
        value = rows[name][0]
        if names[0] == "a":  # pyarrow reads no mapped columns
            assert table.to_pyarrow_table(filters=ds.field(name) == value).num_rows == 2, name
        assert stored.where(f"{quote(name)} = {text_of(value)}").count() == 2, name
    assert stored.where(f"st.{quote(names[0])} = {LARGE} AND st.x = 1.5").count() == 2


def text_of(value: pa.Scalar) -> str:
    return repr(value.as_py()) if pa.types.is_string(value.type) else str(value.as_py())


@pytest.mark.parametrize("kind", ["decimal(18,4)", "double", "boolean"])
def test_statistics_that_delta_rs_would_get_wrong_are_left_to_spark(
    folders: Folders, kind: str
) -> None:
    table = created(folders, pa.schema([("k", pa.int64()), ("n", pa.int64())]))
    log = table.storage.log()
    state = log.state(0)
    write = Append(Rows(arrow=pa.table({"k": [1], "n": [1]})))
    assert suits(write, state, log.files, log.root)
    head, _, tail = state.metadata.schema.rpartition('"long"')
    odd = replace(state, metadata=replace(state.metadata, schema=f'{head}"{kind}"{tail}'))
    assert not suits(write, odd, log.files, log.root)
    told = odd.metadata.configuration | settings({"k": "bigint", "n": kind})
    odd = replace(odd, metadata=replace(odd.metadata, configuration=told))
    assert suits(write, odd, log.files, log.root)
