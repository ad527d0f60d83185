"""Queries of Spark's dialect: their trees as Spark text, and on Spark the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlglot import parse_one

from compiler.databases import TABLES, bag, connect
from compiler.small_spark import small
from grebe.compiler.emit import emit
from grebe.compiler.lower import Lowered, Relation, lower

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {
    "INT": "int",
    "VARCHAR": "string",
    "DATE": "date",
    "DECIMAL(10,2)": "decimal(10,2)",
    "INT[]": "array<int>",
    "STRUCT(a INT, b STRUCT(c INT))": "struct<a:int,b:struct<c:int>>",
}
SOURCES = {
    name: Relation(name, tuple((column, TYPES[kind]) for column, kind in columns))
    for name, columns in TABLES.items()
}
SEED = 12  # all tables have rows
QUERIES = [
    text.strip()
    for text in (Path(__file__).parent / "queries_spark.sql").read_text().split(";\n")
    if text.strip()
]


def understood(sql: str) -> Lowered:
    found = lower(sql, dialect="spark", sources=SOURCES)
    assert found.root is not None, found.reasons
    return found


def text_of(found: Lowered) -> str:
    assert found.root is not None
    return emit(found.root, "spark", lambda leaf: leaf.table)


@pytest.mark.parametrize("sql", QUERIES)
def test_emitted_text_is_spark_sql(sql: str) -> None:
    assert parse_one(text_of(understood(sql)), dialect="spark")


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[SparkSession]:
    """The random tables as constants: most of a query's time is then its analysis."""
    connection = connect(SEED, rows=8)
    for name, relation in SOURCES.items():
        rows = connection.execute(f"SELECT * FROM {name}").fetchall()
        places = [
            f"CAST(col{i} AS {kind}) AS {c}" for i, (c, kind) in enumerate(relation.columns, 1)
        ]
        values = ", ".join(f"({', '.join(literal(value) for value in row)})" for row in rows)
        spark.sql(f"SELECT {', '.join(places)} FROM VALUES {values}").createOrReplaceTempView(name)
    with small(spark):
        yield spark


def literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return f"'{value}'"
        case date():
            return f"DATE '{value}'"
        case list():
            return f"array({', '.join(literal(item) for item in value)})"
        case dict():
            parts = (f"'{key}', {literal(item)}" for key, item in value.items())
            return f"named_struct({', '.join(parts)})"
    return str(value)


@pytest.mark.spark
def test_spark_gives_the_same_rows(tables: SparkSession) -> None:
    different = []
    for sql in QUERIES:
        text = text_of(understood(sql))
        expected = bag(tuple(row) for row in tables.sql(sql).collect())
        if bag(tuple(row) for row in tables.sql(text).collect()) != expected:
            different.append(f"{sql}\n{text}")
    assert not different
