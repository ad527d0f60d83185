"""Weighted rows of a plan's files, read by Spark from just those files; and whole versions.

No `_jvm`, no RDD: everything here also runs over Spark Connect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from grebe.formats.base import WEIGHT
from grebe.formats.delta.conform import arrow_type, partition_value
from grebe.formats.delta.rows import CHANGE_TYPE
from grebe.formats.delta.schema import (
    Array,
    DeltaField,
    DeltaMap,
    DeltaPrimitive,
    DeltaSchema,
    DeltaStruct,
    Type,
)
from grebe.formats.delta.schema import spark_text as text_of
from grebe.formats.delta.window import DeltaWindow
from grebe.formats.files import escape_glob
from grebe.formats.frames import to_frame
from grebe.formats.spark_files import BASE, MARK, PATH, POS, mark_table, place_of_rows
from grebe.sql_text import made, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField

_FIELD_ID = "parquet.field.id"
_BY_ID = "spark.sql.parquet.fieldId.read.enabled"


def read_weighted(
    spark: SparkSession, plan: DeltaWindow, schema: DeltaSchema, fields: Sequence[DeltaField]
) -> DataFrame:
    """All rows with a weight; nothing runs yet."""
    spark.conf.set(_BY_ID, "true")
    frames = []
    if plan.touched:
        frames.append(_data_rows(spark, plan, schema, fields))
    frames += [
        _feed_rows(spark, plan, sign, schema, fields)
        for sign in (1, -1)
        if any(feed.sign == sign for feed in plan.feeds)
    ]
    return reduce(lambda left, right: left.unionAll(right), frames)


def _data_rows(
    spark: SparkSession, plan: DeltaWindow, schema: DeltaSchema, fields: Sequence[DeltaField]
) -> DataFrame:
    from pyspark.sql import functions as sf

    listed = {w.file.path: w.file.partition for w in plan.touched}
    where, key = place_of_rows(list(listed))
    rows = _files(spark, list(listed), schema, fields, where)
    rows = rows.withColumn(POS, sf.col("_metadata.row_index"))
    bases = pa.array([w.base for w in plan.touched], pa.int64())
    known = {key(path): partition for path, partition in listed.items()}
    rows = rows.join(sf.broadcast(_listed(spark, known, bases, schema, fields)), PATH)
    weight = sf.col(BASE)
    marks = mark_table(plan.touched, key)
    if marks.num_rows:
        rows = rows.join(spark.createDataFrame(marks), [PATH, POS], "left")
        weight = weight + sf.coalesce(sf.col(MARK), sf.lit(0))
    rows = named(rows, fields, weight.cast("bigint").alias(WEIGHT))
    return rows.where(f"{quote(WEIGHT)} <> 0")


def _feed_rows(
    spark: SparkSession,
    plan: DeltaWindow,
    sign: int,
    schema: DeltaSchema,
    fields: Sequence[DeltaField],
) -> DataFrame:
    from pyspark.sql import functions as sf

    feeds = {feed.file.path: feed.file.partition for feed in plan.feeds if feed.sign == sign}
    where, key = place_of_rows(list(feeds))
    rows = _files(spark, list(feeds), schema, fields, where, extra=(CHANGE_TYPE,))
    bases = pa.array([sign] * len(feeds), pa.int64())
    known = {key(path): partition for path, partition in feeds.items()}
    rows = rows.join(sf.broadcast(_listed(spark, known, bases, schema, fields)), PATH)
    added = sf.col(CHANGE_TYPE).isin("insert", "update_postimage")
    weight = sf.when(added, sf.col(BASE)).otherwise(-sf.col(BASE))
    return named(rows, fields, weight.cast("bigint").alias(WEIGHT))


def named(rows: DataFrame, fields: Sequence[DeltaField], *more: Column) -> DataFrame:
    """The columns `__grebe_c<i>` by the names of the fields."""
    from pyspark.sql import functions as sf

    names = [sf.col(made(f"c{i}")).alias(field.name) for i, field in enumerate(fields)]
    return rows.select(*names, *more)


def _files(
    spark: SparkSession,
    paths: Sequence[str],
    schema: DeltaSchema,
    fields: Sequence[DeltaField],
    where: Column,
    extra: Sequence[str] = (),
) -> DataFrame:
    """The files' own columns, with what tells each row's file."""
    return stored_columns(spark, paths, schema, fields, extra).withColumn(PATH, where)


def stored_columns(
    spark: SparkSession,
    paths: Sequence[str],
    schema: DeltaSchema,
    fields: Sequence[DeltaField],
    extra: Sequence[str] = (),
) -> DataFrame:
    """The files' own columns as `__grebe_c<i>` in the wanted types, and Spark's `_metadata`."""
    from pyspark.sql import functions as sf
    from pyspark.sql.types import StringType, StructType
    from pyspark.sql.types import StructField as Part

    stored = {i: f for i, f in enumerate(fields) if not schema.is_partition(f)}
    parts = [_struct_field(field, by_number=schema.by_number) for field in stored.values()]
    shape = StructType([*parts, *(Part(name, StringType(), True) for name in extra)])
    reader = spark.read.schema(shape).option("datetimeRebaseMode", "CORRECTED")
    reader = reader.option("int96RebaseMode", "CORRECTED")
    files = reader.parquet(*[escape_glob(path) for path in paths])
    columns = [
        sf.col(quote(field.physical)).cast(_logical(field.type)).alias(made(f"c{i}"))
        for i, field in stored.items()
    ]
    return files.select(*columns, *extra, "_metadata")


def _listed(
    spark: SparkSession,
    files: Mapping[str, Mapping[str, str | None]],
    bases: pa.Array,
    schema: DeltaSchema,
    fields: Sequence[DeltaField],
) -> DataFrame:
    """One row per file: its base weight, and the values of the partition columns."""
    columns: dict[str, pa.Array] = {
        PATH: pa.array(list(files), pa.string()),
        BASE: bases,
    }
    types = {PATH: "string", BASE: "bigint"}
    for index, field in enumerate(fields):
        if schema.is_partition(field):
            values = [partition_value(field, p.get(field.physical)) for p in files.values()]
            columns[made(f"c{index}")] = pa.array(values, arrow_type(field.type))
            types[made(f"c{index}")] = text_of(field.type)
    return to_frame(spark, pa.table(columns), types)


def _struct_field(field: DeltaField, *, by_number: bool) -> StructField:
    from pyspark.sql.types import StructField as Part

    notes = {_FIELD_ID: field.field_id} if by_number and field.field_id is not None else None
    return Part(field.physical, _physical(field.type, by_number=by_number), True, notes)


def _physical(kind: Type, *, by_number: bool) -> DataType:
    """The Spark type with the names that the files use."""
    from pyspark.sql import types as st

    match kind:
        case DeltaPrimitive():
            return st.DataType.fromDDL(text_of(kind))
        case DeltaStruct(fields):
            return st.StructType([_struct_field(f, by_number=by_number) for f in fields])
        case Array(element):
            return st.ArrayType(_physical(element, by_number=by_number), True)
        case DeltaMap(key, value):
            return st.MapType(
                _physical(key, by_number=by_number), _physical(value, by_number=by_number), True
            )


def _logical(kind: Type) -> DataType:
    """The Spark type with the names that the table uses."""
    from pyspark.sql import types as st

    match kind:
        case DeltaPrimitive():
            return st.DataType.fromDDL(text_of(kind))
        case DeltaStruct(fields):
            return st.StructType([st.StructField(f.name, _logical(f.type), True) for f in fields])
        case Array(element):
            return st.ArrayType(_logical(element), True)
        case DeltaMap(key, value):
            return st.MapType(_logical(key), _logical(value), True)


def read_version(
    spark: SparkSession, root: str, version: int, fields: Sequence[DeltaField]
) -> DataFrame:
    """All rows of a version in the columns asked for, by Delta's own reader."""
    from pyspark.sql import functions as sf

    frame = spark.read.format("delta").option("versionAsOf", version).load(root)
    return frame.select(*[sf.col(quote(field.name)).alias(field.name) for field in fields])
