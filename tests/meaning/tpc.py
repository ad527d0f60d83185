"""The tables of TPC-H and TPC-DS in a lake, and their queries in Spark's dialect."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import parse_one

from compiler.tpc import open_benchmark, sources_of, texts_of
from grebe.config import Defaults
from grebe.engine.engine import Engine
from meaning.harness import Workshop

ROWS = 400
"""Rows of each table at most: the answers are compared, not measured."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark's tables, opened so that bare names are theirs."""

    workshop: Workshop
    texts: dict[int, str]
    columns: frozenset[str]
    tables: frozenset[str]

    @staticmethod
    def opened(workshop: Workshop, name: str) -> Benchmark:
        """The tables with a few rows, in a schema named like the benchmark."""
        connection = open_benchmark(name, 0.001 if name == "tpch" else 0.01)
        sources = sources_of(connection)
        spark = workshop.spark
        spark.sql(f"CREATE NAMESPACE lake.{name}")
        for table in sources:
            rows = connection.execute(f"SELECT * FROM {table} LIMIT {ROWS}").to_arrow_table()
            spark.createDataFrame(rows).writeTo(f"lake.{name}.{table}").using("iceberg").create()
        texts = {
            number: parse_one(text, dialect="duckdb").sql("spark", pretty=True)
            for number, text in texts_of(connection, name).items()
        }
        columns = {column for item in sources.values() for column, _ in item.columns}
        settings = replace(workshop.settings, defaults=Defaults("lake", name))
        plain = workshop.plain.newSession()
        plain.sql(f"USE lake.{name}")
        place = replace(
            workshop,
            settings=settings,
            plain=plain,
            schema=name,
            engine=Engine(settings, spark),
            answers={},
        )
        return Benchmark(place, texts, frozenset(columns), frozenset(sources))
