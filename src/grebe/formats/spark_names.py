"""What Spark's catalogs know under a name: for formats whose catalog cannot be read directly."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def described_view(spark: SparkSession, name: str) -> str | None:
    """The statement behind a quoted name; None when there is no such name."""
    from pyspark.errors import AnalysisException

    try:
        return str(spark.sql(f"SHOW CREATE TABLE {name}").collect()[0][0])
    except AnalysisException:
        return None


def tables_beside(spark: SparkSession, name: str, prefix: str) -> list[str]:
    """The tables in the schema of a quoted name that begin with a text, sorted."""
    rows = spark.sql(f"SHOW TABLES IN {name.rpartition('.')[0]}").collect()
    return sorted(row["tableName"] for row in rows if row["tableName"].startswith(prefix))
