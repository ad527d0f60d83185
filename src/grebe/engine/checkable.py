"""Why the rows of a view cannot be compared with its query, where that is so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grebe.engine.choice import is_same_text
from grebe.engine.compiled_view import CompiledView
from grebe.engine.public_name import shown_storage
from grebe.engine.source_columns import CHANGED, changed
from grebe.engine.tables import Tables
from grebe.errors import CheckFailedError
from grebe.model import Frontier, Position

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def checked_frontier(
    view: CompiledView, tables: Tables, spark: SparkSession, position: Position | None
) -> Frontier:
    """The frontier that a view is to be checked at.

    Raises:
        CheckFailedError: it has none, or its rows were made from other columns than its text means.
    """
    if position is None or position.frontier is None:
        raise _elsewhere(view, tables, spark)
    points = position.frontier.by_source
    for name, used in view.sources:
        point = points.get(str(name))
        if point is None:  # of a parent whose definition is another one by now, say
            raise _unchecked(view, f'its rows were made without table "{name}"', "source-replaced")
        source = tables.source(name, lambda: spark)
        head = source.head()
        if point.identity != head.identity:
            continue
        columns = [item.column for item in used]
        if reason := changed(name, point, head, columns, source):
            raise _unchecked(view, reason.message, reason.code)
    return position.frontier


def _elsewhere(view: CompiledView, tables: Tables, spark: SparkSession) -> CheckFailedError:
    """Its text of now has no rows; those of before may be shown from another table."""
    shown = shown_storage(view.name, tables.shown(view.name, lambda: spark))
    before = tables.position(shown, lambda: spark) if shown else None
    if shown is None or before is None or before.frontier is None:
        return CheckFailedError(f'view "{view.name}" was never refreshed', code="never-refreshed")
    kept = tables.properties(shown, lambda: spark) or {}
    if is_same_text(view, kept):
        return _unchecked(view, "the tables that it reads have other columns than before", CHANGED)
    detail = "its rows show a former definition"
    return _unchecked(view, detail, "definition-changed")


def _unchecked(view: CompiledView, detail: str, code: str) -> CheckFailedError:
    return CheckFailedError(
        f'view "{view.name}" cannot be checked',
        detail=detail,
        hint=f"refresh it first: grebe refresh {view.name}",
        code=code,
    )
