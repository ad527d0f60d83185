"""Is a row view what its query says? Proved without a call of any function.

Which rows there must be, and every column that is no function's, comes from the query itself. A
function's value belongs to today's inputs if the key that is stored beside it is their key, and is
unaltered if the checksum of its row is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grebe.compiler.rows import row_sql
from grebe.compiler.rows.row_layout import ERRORS, IS_SET, ROW, ROW_ID, SUM, RowLayout, key_column
from grebe.engine.bag_compare import differing
from grebe.engine.compiled_view import CompiledView
from grebe.engine.pinned_query import query_at
from grebe.engine.tables import Tables
from grebe.errors import CheckFailedError, InternalError
from grebe.model import Position
from grebe.sql_text import made, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHOWN: Final = 5
_STORED: Final = made("verify_stored")
_CHOSEN: Final = made("verify_chosen")
_QUERIED: Final = made("verify_queried")


def verify_rows(view: CompiledView, tables: Tables, spark: SparkSession, position: Position) -> int:
    """How many rows are as they should be: all of them, or an error.

    Raises:
        CheckFailedError: the detail shows what differs.
    """
    layout = view.rows
    if layout is None or position.frontier is None or position.version is None:
        raise InternalError.broken("a row view without rows is to be checked")
    source = tables.source(view.storage_name, lambda: spark)
    columns = [column.id for column in source.schema_at(position.version).columns]
    source.read_at(position.version, columns).createOrReplaceTempView(_STORED)
    found = query_at(view, layout.read, tables, spark, position.frontier)
    found.createOrReplaceTempView(_QUERIED)
    chosen = spark.sql(row_sql.chosen(layout, _QUERIED))
    chosen.createOrReplaceTempView(_CHOSEN)
    _refuse(view, "was altered", _altered(layout, spark))
    _refuse(view, "has a row id twice", _twice(spark))
    for words, here, there in _compared(layout, spark):
        shown = differing(here, there, [], _SHOWN)
        _refuse(view, words, shown)
    return int(spark.table(_STORED).count())


def _refuse(view: CompiledView, words: str, shown: list[str]) -> None:
    if shown:
        raise CheckFailedError(
            f'view "{view.name}" differs from its query',
            detail=f"{words}: {'; '.join(shown)}",
            code="integrity",
        )


def _altered(layout: RowLayout, spark: SparkSession) -> list[str]:
    """Rows whose columns are not those that were written together."""
    names = ", ".join(quote(name) for name, _ in layout.columns)
    rows = spark.sql(
        f"SELECT {ROW_ID}, {names} FROM {_STORED} WHERE NOT ({SUM} <=> {layout.checksum}) LIMIT {_SHOWN}"
    )
    return [_text(row) for row in rows.collect()]


def _twice(spark: SparkSession) -> list[str]:
    rows = spark.sql(
        f"SELECT {ROW_ID} FROM {_STORED} GROUP BY {ROW_ID} HAVING count(*) > 1 LIMIT {_SHOWN}"
    )
    return [_text(row) for row in rows.collect()]


def _compared(layout: RowLayout, spark: SparkSession) -> list[tuple[str, DataFrame, DataFrame]]:
    """What must be equal as bags: the chosen rows, and of set ones all that no function computes."""
    plain = [name for name, _ in layout.columns if layout.definition.function_of(name) is None]
    keys = [key_column(place) for place, _ in layout.functions]
    match = [layout.matched_on] if layout.matched_on != ROW else []
    hashes = [ROW, *match]
    every = ", ".join(f"hex({name}) AS {quote(name)}" for name in hashes)
    rows = (
        "rows are missing or too many",
        spark.sql(f"SELECT {every} FROM {_CHOSEN}"),
        spark.sql(f"SELECT {every} FROM {_STORED}"),
    )
    # A row without a key was skipped, which its errors say; any other key is that of its inputs.
    stored_keys = [
        f"hex(CASE WHEN s.{key} IS NULL AND coalesce(size(s.{ERRORS}), 0) > 0 THEN c.{key}"
        f" ELSE s.{key} END) AS {quote(key)}"
        for key in keys
    ]
    own = [f"s.{quote(name)}" for name in plain]
    wanted = [f"hex(c.{key}) AS {quote(key)}" for key in keys]
    theirs = [f"c.{quote(name)}" for name in plain]
    if not own and not keys:
        return [rows]
    on = layout.matched_on
    joined = (
        f"({row_sql.stored_numbered(layout).replace(row_sql.STORED, _STORED)}) AS n"
        f" JOIN {_STORED} AS s ON n.{ROW_ID} = s.{ROW_ID}"
        f" JOIN {_CHOSEN} AS c ON c.{on} = n.{on} AND c.{row_sql.COPY} = n.{row_sql.COPY}"
        f" WHERE s.{IS_SET}"
    )
    return [
        rows,
        (
            "values differ",
            spark.sql(f"SELECT s.{ROW_ID}, {', '.join([*theirs, *wanted])} FROM {joined}"),
            spark.sql(f"SELECT s.{ROW_ID}, {', '.join([*own, *stored_keys])} FROM {joined}"),
        ),
    ]


def _text(row: Any) -> str:  # noqa: ANN401  a row of Spark
    return ", ".join(f"{name} = {value!r}"[:120] for name, value in row.asDict().items())
