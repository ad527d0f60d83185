"""Writing a tiny view anew means the same as merging into it."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest

from grebe import thresholds
from grebe.compiler.write.steps import COPIES
from grebe.engine.small_views import merged, repeated
from grebe.errors import CheckFailedError
from grebe.formats.base import ACTION, WEIGHT

SCHEMA = pa.schema([("k", pa.int64()), ("g", pa.string()), ("v", pa.decimal128(10, 2))])
Row = tuple[int | None, str | None, Decimal | None]


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def changes(rows: list[tuple[Row, str, int]]) -> pa.Table:
    columns = table([row for row, _, _ in rows])
    columns = columns.append_column(ACTION, pa.array([a for _, a, _ in rows], pa.string()))
    return columns.append_column(COPIES, pa.array([c for _, _, c in rows], pa.int64()))


def bag(found: pa.Table) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in found.to_pylist())


@pytest.fixture(params=["listed", "joined"], autouse=True)
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "joined":
        monkeypatch.setattr(thresholds, "LISTED_ROWS", -1)


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_replaced_by_their_key(seed: int) -> None:
    rng = random.Random(seed)
    keys = [(k, g) for k in (None, 1, 2) for g in (None, "a", "")]
    stored = {key: Decimal(rng.randint(0, 9)) for key in keys if rng.random() < 0.6}
    wanted = dict(stored)
    told: list[tuple[Row, str, int]] = []
    for key in keys:
        if rng.random() < 0.5:
            continue
        if key in stored and rng.random() < 0.5:
            del wanted[key]
            told.append(((*key, None), "delete", 1))
        else:
            wanted[key] = Decimal(rng.randint(10, 19))
            action = "update" if key in stored else "insert"
            told.append(((*key, wanted[key]), action, int(key in stored)))
    before = table([(*key, value) for key, value in stored.items()])
    after = merged(before, changes(told), ["k", "g"])
    assert after is not None
    assert after.schema == SCHEMA
    assert bag(after) == bag(table([(*key, value) for key, value in wanted.items()]))


def test_a_bag_takes_all_copies_and_puts_back_what_remains() -> None:
    row: Row = (1, None, Decimal(1))
    before = table([row, row, row, (2, "x", None)])
    told = changes([(row, "delete", 3), (row, "insert", 0), (row, "insert", 0)])
    after = merged(before, told, SCHEMA.names)
    assert after is not None
    assert bag(after) == Counter({row: 2, (2, "x", None): 1})


def test_the_only_row_of_a_total_has_no_key() -> None:
    after = merged(table([(1, "a", None)]), changes([((2, "b", None), "update", 1)]), [])
    assert after is not None
    assert bag(after) == Counter({(2, "b", None): 1})


@pytest.mark.parametrize(("action", "copies"), [("update", 1), ("delete", 2)])
def test_stored_rows_that_contradict_the_change_are_not_written_over(
    action: str, copies: int
) -> None:
    with pytest.raises(CheckFailedError, match="contradict"):
        merged(table([(1, "a", None)]), changes([((7, "a", None), action, copies)]), ["k"])


def test_values_that_python_compares_otherwise_are_left_to_spark() -> None:
    floats = pa.table({"k": pa.array([1.0]), ACTION: ["delete"], COPIES: [1]})
    assert merged(floats.select(["k"]), floats, ["k"]) is None


def test_moments_are_keys_to_the_microsecond() -> None:
    schema = pa.schema([("at", pa.timestamp("us", tz="UTC")), ("x", pa.float64())])
    before = pa.table([[1, 2, None], [-0.0, float("nan"), 3.0]], schema=schema)
    told = pa.table(
        [
            pa.array([2, None, 4], schema.field("at").type),
            [0.0, 1.5, 4.0],
            ["delete", "update", "insert"],
            [1, 1, 0],
        ],
        names=["at", "x", ACTION, COPIES],
    )
    after = merged(before, told, ["at"])
    assert after is not None
    assert after.schema == schema
    found = sorted(
        zip(after["at"].cast(pa.int64()).to_pylist(), after["x"].to_pylist(), strict=True), key=str
    )
    assert str(found) == "[(1, -0.0), (4, 4.0), (None, 1.5)]"


def test_rows_come_as_often_as_their_weights_say() -> None:
    rows = table([(1, "a", None), (2, "b", None)])
    found = repeated(rows.append_column(WEIGHT, pa.array([2, 1], pa.int64())))
    assert bag(found) == Counter({(1, "a", None): 2, (2, "b", None): 1})


def test_an_empty_view_is_written_too() -> None:
    empty = repeated(table([]).append_column(WEIGHT, pa.array([], pa.int64())))
    after = merged(empty, changes([((1, "a", None), "insert", 0)]), ["k"])
    assert after is not None
    assert bag(after) == Counter({(1, "a", None): 1})
    assert bag(merged(after, changes([((1, "a", None), "delete", 1)]), ["k"])) == Counter()
