"""What readers see against plain Spark's answer: two bags that Python compares, each computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from formats.contract.oracle import Bag, bag, difference

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def assert_same_rows(shown: DataFrame, expected: DataFrame) -> None:
    """What EXCEPT ALL says in both directions, which would compute each side four times."""
    assert difference(rows_of(shown), rows_of(expected)) == {}


def rows_of(frame: DataFrame) -> Bag:
    """The rows by the places of their columns; the two zeros are one, as SQL has it."""
    table = frame.toArrow()
    columns = [
        pc.add(column, 0.0) if pa.types.is_floating(column.type) else column
        for column in table.columns
    ]
    return bag(pa.table(columns, names=[f"c{place}" for place in range(len(columns))]))
