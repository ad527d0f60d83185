"""Is a view what its query says? Asked of Spark: the query at the recorded versions, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grebe.compiler.algebra.facts import noise
from grebe.compiler.algebra.nodes import Verbatim
from grebe.engine.bag_compare import differing
from grebe.engine.checkable import checked_frontier
from grebe.engine.compiled_view import CompiledView
from grebe.engine.pinned_query import query_at
from grebe.engine.public import public_sql
from grebe.engine.rows.row_verify import verify_rows
from grebe.engine.tables import Tables
from grebe.errors import (
    CheckFailedError,
    ConfigError,
    GrebeError,
    InternalError,
    StepFailedError,
)
from grebe.formats.storage_errors import cause_of, disk_hint
from grebe.model import Position, SourcePoint, TableName
from grebe.spark.broken_rules import WITHOUT_CONSTRAINTS
from grebe.spark.tuning import tune
from grebe.sql_text import made, quote
from grebe.tabular import Printed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHOWN: Final = 10
_STORED: Final = made("verify_stored")
_BUCKETS: Final = 1_000_000
_UNHASHED: Final = ("map<", "variant")
"""Types that Spark has no hash of."""


@dataclass(frozen=True, slots=True, repr=False)
class Report(Printed):
    """A verified view: how many rows were compared, at which versions."""

    view: TableName
    rows: int
    sources: tuple[tuple[str, SourcePoint], ...]
    sample: float | None = None
    """The part of the keys that was compared; None: all rows."""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """One line for a person."""
        part = f", in {self.sample:.2%} of its keys" if self.sample else ""
        return f"{self.view} equals its query: {self.rows:,} rows{part}"


def verify(
    view: CompiledView, tables: Tables, spark: SparkSession, sample: float | None = None
) -> Report:
    """A report when the stored rows equal the query at the view's frontier.

    With a sample only the rows of some keys are compared, always the same ones.

    Raises:
        CheckFailedError: they differ; the detail shows rows, or says why nothing can be checked.
        StepFailedError: Spark could not run the query.
    """
    if sample is not None and not 0 < sample <= 1:
        raise ConfigError(
            f"a sample of {sample} is not a part of the rows",
            hint="give a number above 0 and up to 1, such as 0.01",
            code="sample",
        )
    if sample is not None and view.rows is not None:
        raise ConfigError(
            f'the row view "{view.name}" is verified as a whole',
            hint="verify it without a sample: that calls no function",
            code="sample",
        )
    position = tables.position(view.storage_name, lambda: spark)
    frontier = checked_frontier(view, tables, spark, position)
    try:
        with tune(spark, WITHOUT_CONSTRAINTS):
            rows = _compare(view, tables, spark, position or Position(frontier, None), sample)
    except GrebeError:
        raise
    except Exception as error:  # Spark's own, and those of the wire below it
        raise StepFailedError(
            f'view "{view.name}" could not be verified',
            detail=cause_of(error),
            hint=disk_hint(error) or "the query itself fails on this data, or Spark does",
            step="verify",
        ) from error
    return Report(view.name, rows, frontier.sources, sample)


def check_first_build(
    view: CompiledView, tables: Tables, spark: SparkSession, sample: float | None
) -> None:
    """Compare rows that nobody has seen yet with the user's own text; they go if they differ.

    Raises:
        CheckFailedError: they differ; the detail shows rows.
    """
    try:
        verify(view, tables, spark, sample)
    except CheckFailedError as error:
        tables.remove(view.storage_name, lambda: spark)
        raise CheckFailedError(
            f'view "{view.name}" was not built as its query says',
            detail=error.detail,
            hint="this is a defect of grebe: please report the definition; the policy full runs"
            " the text itself where no other rule is known",
            code="first-build-differs",
        ) from error


def _compare(
    view: CompiledView,
    tables: Tables,
    spark: SparkSession,
    position: Position,
    sample: float | None,
) -> int:
    """How many rows are as they should be: all of them, or an error."""
    if position.frontier is None:
        raise InternalError.broken("rows without a frontier")
    if view.rows is not None:
        return verify_rows(view, tables, spark, position)
    noisy = noisy_columns(view)
    keys = _sampled_by(view, noisy)
    expected = _part(
        _one_zero(query_at(view, view.columns, tables, spark, position.frontier)), keys, sample
    )
    found = _part(_one_zero(_stored(view, tables, spark, position)), keys, sample)
    shown = differing(expected, found, sorted(noisy), _SHOWN)
    if shown:
        failed = CheckFailedError(
            f'view "{view.name}" differs from its query', detail="; ".join(shown)
        )
        failed.differing = len(shown)
        raise failed
    return found.count()


def _sampled_by(view: CompiledView, noisy: frozenset[str]) -> list[str]:
    """The columns whose values choose a row: its key where that is public.

    Spark can leave out the other keys then before it adds anything up.
    """
    kinds = {
        name: kind
        for name, kind in view.columns
        if name not in noisy and not any(word in kind for word in _UNHASHED)
    }
    scope = [public for own, public in view.plan.outputs if own in view.plan.shape.scope]
    return [name for name in scope if name in kinds] or list(kinds)


def _part(rows: DataFrame, keys: Sequence[str], sample: float | None) -> DataFrame:
    """The rows of the sample; all of them where no column can choose."""
    if sample is None or not keys:
        return rows
    names = ", ".join(quote(name) for name in keys)
    return rows.where(f"pmod(xxhash64({names}), {_BUCKETS}) < {round(sample * _BUCKETS)}")


def noisy_columns(view: CompiledView) -> frozenset[str]:
    """Public columns whose values depend on the order in which rows were added up."""
    if isinstance(view.plan.definition, Verbatim):  # of a text nobody knows how it adds up
        return frozenset(name for name, kind in view.columns if kind in ("float", "double"))
    facts = noise(view.plan.definition, view.plan.types)
    return frozenset(public for own, public in view.plan.outputs if own in facts.columns)


def _one_zero(rows: DataFrame) -> DataFrame:
    """The rows with 0.0 for -0.0, which SQL calls equal: a view may store either."""
    kinds = dict(rows.dtypes)
    return rows.selectExpr(
        *(
            f"CASE WHEN {quote(name)} = 0 THEN CAST(0 AS {kinds[name]}) ELSE {quote(name)} END"
            f" AS {quote(name)}"
            if kinds[name] in ("float", "double")
            else quote(name)
            for name in rows.columns
        )
    )


def _stored(
    view: CompiledView, tables: Tables, spark: SparkSession, position: Position
) -> DataFrame:
    """What the public name shows, at the version that the frontier was read at."""
    if position.version is None:
        raise InternalError.broken("a frontier without a version")
    source = tables.source(view.storage_name, lambda: spark)
    columns = [column.id for column in source.schema_at(position.version).columns]
    source.read_at(position.version, columns).createOrReplaceTempView(_STORED)
    return spark.sql(public_sql(view, _STORED))
