"""A view of few rows is written anew rather than merged.

That leaves one small file instead of one for every refresh, and needs no join to find what changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from grebe import thresholds
from grebe.engine.small_runner import SmallRunner, has_duckdb
from grebe.engine.writing import expected
from grebe.errors import CheckFailedError
from grebe.formats.base import ACTION, WEIGHT
from grebe.sql_text import made, quote

if TYPE_CHECKING:
    import pyarrow as pa

_PLACE: Final = made("place")


def merged(stored: pa.Table, rows: pa.Table, on: Sequence[str]) -> pa.Table | None:
    """The stored rows after the actions of ``rows``; None for types that are left to Spark.

    Raises:
        CheckFailedError: the stored rows contradict the change.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not all(_is_key(stored.schema.field(name).type) for name in on):
        return None
    if not all(_is_kept(field.type) for field in stored.schema):
        return None
    if stored.num_rows > thresholds.LISTED_ROWS and has_duckdb():
        return _joined(stored, rows, on)
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


def _joined(stored: pa.Table, rows: pa.Table, on: Sequence[str]) -> pa.Table:
    """The same by a join: of many rows a list takes longer."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    replacing = rows.filter(pc.not_equal(rows[ACTION], "insert")).select([*on, ACTION])
    marks = replacing.group_by([*on, ACTION]).aggregate([])
    keys = stored.select(list(on)).append_column(_PLACE, pa.array(np.arange(stored.num_rows)))
    runner = SmallRunner.opened()
    try:
        left, right = runner.put("stored", keys), runner.put("marks", marks)
        names = [quote(name, "duckdb") for name in on]
        same = " AND ".join(f"s.{name} IS NOT DISTINCT FROM m.{name}" for name in names) or "TRUE"
        found = runner.connection.execute(
            f"SELECT s.{_PLACE} AS place, m.{ACTION} AS action FROM {left} AS s"
            f" JOIN {right} AS m ON {same}"
        ).to_arrow_table()
    finally:
        runner.close()
    _check(rows, Counter(found["action"].to_pylist()))
    stays = np.ones(stored.num_rows, bool)
    stays[found["place"].to_numpy()] = False
    new = rows.filter(pc.not_equal(rows[ACTION], "delete")).select(stored.column_names)
    return pa.concat_tables([stored.filter(pa.array(stays)), new.cast(stored.schema)])


def repeated(rows: pa.Table) -> pa.Table:
    """Rows as often as their weights say, without the weights."""
    import numpy as np
    import pyarrow as pa

    weights = rows[WEIGHT].to_numpy()
    whole = rows.drop_columns([WEIGHT])
    if bool((weights == 1).all()):
        return whole
    return whole.take(pa.array(np.repeat(np.arange(len(weights)), weights)))


def _keys(table: pa.Table, on: Sequence[str]) -> list[tuple[object, ...]]:
    columns = [_values(table[name]) for name in on]
    return list(zip(*columns, strict=True)) if on else [()] * table.num_rows


def _values(column: pa.ChunkedArray) -> list[object]:
    import pyarrow as pa

    # As numbers: Spark has dates outside of the years that Python knows.
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    values: list[object] = column.to_pylist()
    return values


def _is_key(kind: pa.DataType) -> bool:
    """Whether equal values of a type are the same value, of moments as well."""
    import pyarrow.types as pt

    return _is_plain(kind) or bool(pt.is_timestamp(kind))


def _is_kept(kind: pa.DataType) -> bool:
    """Whether values of a type can be handed on as they are."""
    import pyarrow.types as pt

    flat = (pt.is_floating, pt.is_timestamp, pt.is_binary)
    return _is_plain(kind) or any(test(kind) for test in flat)


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
