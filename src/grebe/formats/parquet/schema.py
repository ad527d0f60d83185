"""Types of Parquet columns as Spark spells and exchanges them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq

from grebe.sql_text import quote_odd

_UTC = pa.timestamp("us", tz="UTC")
_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    _UTC: "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
    pa.string(): "string",
    pa.binary(): "binary",
}
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
}


def exchange(kind: pa.DataType) -> pa.DataType:
    """The Arrow type that Spark exchanges for the type that Arrow reads from a file."""
    if pa.types.is_dictionary(kind):
        return exchange(kind.value_type)
    if pa.types.is_timestamp(kind):
        return _UTC if kind.tz else pa.timestamp("us")
    if pa.types.is_struct(kind):
        parts = [kind.field(index) for index in range(kind.num_fields)]
        return pa.struct([pa.field(part.name, exchange(part.type)) for part in parts])
    if pa.types.is_map(kind):
        return pa.map_(exchange(kind.key_type), exchange(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", exchange(kind.value_type)))
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return _WIDER.get(kind, kind)


def spark_text(kind: pa.DataType) -> str:
    """An exchanged type as Spark SQL; a type that Spark lacks keeps its Arrow name."""
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        parts = [kind.field(index) for index in range(kind.num_fields)]
        return f"struct<{','.join(f'{quote_odd(p.name)}:{spark_text(p.type)}' for p in parts)}>"
    if pa.types.is_map(kind):
        return f"map<{spark_text(kind.key_type)},{spark_text(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"array<{spark_text(kind.value_type)}>"
    return _NAMES.get(kind, str(kind))


def is_known(text: str) -> bool:
    """Whether Spark has the type, and its values can be compared."""
    words = re.sub(r"`(?:[^`]|``)*`|\w+:", "", text)
    known = {*_NAMES.values(), "decimal", "struct", "array", "map"}
    return all(word in known or word.isdigit() for word in re.findall(r"[\w\[\]]+", words))


def columns_of(parquet: pq.ParquetFile) -> list[tuple[str, str]]:
    """Names and Spark types of a file's columns."""
    shape = spark_shape(parquet)
    return [(field.name, spark_text(field.type)) for field in shape]


def spark_shape(parquet: pq.ParquetFile) -> pa.Schema:
    """A file's columns in the types that Spark exchanges.

    Timestamps of the old kind (INT96) have a zone for Spark and none for Arrow.
    """
    schema = parquet.schema
    old = {c.path.split(".")[0] for c in _leaves(schema) if c.physical_type == "INT96"}
    nanos = {
        c.path.split(".")[0]
        for c in _leaves(schema)
        if c.physical_type == "INT64" and "nanoseconds" in str(c.logical_type)
    }
    fields = []
    for field in parquet.schema_arrow:
        kind = exchange(field.type)
        if field.name in old:
            kind = _replaced(kind, pa.timestamp("us"), _UTC)
        if field.name in nanos:  # Spark does not read them
            kind = pa.time64("ns")
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def _leaves(schema: pq.ParquetSchema) -> list[pq.ColumnSchema]:
    return [schema.column(index) for index in range(len(schema))]


def _replaced(kind: pa.DataType, old: pa.DataType, new: pa.DataType) -> pa.DataType:
    """A type in which another one stands for one of its parts."""
    inner: Callable[[pa.DataType], pa.DataType] = lambda part: _replaced(part, old, new)  # noqa: E731
    if kind.equals(old):
        return new
    if pa.types.is_struct(kind):
        parts = [kind.field(index) for index in range(kind.num_fields)]
        return pa.struct([pa.field(part.name, inner(part.type)) for part in parts])
    if pa.types.is_map(kind):
        return pa.map_(inner(kind.key_type), inner(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", inner(kind.value_type)))
    return kind
