"""The user's own text over its sources as they were at a frontier."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from grebe.compiler.text.clock import CLOCK, ZONE, stopped
from grebe.compiler.text.verbatim import filled
from grebe.engine.compiled_view import CompiledView
from grebe.engine.tables import Tables
from grebe.errors import CheckFailedError
from grebe.formats.base import Source
from grebe.model import Frontier, SourcePoint, Version
from grebe.sql_text import PREFIX, made, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def query_at(
    view: CompiledView,
    columns: Sequence[tuple[str, str]],
    tables: Tables,
    spark: SparkSession,
    frontier: Frontier,
) -> DataFrame:
    """The user's own text at a frontier, with these columns: nothing that we made of it is run."""
    points, clock = frontier.by_source, dict(frontier.values).get(CLOCK)
    names: dict[str, str] = {}
    for place, (name, read) in enumerate(view.read):
        source = tables.source(name, lambda: spark)
        version = _version(view, source, tables, spark, points.get(str(name)))
        there = source.schema_at(version).by_id()
        frame = source.read_at(version, [column.id for column in read if column.id in there])
        names[str(name)] = made(f"verify_{place}")
        frame.createOrReplaceTempView(names[str(name)])
    text = filled(view.text, lambda table: quote(names[table]))
    if clock:
        text = stopped(text, datetime.fromisoformat(clock), str(spark.conf.get(ZONE, "UTC")))
    kinds = dict(columns)
    rows = spark.sql(text).toDF(*kinds)
    return rows.selectExpr(
        *(f"CAST({quote(name)} AS {kind}) AS {quote(name)}" for name, kind in kinds.items())
    )


def _version(
    view: CompiledView,
    source: Source,
    tables: Tables,
    spark: SparkSession,
    point: SourcePoint | None,
) -> Version:
    """The version to read a source at; versions of another table would say nothing."""
    if point is None or point.identity != source.head().identity:
        raise CheckFailedError(
            f'view "{view.name}" cannot be checked',
            detail=f'table "{source.name}" is another one than the one that the rows came from',
            hint="refresh it first",
            code="source-replaced",
        )
    if source.name.name.startswith(PREFIX):
        above = tables.position(source.name, lambda: spark)
        if above is not None and above.row_version == point.version and not above.foreign:
            return above.version or point.version  # the same rows, in a version that is kept
    return point.version
