"""Is a view what its query says? Asked of Spark: the query at the recorded versions, both ways."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isclose, isnan
from typing import TYPE_CHECKING

from grebe.compiler.clock import CLOCK, stopped
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.facts import noise
from grebe.compiler.nodes import At, Scan
from grebe.compiler.pin import pinned
from grebe.engine.public import cast_outputs, public_sql
from grebe.engine.tables import Tables
from grebe.engine.views import View
from grebe.errors import CheckFailedError, InternalError
from grebe.formats.base import WEIGHT
from grebe.formats.identity import consolidate_frame, quoted
from grebe.model import Frontier, Position, SourcePoint, TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, object]

_SHOWN = 10
_COMPARED = 100_000
_RELATIVE = 1e-9
"""Spark's float sums are not reproducible bit by bit."""


@dataclass(frozen=True, slots=True)
class Report:
    """A verified view: how many rows were compared, at which versions."""

    view: TableName
    rows: int
    sources: tuple[tuple[str, SourcePoint], ...]


def verify(view: View, tables: Tables, spark: SparkSession) -> Report:
    """A report when the stored rows equal the query at the view's frontier.

    Raises:
        CheckFailedError: they differ; the detail shows rows, or says why nothing can be checked.
    """
    position = tables.position(view.storage_name, lambda: spark)
    if position is None or position.frontier is None:
        raise CheckFailedError(f'view "{view.name}" was never refreshed', code="never-refreshed")
    expected = _query(view, tables, spark, position.frontier)
    found = _stored(view, tables, spark, position)
    missing, surplus = _difference(_one_zero(expected), _one_zero(found))
    if len(missing) + len(surplus) > _COMPARED or not _only_rounding(
        missing, surplus, noisy_columns(view)
    ):
        shown = [f"missing {row}" for row in missing[:_SHOWN]]
        shown += [f"surplus {row}" for row in surplus[:_SHOWN]]
        raise CheckFailedError(
            f'view "{view.name}" differs from its query', detail="; ".join(shown)
        )
    return Report(view.name, found.count(), position.frontier.sources)


def noisy_columns(view: View) -> frozenset[str]:
    """Public columns whose values depend on the order in which rows were added up."""
    facts = noise(view.plan.definition, view.plan.types)
    return frozenset(public for own, public in view.plan.outputs if own in facts.columns)


def _one_zero(rows: DataFrame) -> DataFrame:
    """The rows with 0.0 for -0.0, which SQL calls equal: a view may store either."""
    kinds = dict(rows.dtypes)
    return rows.selectExpr(
        *(
            f"CASE WHEN {quoted(name)} = 0 THEN CAST(0 AS {kinds[name]}) ELSE {quoted(name)} END"
            f" AS {quoted(name)}"
            if kinds[name] in ("float", "double")
            else quoted(name)
            for name in rows.columns
        )
    )


def _difference(expected: DataFrame, found: DataFrame) -> tuple[list[Row], list[Row]]:
    """Rows that are missing and rows too many, from one evaluation of both sides.

    Evaluated twice, a float sum could differ from itself.
    """
    signed = expected.selectExpr("*", f"1 AS {WEIGHT}").unionAll(
        found.selectExpr("*", f"-1 AS {WEIGHT}")
    )
    rows = consolidate_frame(signed).limit(_COMPARED + 1).collect()
    missing: list[Row] = []
    surplus: list[Row] = []
    for row in rows:
        values = row.asDict(recursive=True)
        weight = values.pop(WEIGHT)
        side = missing if weight > 0 else surplus
        side += [values] * abs(weight)
    return missing, surplus


def _only_rounding(missing: Sequence[Row], surplus: Sequence[Row], noisy: Collection[str]) -> bool:
    """True when rows pair off by everything else, and order-dependent values are nearly equal."""
    if len(missing) != len(surplus):
        return False

    def order(row: Row) -> tuple[str, str]:
        fixed = {name: value for name, value in row.items() if name not in noisy}
        return repr(fixed), repr([row[name] for name in sorted(noisy)])

    pairs = zip(sorted(missing, key=order), sorted(surplus, key=order), strict=True)
    return all(_near(one, two, noisy) for one, two in pairs)


def _near(one: Row, two: Row, noisy: Collection[str]) -> bool:
    return all(
        _close(value, two[name]) if name in noisy else repr(value) == repr(two[name])
        for name, value in one.items()
    )


def _close(one: object, two: object) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return (isnan(one) and isnan(two)) or isclose(one, two, rel_tol=_RELATIVE)
    return one == two


def _query(view: View, tables: Tables, spark: SparkSession, frontier: Frontier) -> DataFrame:
    points, clock = frontier.by_source, dict(frontier.values).get(CLOCK)
    names: dict[str, str] = {}
    for place, (name, used) in enumerate(view.sources):
        source = tables.source(name, lambda: spark)
        frame = source.read_at(points[str(name)].version, [column.id for column in used])
        names[str(name)] = f"__grebe_verify_{place}"
        frame.createOrReplaceTempView(names[str(name)])

    def name_of(leaf: Leaf) -> str:
        if not isinstance(leaf, Scan):
            raise InternalError.broken(f"{type(leaf).__name__} in a definition")
        return quoted(names[leaf.table])

    body = emit(pinned(view.plan.definition, At.NEW), "spark", name_of)
    query = f"SELECT {cast_outputs(view)} FROM (\n{body}\n) AS query"
    return spark.sql(stopped(query, datetime.fromisoformat(clock)) if clock else query)


def _stored(view: View, tables: Tables, spark: SparkSession, position: Position) -> DataFrame:
    """What the public name shows, at the version that the frontier was read at."""
    if position.version is None:
        raise InternalError.broken("a frontier without a version")
    source = tables.source(view.storage_name, lambda: spark)
    columns = [column.id for column in source.schema_at(position.version).columns]
    source.read_at(position.version, columns).createOrReplaceTempView("__grebe_verify_stored")
    return spark.sql(public_sql(view, "__grebe_verify_stored"))
