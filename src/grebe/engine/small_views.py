"""A view of few rows is written anew rather than merged.

That leaves one small file instead of one for every refresh, and needs no join to find what changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grebe.engine.writing import expected
from grebe.errors import CheckFailedError
from grebe.formats.base import ACTION, WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa


def merged(stored: pa.Table, rows: pa.Table, on: Sequence[str]) -> pa.Table | None:
    """The stored rows after the actions of ``rows``; None for types that are left to Spark.

    Raises:
        CheckFailedError: the stored rows contradict the change.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not all(_is_plain(field.type) for field in stored.schema):
        return None
    actions = {
        key: action
        for key, action in zip(_keys(rows, on), rows[ACTION].to_pylist(), strict=True)
        if action != "insert"
    }
    matched = [actions.get(key) for key in _keys(stored, on)]
    _check(rows, Counter(action for action in matched if action))
    kept = stored.filter(pa.array([action is None for action in matched], pa.bool_()))
    new = rows.filter(pc.not_equal(rows[ACTION], "delete")).select(stored.column_names)
    return pa.concat_tables([kept, new.cast(stored.schema)])


def repeated(rows: pa.Table) -> pa.Table:
    """Rows as often as their weights say, without the weights."""
    import pyarrow as pa

    weights = rows[WEIGHT].to_pylist()
    places = [place for place, weight in enumerate(weights) for _ in range(weight)]
    return rows.drop_columns([WEIGHT]).take(pa.array(places, pa.int64()))


def _keys(table: pa.Table, on: Sequence[str]) -> list[tuple[object, ...]]:
    columns = [_values(table[name]) for name in on]
    return list(zip(*columns, strict=True)) if on else [()] * table.num_rows


def _values(column: pa.ChunkedArray) -> list[object]:
    import pyarrow as pa

    # As days: Spark has dates outside of the years that Python knows.
    values: list[object] = (
        column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
    ).to_pylist()
    return values


def _is_plain(kind: pa.DataType) -> bool:
    """Whether equal values of a type are the same value, in Python as in SQL, and come back so."""
    import pyarrow.types as pt

    exact = (pt.is_integer, pt.is_string, pt.is_large_string, pt.is_boolean, pt.is_date32)
    return any(test(kind) for test in (*exact, pt.is_decimal))


def _check(rows: pa.Table, found: Counter[str]) -> None:
    counts = expected(rows)
    for action in ("update", "delete"):
        wanted = counts.get(action, 0)
        if wanted != found[action]:
            raise CheckFailedError(
                "stored rows contradict the change",
                detail=f"{wanted} stored rows should be {action}d, {found[action]} were found",
                hint="rebuild the view, and report this with its definition",
                step="write",
            )
