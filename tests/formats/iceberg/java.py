"""What other engines do to a table and Spark SQL has no statement for, by Iceberg's Java API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from formats.iceberg.tables import Table


def _loaded(spark: SparkSession, table: Table) -> Any:
    java_spark: Any = spark._jvm.org.apache.iceberg.spark.Spark3Util  # type: ignore[union-attr]
    return java_spark.loadIcebergTable(spark._jsparkSession, table.name.quoted())


def delete_where_id(spark: SparkSession, table: Table, number: int) -> None:
    """Commit an equality delete, as Flink writes one: rows whose first column is a number."""
    loaded = _loaded(spark, table)
    path = Path(loaded.location(), "data", f"equality-{number}.parquet")
    column = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table([pa.array([number])], schema=pa.schema([column])), path)
    iceberg: Any = spark._jvm.org.apache.iceberg  # type: ignore[union-attr]
    ids = spark.sparkContext._gateway.new_array(spark._jvm.int, 1)  # type: ignore[union-attr]
    ids[0] = 1
    delete = (
        iceberg.FileMetadata.deleteFileBuilder(loaded.spec())
        .ofEqualityDeletes(ids)
        .withPath(str(path))
        .withFormat("parquet")
        .withFileSizeInBytes(path.stat().st_size)
        .withRecordCount(1)
        .build()
    )
    loaded.newRowDelta().addDeletes(delete).commit()


def add_column_with_default(spark: SparkSession, table: Table, name: str, value: int) -> None:
    """Add an INT column that fills older rows with a value."""
    iceberg: Any = spark._jvm.org.apache.iceberg  # type: ignore[union-attr]
    kind = getattr(iceberg.types, "Types$IntegerType").get()
    literal = iceberg.expressions.Expressions.lit(value)
    _loaded(spark, table).updateSchema().addColumn(name, kind, literal).commit()
