"""Several writes as the one that a commit can hold. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grebe.errors import InternalError
from grebe.formats.base import ACTION, Append, Merge, Overwrite, Rows, Write
from grebe.sql_text import quote

if TYPE_CHECKING:
    import pyarrow as pa


def folded(writes: Sequence[Write]) -> Write | None:
    """One write that does what the list does in order; None for no write at all.

    Delta has no commit of several statements, so rows that are appended join the write before.
    """
    whole: Write | None = None
    for write in writes:
        match whole, write:
            case None, _:
                whole = write
            case Overwrite(), Append():
                whole = Overwrite(_together(whole.rows, write.rows))
            case Append(), Append():
                whole = Append(_together(whole.rows, write.rows))
            case Merge(unique=False), Append():
                whole = replace(whole, rows=_together(whole.rows, _as_inserts(write.rows)))
            case _:
                kinds = f"{type(whole).__name__} and {type(write).__name__}"
                raise InternalError.broken(f"{kinds} cannot be one commit of a Delta table")
    return whole


def _together(first: Rows, second: Rows) -> Rows:
    import pyarrow as pa

    if first.arrow is not None and second.arrow is not None:
        names = first.arrow.column_names
        tables = [first.arrow, second.arrow.select(names)]
        return Rows(arrow=pa.concat_tables(tables, promote_options="permissive"))
    if first.sql is not None and second.sql is not None:
        return Rows(sql=f"({first.sql}) UNION ALL BY NAME ({second.sql})")
    raise InternalError.broken("rows on the driver and rows of a query in one commit")


def _as_inserts(rows: Rows) -> Rows:
    import pyarrow as pa

    if rows.arrow is not None:
        actions = pa.repeat(pa.scalar("insert"), rows.arrow.num_rows)
        return Rows(arrow=rows.arrow.append_column(ACTION, actions))
    return Rows(sql=f"SELECT *, 'insert' AS {quote(ACTION)} FROM ({rows.sql})")


def cast_rows(rows: pa.Table, types: dict[str, pa.DataType], *, action: bool) -> pa.Table:
    """The rows with every column of the table, in its order and types, and their action."""
    import pyarrow as pa

    columns = {name: rows[name].cast(kind) for name, kind in types.items()}
    if action:
        columns[ACTION] = rows[ACTION].cast(pa.string())
    return pa.table(columns)
