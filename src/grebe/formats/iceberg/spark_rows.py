"""Weighted rows of touched files, read by Spark from just those files; and whole versions.

No `_jvm`, no RDD: everything here also runs over Spark Connect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from grebe import thresholds
from grebe.formats.base import WEIGHT
from grebe.formats.files import escape_glob
from grebe.formats.frames import to_frame
from grebe.formats.iceberg.conform import arrow_type
from grebe.formats.iceberg.manifests import DataFile
from grebe.formats.iceberg.metadata import EMPTY, SnapshotPoint, TableMetadata
from grebe.formats.iceberg.rows import NAME_MAPPING, identity_partition
from grebe.formats.iceberg.schema import (
    IcebergField,
    IcebergMap,
    IcebergPrimitive,
    IcebergSchema,
    IcebergStruct,
    List,
    Type,
    leaves,
    same_type,
    spark_text,
)
from grebe.formats.iceberg.values import from_default, from_partition
from grebe.formats.spark_files import BASE, MARK, PATH, POS, mark_table, place_of_rows
from grebe.formats.weights import FileWeights
from grebe.model import TableName
from grebe.sql_text import literal, made, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_FIELD_ID = "parquet.field.id"
_BY_ID = "spark.sql.parquet.fieldId.read.enabled"


def readable_by_id(table: TableMetadata, fields: Sequence[IcebergField]) -> bool:
    """Whether Spark's Parquet reader gives what the table means.

    It knows neither name mappings nor defaults: it would silently read NULL.
    """
    if NAME_MAPPING in table.properties:
        return False
    return not any(
        part.default is not None
        or (isinstance(part.type, IcebergPrimitive) and part.type.name == "uuid")
        for column in fields
        for part in (column, *leaves(column))
    )


def read_weighted(
    spark: SparkSession,
    table: TableMetadata,
    touched: Sequence[FileWeights[DataFile]],
    fields: Sequence[IcebergField],
) -> DataFrame:
    """All rows with a weight; nothing runs yet."""
    from pyspark.sql import functions as sf
    from pyspark.sql.types import StructField, StructType

    spark.conf.set(_BY_ID, "true")
    shape = StructType(
        [
            StructField(made(f"c{i}"), _spark_type(f.type), True, {_FIELD_ID: f.id})
            for i, f in enumerate(fields)
        ]
    )
    reader = spark.read.schema(shape).option("datetimeRebaseMode", "CORRECTED")
    reader = reader.option("int96RebaseMode", "CORRECTED")
    files = reader.parquet(*[escape_glob(weights.file.path) for weights in touched])
    where, key = place_of_rows([weights.file.path for weights in touched])
    rows = files.select(*files.columns, where.alias(PATH), sf.col("_metadata.row_index").alias(POS))
    listed = _file_frame(spark, table, touched, fields, key)
    rows = rows.join(sf.broadcast(listed), PATH)
    weight = sf.col(BASE)
    marks = mark_table(touched, key)
    if marks.num_rows:
        rows = rows.join(spark.createDataFrame(marks), [PATH, POS], "left")
        weight = weight + sf.coalesce(sf.col(MARK), sf.lit(0))
    columns = [
        _with_partition(table, touched, field, i).alias(field.name)
        for i, field in enumerate(fields)
    ]
    return rows.select(*columns, weight.cast("bigint").alias(WEIGHT)).where(f"{quote(WEIGHT)} <> 0")


def _fixed_fields(
    table: TableMetadata, touched: Sequence[FileWeights[DataFile]], fields: Sequence[IcebergField]
) -> list[IcebergField]:
    """The columns that some touched file's partition fixes."""
    fixed = {number for w in touched for number in identity_partition(table, w.file)}
    return [field for field in fields if field.id in fixed]


def _with_partition(
    table: TableMetadata, touched: Sequence[FileWeights[DataFile]], field: IcebergField, index: int
) -> Column:
    """The file's column, or the partition's value where the file lacks it."""
    from pyspark.sql import functions as sf

    column = sf.col(made(f"c{index}"))
    if field in _fixed_fields(table, touched, [field]):
        return sf.coalesce(column, sf.col(made(f"p{field.id}")))
    return column


def _file_frame(
    spark: SparkSession,
    table: TableMetadata,
    touched: Sequence[FileWeights[DataFile]],
    fields: Sequence[IcebergField],
    key: Callable[[str], str],
) -> DataFrame:
    """One row per file: its base weight, and what its partition fixes."""
    columns: dict[str, pa.Array] = {
        PATH: pa.array([key(w.file.path) for w in touched], pa.string()),
        BASE: pa.array([w.base for w in touched], pa.int64()),
    }
    types = {PATH: "string", BASE: "bigint"}
    for field in _fixed_fields(table, touched, fields):
        values = [identity_partition(table, w.file).get(field.id) for w in touched]
        columns[made(f"p{field.id}")] = pa.array(
            [from_partition(field.type, value) for value in values], arrow_type(field.type)
        )
        types[made(f"p{field.id}")] = spark_text(field.type)
    return to_frame(spark, pa.table(columns), types)


def _spark_type(kind: Type) -> DataType:
    """The Spark type, with the field ids of nested parts in its metadata."""
    from pyspark.sql import types as st

    match kind:
        case IcebergPrimitive():
            return st.DataType.fromDDL(spark_text(kind))
        case IcebergStruct(fields):
            return st.StructType(
                [
                    st.StructField(f.name, _spark_type(f.type), True, {_FIELD_ID: f.id})
                    for f in fields
                ]
            )
        case List(element):
            return st.ArrayType(_spark_type(element.type), True)
        case IcebergMap(key, value):
            return st.MapType(_spark_type(key.type), _spark_type(value.type), True)


def read_version(
    spark: SparkSession,
    name: TableName,
    table: TableMetadata,
    place: SnapshotPoint,
    fields: Sequence[IcebergField],
) -> DataFrame:
    """All rows of a version in the columns asked for, by Iceberg's own reader."""
    from pyspark.sql import functions as sf

    if place.snapshot_id == EMPTY:
        empty = ", ".join(f"CAST(NULL AS {spark_text(f.type)}) AS {quote(f.name)}" for f in fields)
        return spark.sql(f"SELECT {empty or '1'} WHERE false").select(
            *[quote(f.name) for f in fields]
        )
    own_id = table.snapshots[place.snapshot_id].schema_id
    own = table.schemas[table.current_schema_id if own_id is None else own_id]
    # A small file counts for little: a table of many is read in few tasks, not in one for each.
    reader = spark.read.option("file-open-cost", str(thresholds.OPENED_BYTES))
    frame = reader.option("versionAsOf", place.snapshot_id).table(name.quoted())
    columns = []
    for want in fields:
        stored = own.field(want.id)
        text = _literal(want) if stored is None else _reshaped(stored, want)
        columns.append(sf.expr(text).alias(want.name))
    if columns and _named_otherwise(own, table):
        return frame.select(sf.inline(sf.array(sf.struct(*columns))))
    return frame.select(*columns)


def _named_otherwise(own: IcebergSchema, table: TableMetadata) -> bool:
    """Whether a later schema has other columns by the names of a snapshot's own one.

    Iceberg reads a snapshot with the snapshot's names, but looks up the filters that Spark pushes to it by the names
    that the table has now, and leaves out files by what it knows of another column. No filter passes a generator.
    """
    later = [schema for number, schema in table.schemas.items() if number > own.id]
    return any(
        schema.field(field.id) != field
        for schema in (*later, table.schemas[table.current_schema_id])
        for field in own.fields
    )


def _literal(want: IcebergField) -> str:
    """The value of a column that the snapshot is older than."""
    kind = spark_text(want.type)
    if want.default is None or not isinstance(want.type, IcebergPrimitive):
        return f"CAST(NULL AS {kind})"
    value: Any = from_default(want.type, want.default)
    text = f"X'{value.hex()}'" if isinstance(value, bytes) else literal(str(value))
    return f"CAST({text} AS {kind})"


def _reshaped(stored: IcebergField, want: IcebergField) -> str:
    """The stored column in the type of a newer schema; only promotions and names can differ."""
    text = quote(stored.name)
    return text if same_type(stored.type, want.type) else _convert(text, stored.type, want.type, 0)


def _convert(text: str, stored: Type, want: Type, depth: int) -> str:
    name = f"x{depth}"
    match stored, want:
        case IcebergStruct(old), IcebergStruct(new):
            by_id = {field.id: field for field in old}
            parts = []
            for field in new:
                before = by_id.get(field.id)
                value = (
                    _literal(field)
                    if before is None
                    else _convert(f"{text}.{quote(before.name)}", before.type, field.type, depth)
                )
                parts.append(f"{literal(field.name)}, {value}")
            return f"CASE WHEN {text} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
        case List(old_element), List(new_element):
            inner = _convert(name, old_element.type, new_element.type, depth + 1)
            return f"transform({text}, {name} -> {inner})"
        case IcebergMap(old_key, old_value), IcebergMap(new_key, new_value):
            key = _convert(f"{name}k", old_key.type, new_key.type, depth + 1)
            value = _convert(f"{name}v", old_value.type, new_value.type, depth + 1)
            pair = f"({name}k, {name}v)"
            return f"transform_values(transform_keys({text}, {pair} -> {key}), {pair} -> {value})"
        case _:
            return f"CAST({text} AS {spark_text(want)})"
