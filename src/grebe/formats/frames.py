"""Arrow tables as Spark frames without a change of type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grebe.sql_text import quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def to_frame(spark: SparkSession, table: pa.Table, types: Mapping[str, str]) -> DataFrame:
    """The table as a frame whose columns have the Spark types that are given by name.

    Left alone, Spark takes every timestamp for one with a zone.
    """
    columns = [f"{quote(name)} {types[name]}" for name in table.column_names]
    return spark.createDataFrame(table, schema=", ".join(columns))


def same_types(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The table as a frame with the types that it says itself: no zone, no shift into one.

    Left alone, Spark reads a time without a zone as one of its own zone, where it may not exist.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    return spark.createDataFrame(table, schema=schema)
