"""When two rows are the same row: one rule, once for Arrow and once for Spark.

Finer than SQL equality: NULL is NULL, NaN is NaN, but -0.0 is not 0.0. Maps are equal when their
entries are, in any order, on every level. Nothing here depends on a table format.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from grebe.formats.base import WEIGHT
from grebe.sql_text import made, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


Value = Any
"""A Python value of whatever type its column has."""


def consolidate_arrow(rows: pa.Table) -> pa.Table:
    """Each distinct row once with its summed weight; rows that sum to zero are gone."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [name for name in rows.column_names if name != WEIGHT]
    if not columns:
        total = pc.sum(rows[WEIGHT]).as_py() or 0
        return pa.table({WEIGHT: pa.array([total] if total else [], pa.int64())})
    rows = rows.combine_chunks()
    keys: list[pa.Array] = []
    for index in range(rows.num_columns):
        if rows.column_names[index] != WEIGHT:
            keys += _arrow_keys(_one_chunk(rows.column(index)))
    names = [f"k{index}" for index in range(len(keys))]
    table = pa.Table.from_arrays(
        [*keys, _one_chunk(rows[WEIGHT]), pa.array(np.arange(rows.num_rows))],
        names=[*names, "weight", "row"],
    )
    summed = table.group_by(names).aggregate([("weight", "sum"), ("row", "min")])
    summed = summed.filter(pc.not_equal(summed["weight_sum"], 0)).sort_by("row_min")
    kept = rows.drop_columns([WEIGHT]).take(summed["row_min"])
    return kept.append_column(
        pa.field(WEIGHT, pa.int64(), nullable=False), summed["weight_sum"].combine_chunks()
    )


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def _arrow_keys(column: pa.Array) -> list[pa.Array]:
    """Columns that are equal as bytes exactly when the values are the same."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_floating(kind):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]
        nan = pa.scalar(float("nan"), kind)
        return [pc.if_else(pc.is_nan(column), nan, column).view(bits)]
    if pa.types.is_struct(kind):
        parts = [key for inner in column.flatten() for key in _arrow_keys(inner)]
        return [column.is_valid(), *parts]
    if pa.types.is_nested(kind):
        is_map = pa.types.is_map(kind)
        values = column.to_pylist()
        return [pa.array([_bytes(v, kind) if is_map or v is not None else None for v in values])]
    if pa.types.is_null(kind):
        return [pa.nulls(len(column), pa.bool_())]
    return [column]


def _bytes(value: Value, kind: pa.DataType) -> bytes | None:
    """A nested value as text that is equal exactly when the values are the same."""
    return None if value is None else repr(_canonical(value, kind)).encode()


def _canonical(value: Value, kind: pa.DataType) -> Value:
    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_floating(kind):
        return "nan" if value != value else struct.pack(">d", value)
    if pa.types.is_map(kind):
        entries = value.items() if isinstance(value, dict) else value
        return sorted(
            ((_canonical(k, kind.key_type), _canonical(v, kind.item_type)) for k, v in entries),
            key=repr,
        )
    if pa.types.is_struct(kind):
        parts = [kind.field(i) for i in range(kind.num_fields)]
        return tuple(_canonical(value[part.name], part.type) for part in parts)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_canonical(item, kind.value_type) for item in value]
    return value


def consolidate_frame(rows: DataFrame) -> DataFrame:
    """The same for a DataFrame: one shuffle, nothing runs yet."""
    from pyspark.sql import functions as sf

    fields = [field for field in rows.schema.fields if field.name != WEIGHT]
    weight = sf.sum(quote(WEIGHT)).alias(WEIGHT)
    if not fields:
        return rows.agg(weight).where(f"{quote(WEIGHT)} <> 0")
    keys = [
        sf.expr(key_sql(quote(field.name), field.dataType)).alias(made(f"key_{index}"))
        for index, field in enumerate(fields)
    ]
    values = [sf.first(quote(field.name)).alias(field.name) for field in fields]
    summed = rows.groupBy(*keys).agg(weight, *values).where(f"{quote(WEIGHT)} <> 0")
    return summed.select(*[quote(field.name) for field in fields], quote(WEIGHT))


def key_sql(text: str, kind: DataType, depth: int = 0) -> str:
    """A Spark expression that is equal exactly when the values of ``text`` are the same."""
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StructType

    name = made(f"x{depth}")
    if isinstance(kind, FloatType | DoubleType):
        return f"CAST({text} AS STRING)"
    if isinstance(kind, ArrayType):
        inner = key_sql(name, kind.elementType, depth + 1)
        return text if inner == name else f"transform({text}, {name} -> {inner})"
    if isinstance(kind, StructType):
        parts = [
            f"'f{i}', {key_sql(f'{text}.{quote(field.name)}', field.dataType, depth)}"
            for i, field in enumerate(kind.fields)
        ]
        inner = f"named_struct({', '.join(parts)})"
        return f"CASE WHEN {text} IS NOT NULL THEN {inner} END"
    if isinstance(kind, MapType):
        key = key_sql(f"{name}.key", kind.keyType, depth + 1)
        value = key_sql(f"{name}.value", kind.valueType, depth + 1)
        entry = f"named_struct('k', {key}, 'v', {value})"
        return f"array_sort(transform(map_entries({text}), {name} -> {entry}))"
    return text
