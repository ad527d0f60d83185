"""What Spark's catalogs know under a name: for formats whose catalog cannot be read directly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from grebe.errors import StepFailedError
from grebe.formats.base import holds_view
from grebe.model import TableName
from grebe.sql_text import literal, quote

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


def described_view(spark: SparkSession, name: str) -> str | None:
    """The statement behind a quoted name; None when there is no such name."""
    from pyspark.errors import AnalysisException

    try:
        return str(spark.sql(f"SHOW CREATE TABLE {name}").collect()[0][0])
    except AnalysisException:
        return None


def is_table(spark: SparkSession, name: str) -> bool:
    """Whether a quoted name is a table's, not a view's."""
    text = described_view(spark, name)
    return text is not None and not re.match(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?VIEW", text, re.I)


def tables_beside(spark: SparkSession, name: str, prefix: str) -> list[str]:
    """The tables in the schema of a quoted name that begin with a text, sorted."""
    rows = spark.sql(f"SHOW TABLES IN {name.rpartition('.')[0]}").collect()
    return sorted(row["tableName"] for row in rows if row["tableName"].startswith(prefix))


def run(spark: SparkSession, statement: str) -> list[Row]:
    """The rows of one statement; what Spark says against it is told in one line."""
    try:
        return spark.sql(statement).collect()
    except Exception as error:
        detail = str(error).split("\n", maxsplit=1)[0]
        raise StepFailedError("a statement failed", detail=f"{statement}: {detail}") from error


def set_properties(spark: SparkSession, name: str, properties: Mapping[str, str]) -> None:
    """Put these beside the other properties of a table with a quoted name."""
    items = ", ".join(f"{literal(key)} = {literal(properties[key])}" for key in sorted(properties))
    run(spark, f"ALTER TABLE {name} SET TBLPROPERTIES ({items})")


def stored_in(
    spark: SparkSession, catalog: str, known_as: str, schema: str | None
) -> list[TableName]:
    """The storage tables in a catalog that Spark has; ``known_as`` is its name there."""
    schemas = [schema] if schema is not None else list(_schemas(spark, known_as))
    return [
        TableName(catalog, own, name)
        for own in schemas
        for name in _tables(spark, f"{quote(known_as)}.{_quoted(own)}")
        if holds_view(name)
    ]


def _schemas(spark: SparkSession, catalog: str, below: str | None = None) -> Iterator[str]:
    """Every schema of a catalog, nested ones dotted."""
    place = quote(catalog) if below is None else f"{quote(catalog)}.{_quoted(below)}"
    for row in _listed(spark, f"SHOW NAMESPACES IN {place}", below):
        schema = str(row[0]).replace("`", "")
        if below is None or schema.startswith(f"{below}."):
            yield schema
            yield from _schemas(spark, catalog, schema)


def _tables(spark: SparkSession, schema: str) -> list[str]:
    return sorted(row["tableName"] for row in run(spark, f"SHOW TABLES IN {schema}"))


def _listed(spark: SparkSession, statement: str, below: str | None) -> list[Row]:
    """What a catalog lists; nothing where it has no deeper level."""
    try:
        return run(spark, statement)
    except StepFailedError:
        if below is None:
            raise
        return []


def _quoted(schema: str) -> str:
    return ".".join(quote(part) for part in schema.split("."))
