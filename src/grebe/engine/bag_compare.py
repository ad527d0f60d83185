"""Two relations compared as bags, with float sums that are equal but for their rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from grebe.formats.base import WEIGHT
from grebe.formats.identity import consolidate_frame, key_sql
from grebe.sql_text import made, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RELATIVE: Final = 1e-9
"""Spark's float sums are not reproducible bit by bit."""
_PLACE: Final = made("place")
_PAIRED: Final = made("paired")


def differing(expected: DataFrame, found: DataFrame, noisy: Sequence[str], limit: int) -> list[str]:
    """Some of the rows that are missing or too many, as text; none when the bags are equal.

    Both sides are evaluated once: evaluated twice, a float sum could differ from itself. Rows that
    are not the same bit by bit pair off by their other columns, inside Spark, however many.
    """
    signed = expected.selectExpr("*", f"1 AS {WEIGHT}").unionAll(
        found.selectExpr("*", f"-1 AS {WEIGHT}")
    )
    rows = consolidate_frame(signed)
    if noisy:
        rows = _unpaired(rows, noisy)
    shown: list[str] = []
    for row in rows.limit(limit).collect():
        values = row.asDict(recursive=True)
        weight = values.pop(WEIGHT)
        shown += [f"{'missing' if weight > 0 else 'surplus'} {values}"] * abs(weight)
    return shown[:limit]


def _unpaired(rows: DataFrame, noisy: Sequence[str]) -> DataFrame:
    """The copies without those that pair off with a nearly equal one of the other side.

    Copies with the same other columns are numbered on each side by the values that may differ.
    """
    kinds = {field.name: field.dataType for field in rows.schema.fields}
    keys = {name: key_sql(quote(name), kinds[name]) for name in rows.columns if name != WEIGHT}
    floats = [name for name in noisy if kinds[name].simpleString() in ("float", "double")]
    fixed = [key for name, key in keys.items() if name not in noisy]
    order = [quote(name) if name in floats else keys[name] for name in noisy]
    values = [quote(name) for name in keys]
    copies = rows.selectExpr(
        f"explode(array_repeat(CAST(sign({WEIGHT}) AS INT), CAST(abs({WEIGHT}) AS INT)))"
        f" AS {WEIGHT}",
        *values,
    )
    side, pair = ", ".join([*fixed, WEIGHT]), ", ".join([*fixed, _PLACE])
    placed = copies.selectExpr(
        "*", f"row_number() OVER (PARTITION BY {side} ORDER BY {', '.join(order)}) AS {_PLACE}"
    )
    both = f"OVER (PARTITION BY {pair})"
    near = [f"COUNT(*) {both} = 2"]
    near += [
        _near(quote(name) if name in floats else keys[name], both, name in floats) for name in noisy
    ]
    marked = placed.selectExpr(*values, WEIGHT, f"{' AND '.join(near)} AS {_PAIRED}")
    return marked.where(f"NOT {_PAIRED}").selectExpr(*values, WEIGHT)


def _near(value: str, both: str, is_float: bool) -> str:
    """That a value is NULL in both rows of a pair, or the same, or nearly; NaN and Inf are."""
    known, low, high = (f"{call}({value}) {both}" for call in ("COUNT", "MIN", "MAX"))
    same = f"{low} = {high}"
    if is_float:
        # NaN is above Infinity in Spark: neither is near anything else.
        finite = f"{high} < DOUBLE('Infinity') AND {low} > DOUBLE('-Infinity')"
        limit = f"{_RELATIVE!r}D * GREATEST(ABS({low}), ABS({high}))"
        same = f"({same} OR {finite} AND {high} - {low} <= {limit})"
    return f"({known} = 0 OR {known} = 2 AND {same})"
