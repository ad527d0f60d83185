"""One rule for "the same row", once in Arrow and once in Spark: both must give equal deltas."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.contract.oracle import bag, canonical
from grebe.formats.base import WEIGHT
from grebe.formats.frames import to_frame
from grebe.formats.identity import consolidate_arrow, consolidate_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN = float("nan")
FLOATS = [0.0, -0.0, NAN, float("inf"), float("-inf"), 1.5, None]
STRUCT = pa.struct([("x", pa.float64()), ("y", pa.string())])
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False, None]),
    "int": (pa.int32(), [0, 1, -(2**31), None]),
    "long": (pa.int64(), [0, 2**63 - 1, None]),
    "float": (pa.float32(), FLOATS),
    "double": (pa.float64(), [*FLOATS, 5e-324, 1.7976931348623157e308, 0.1, 0.30000000000000004]),
    "decimal": (pa.decimal128(38, 2), [Decimal("0.00"), Decimal("1.10"), Decimal("-1.10"), None]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        [dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), dt.datetime(2024, 3, 10, tzinfo=dt.UTC), None],
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        [dt.datetime(1900, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 3, 10, 2, 30), None],  # noqa: DTZ001
    ),
    "string": (pa.string(), ["", "a", "a ", "A", "é", "e\u0301", "😀", None]),
    "binary": (pa.binary(), [b"", b"\x00", b"\x00\xff", None]),
    "array": (pa.list_(pa.float64()), [[], [0.0], [-0.0], [NAN], [None], [NAN, None], None]),
    "struct": (STRUCT, [{"x": 0.0, "y": "a"}, {"x": -0.0, "y": "a"}, {"x": NAN, "y": None}, {"x": None, "y": None}, None]),
    "map": (
        pa.map_(pa.string(), pa.float64()),
        [[], [("a", 0.0), ("b", NAN)], [("b", NAN), ("a", 0.0)], [("a", -0.0), ("b", NAN)], [("a", None)], None],
    ),
    "deep": (
        pa.list_(pa.map_(pa.int32(), pa.struct([("k", pa.map_(pa.string(), pa.float32()))]))),
        [
            [[(1, {"k": [("f", 0.0), ("g", 1.0)]})]],
            [[(1, {"k": [("g", 1.0), ("f", 0.0)]})]],
            [[(1, {"k": [("f", -0.0), ("g", 1.0)]})]],
            [[(1, None)]],
            [None],
            None,
        ],
    ),
}  # fmt: skip


def every_pair(name: str) -> pa.Table:
    """Each value with weight 1 beside each with weight -1, told apart by a case number."""
    kind, values = VALUES[name]
    pairs = list(itertools.product(values, values))
    return pa.table(
        {
            "case": pa.array([i for i, _ in enumerate(pairs) for _ in range(2)], pa.int32()),
            "v": pa.array([value for pair in pairs for value in pair], kind),
            WEIGHT: pa.array([1, -1] * len(pairs), pa.int64()),
        }
    )


@pytest.mark.parametrize("name", VALUES)
def test_values_cancel_exactly_when_they_are_the_same(name: str) -> None:
    rows = every_pair(name)
    expected = Counter({row: weight for row, weight in bag(rows).items() if weight})
    assert bag(consolidate_arrow(rows)) == expected
    assert consolidate_arrow(rows).schema.names == rows.schema.names


def spark_text(name: str) -> str:
    """The Spark type of a kind of values."""
    return {
        "long": "bigint",
        "decimal": "decimal(38,2)",
        "array": "array<double>",
        "struct": "struct<x:double,y:string>",
        "map": "map<string,double>",
        "deep": "array<map<int,struct<k:map<string,float>>>>",
    }.get(name, name)


@pytest.mark.spark
def test_spark_gives_the_same_deltas_for_every_type(spark: SparkSession) -> None:
    tables = {name: every_pair(name) for name in VALUES}
    for name, rows in tables.items():
        types = {"case": "int", "v": spark_text(name), WEIGHT: "bigint"}
        frame = consolidate_frame(to_frame(spark, rows, types))
        assert bag(frame.toArrow()) == bag(consolidate_arrow(rows)), name


@given(
    st.lists(
        st.tuples(st.sampled_from(FLOATS), st.sampled_from(["", None, "a"]), st.integers(-2, 2)),
        max_size=12,
    )
)
def test_weights_add_up(rows: list[tuple[float | None, str | None, int]]) -> None:
    table = pa.table(
        {
            "x": pa.array([row[0] for row in rows], pa.float64()),
            "s": pa.array([row[1] for row in rows], pa.string()),
            WEIGHT: pa.array([row[2] for row in rows], pa.int64()),
        }
    )
    expected: Counter[Any] = Counter()
    for x, s, weight in rows:
        expected[canonical(x), s] += weight
    found = consolidate_arrow(table)
    assert bag(found) == Counter({row: weight for row, weight in expected.items() if weight})
    assert found.num_rows == len(bag(found))


def test_without_columns_only_the_sum_is_left() -> None:
    weights = pa.table({WEIGHT: pa.array([1, 1, -3], pa.int64())})
    assert consolidate_arrow(weights)[WEIGHT].to_pylist() == [-1]
    assert consolidate_arrow(weights.slice(0, 0)).num_rows == 0
