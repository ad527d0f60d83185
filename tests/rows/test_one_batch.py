"""What a worker does with one batch: every kind of function, every rule for errors."""

from __future__ import annotations

import asyncio
import base64
import pickle
import time
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grebe.udf import Fail, Retry, RowFunction, Skip, retry_transient, skip_on_error, udf, vector
from grebe.worker import result_files
from grebe.worker.one_batch import Caller, CallFailed, Failure, WrongResult, ready
from grebe.worker.row_loop import loop


def caller(function: RowFunction) -> Caller:
    """As a worker has it: from what is kept with the view's table."""
    said = function.to_dict()
    bare = pickle.loads(zlib.decompress(base64.b64decode(said["packed"])))
    said["rules"] = bare["rules"]
    return Caller(said, ready(said, bare["made"]), said["rate"])


def values(function: RowFunction, **columns: list[object]) -> list[Any]:
    found = caller(function).run(pa.table(columns)).values.to_pylist()
    assert isinstance(found, list)
    return found


@udf
def doubled(x: int) -> int:
    return x * 2


@udf(returns="bigint")
def added(x: pa.Array, y: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.add(x, y)


@udf(returns="string")
def upper(name: pd.Series) -> pd.Series:
    return name.str.upper()


@udf(returns="double")
def summed(batch: pa.RecordBatch) -> list[float]:
    return [float(sum(row.values())) for row in batch.to_pylist()]


@udf
async def slow(x: int) -> int:
    await asyncio.sleep(0.01)
    return x + 1


@udf(returns=vector(2))
class Pair:
    made = 0

    def setup(self) -> None:
        self.factor = 3.0

    def __call__(self, x: float) -> list[float]:
        return [x, x * self.factor]


@pytest.mark.parametrize(
    ("function", "columns", "expected"),
    [
        (doubled, {"x": [1, 2, 3]}, [2, 4, 6]),
        (added, {"x": [1, None], "y": [2, 3]}, [3, None]),
        (upper, {"name": ["a", "b"]}, ["A", "B"]),
        (summed, {"x": [1, 2], "y": [3, 4]}, [4.0, 6.0]),
        (slow, {"x": [1, 2]}, [2, 3]),
        (Pair, {"x": [1.0, 2.0]}, [[1.0, 3.0], [2.0, 6.0]]),
    ],
)
def test_every_kind_of_function(
    function: RowFunction, columns: dict[str, list[object]], expected: list[object]
) -> None:
    assert values(function, **columns) == expected
    assert values(function, **{name: [] for name in columns}) == []


def failing(rules: object, error: str = "ValueError('bad')") -> RowFunction:
    def one(x: int) -> int:
        if x < 0:
            raise eval(error)
        return x

    return udf(one, on_error=rules, version="1")  # type: ignore[arg-type,no-any-return]


def test_without_a_rule_an_error_ends_it_and_names_the_row() -> None:
    with pytest.raises(CallFailed, match="ValueError: bad") as raised:
        values(failing(()), x=[1, 2, -1, 3])
    assert raised.value.row == 2


@pytest.mark.parametrize("kind", ["scalar", "arrow", "pandas", "batch", "async"])
def test_a_bad_row_alone_is_skipped_whatever_the_kind(kind: str) -> None:
    found = caller(_picky(kind)).run(pa.table({"x": [1, 2, -1, 4, -5, 6, 7]}))
    assert found.values.to_pylist() == [1, 2, None, 4, None, 6, 7]
    wrong = Failure("ValueError", "below zero", 1)
    assert found.failures == [None, None, wrong, None, wrong, None, None]


def _picky(kind: str) -> RowFunction:
    def check(items: list[int]) -> list[int]:
        if min(items) < 0:
            raise ValueError("below zero")
        return items

    def scalar(x: int) -> int:
        return check([x])[0]

    async def waiting(x: int) -> int:
        return check([x])[0]

    def arrow(x: pa.Array) -> pa.Array:
        return pa.array(check(x.to_pylist()))

    def pandas(x: pd.Series) -> pd.Series:
        return pd.Series(check(x.tolist()))

    def batch(x: pa.RecordBatch) -> pa.Array:
        return pa.array(check(x.column("x").to_pylist()))

    made: dict[str, Callable[..., object]] = {
        "scalar": scalar, "async": waiting, "arrow": arrow, "pandas": pandas, "batch": batch,
    }  # fmt: skip
    found = udf(made[kind], returns="bigint", on_error=Skip(ValueError), version="1")
    assert found.kind == kind
    return found  # type: ignore[no-any-return]


def test_the_first_rule_that_fits_holds() -> None:
    rules = [Fail(match="fatal"), Skip(ValueError)]
    assert values(failing(rules), x=[-1, 1]) == [None, 1]
    with pytest.raises(CallFailed, match="fatal"):
        values(failing(rules, "ValueError('fatal')"), x=[-1, 1])
    with pytest.raises(CallFailed, match="KeyError"):
        values(failing(rules, "KeyError('k')"), x=[-1, 1])


def test_a_call_is_repeated_as_often_as_was_said(tmp_path: Path) -> None:
    log = tmp_path / "calls"

    def one(x: int) -> int:
        with log.open("a") as file:
            file.write("x")
        raise ConnectionError("gone")

    rules = [retry_transient(attempts=3, delay=0.001), Skip()]
    found = caller(udf(one, on_error=rules, version="1")).run(pa.table({"x": [1]}))
    assert log.read_text() == "xxx"
    assert found.failures == [Failure("ConnectionError", "gone", 3)]


def test_a_wrong_result_is_not_tried_again(tmp_path: Path) -> None:
    log = tmp_path / "calls"

    def one(x: int) -> list[float]:
        with log.open("a") as file:
            file.write("x")
        return [1.0] * x

    rules = [Retry(attempts=5, delay=0.001), skip_on_error()]
    function = udf(one, returns=vector(2), on_error=rules, version="1")
    found = caller(function).run(pa.table({"x": [2, 3]}))
    assert found.values.to_pylist() == [[1.0, 1.0], None]
    assert found.failures[1] == Failure(
        "WrongResult", "it gave a vector of length 3 instead of 2", 1
    )
    assert log.read_text() == "xx"


@pytest.mark.parametrize(
    ("given", "said"), [("'a'", "bigint"), ("1", "string"), ("1.5", "int"), ("2**70", "bigint")]
)
def test_a_value_of_another_type_is_an_error_of_its_row(given: str, said: str) -> None:
    def one(x: int) -> object:
        return eval(given)

    with pytest.raises(CallFailed) as raised:
        values(udf(one, returns=said, version="1"), x=[1])
    assert isinstance(raised.value.error, WrongResult)


def test_a_batch_with_too_few_values_is_an_error() -> None:
    def few(x: pa.Array) -> pa.Array:
        return x.slice(1)

    with pytest.raises(CallFailed, match="0 values for 1 rows"):
        values(udf(few, returns="bigint", version="1"), x=[1, 2, 3])


def test_what_does_not_fit_into_memory_is_halved() -> None:
    def hungry(x: pa.Array) -> pa.Array:
        if len(x) > 2:
            raise MemoryError
        return x

    assert values(udf(hungry, returns="bigint", version="1"), x=list(range(9))) == list(range(9))


def test_a_call_that_takes_too_long_is_stopped() -> None:
    def sleepy(x: int) -> int:
        if x:
            time.sleep(30)
        return x

    async def drowsy(x: int) -> int:
        if x:
            await asyncio.sleep(30)
        return x

    for function in (sleepy, drowsy):
        said = udf(function, timeout=0.05, on_error=Skip(TimeoutError), version="1")
        found = caller(said).run(pa.table({"x": [0, 1]}))
        assert found.values.to_pylist() == [0, None]
        assert found.failures[1] is not None
        assert found.failures[1].type == "TimeoutError"


def test_async_calls_wait_together_but_no_more_than_was_said() -> None:
    def counting(in_flight: int) -> int:
        busy, most = 0, 0

        async def one(x: int) -> int:
            nonlocal busy, most
            busy, most = busy + 1, max(most, busy + 1)
            await asyncio.sleep(0.001)
            busy -= 1
            return x

        said = udf(one, in_flight=in_flight, version="1").to_dict()
        Caller({**said, "rules": []}, one).run(pa.table({"x": list(range(50))}))
        return most

    assert counting(7) == 7
    assert counting(64) == 50


def test_a_rate_spreads_the_calls() -> None:
    made = caller(udf(lambda x: x, returns="bigint", name="same", rate=100.0, version="1"))
    made.next_at = 1e9
    waits = [made._due(1) for _ in range(3)]
    steps = [later - sooner for sooner, later in pairwise(waits)]
    assert all(step == pytest.approx(0.01, abs=0.001) for step in steps)


def test_a_class_is_set_up_once_in_a_process() -> None:
    counts: list[int] = []

    class Model:
        def setup(self) -> None:
            counts.append(1)

        def __call__(self, x: int) -> int:
            return x

    said = {**udf(Model, version="one-setup").to_dict(), "rules": []}
    for _ in range(3):
        ready(said, Model)
    assert counts == [1]


# --- the loop of a task ---------------------------------------------------------------------------


def batches(keys: list[bytes], xs: list[int]) -> list[pa.RecordBatch]:
    table = pa.table({"key": pa.array(keys, pa.binary()), "x": xs})
    return list(table.to_batches(max_chunksize=2))


def task(function: RowFunction, folder: Path, **more: object) -> dict[str, object]:
    said = function.to_dict()
    return {
        **said,
        "pace": 0.0, "folder": str(folder), "deadline": 0.0, "checkpoint_seconds": 30.0,
        "checkpoint_bytes": 64 << 20, **more,
    }  # fmt: skip


SKIPS = [("skip", (ValueError,), "", 1, 0.0)]


def receipts(
    said: dict[str, object],
    function: RowFunction,
    rows: list[pa.RecordBatch],
    rules: list[tuple[object, ...]] = SKIPS,
) -> list[dict[str, Any]]:
    run = loop(said, pickle.dumps({"made": function.made, "rules": rules}))
    return [row for batch in run(iter(rows)) for row in batch.to_pylist()]


def picky(x: int) -> int:
    if x < 0:
        raise ValueError("below zero")
    return x * 10


def test_receipts_name_files_that_hold_what_was_done(tmp_path: Path) -> None:
    function = udf(picky, checkpoint_size=4, batch_size=2, version="1")
    keys = [bytes([n]) for n in range(7)]
    found = receipts(task(function, tmp_path), function, batches(keys, [0, 1, -2, 3, 4, 5, 6]))
    assert [(item["rows"], item["failed"]) for item in found] == [(4, 1), (3, 0)]
    rows = [row for item in found for row in pq.read_table(tmp_path / item["file"]).to_pylist()]
    assert [row["key"] for row in rows] == keys
    assert [row["value"] for row in rows] == [0, 10, None, 30, 40, 50, 60]
    assert rows[2]["error"] == {"type": "ValueError", "message": "below zero", "attempts": 1}
    assert {result_files.rows_of(item["file"]) for item in found} == {4, 3}


def test_an_error_that_ends_it_keeps_what_was_done_before(tmp_path: Path) -> None:
    function = udf(picky, checkpoint_size=100, batch_size=2, version="1")
    said = task(function, tmp_path)
    found = receipts(said, function, batches([b"a", b"b", b"c", b"d"], [1, 2, 3, -4]), [])
    assert [item["rows"] for item in found] == [2, 0]
    assert '"key": "64"' in found[1]["error"]
    assert '"type": "ValueError"' in found[1]["error"]


def test_a_task_ends_when_told_or_when_its_time_is_over(tmp_path: Path) -> None:
    function = udf(picky, batch_size=1, version="1")
    late = task(function, tmp_path, deadline=1.0)
    assert receipts(late, function, batches([b"a"], [1])) == []
    result_files.tell_to_end(str(tmp_path))
    assert receipts(task(function, tmp_path), function, batches([b"a"], [1])) == []


def test_more_skipped_rows_than_allowed_end_a_task(tmp_path: Path) -> None:
    function = udf(picky, batch_size=1, on_error=skip_on_error(max_skip_count=1), version="1")
    found = receipts(
        task(function, tmp_path), function, batches([b"a", b"b", b"c", b"d"], [-1, -2, -3, -4])
    )
    assert sum(item["failed"] for item in found) == 2


def test_a_setup_that_fails_says_so(tmp_path: Path) -> None:
    class Broken:
        def setup(self) -> None:
            raise OSError("no model")

        def __call__(self, x: int) -> int:
            return x

    function = udf(Broken, version="broken-setup")
    run = loop(task(function, tmp_path), zlib.decompress(base64.b64decode(function.packed())))
    found = [row for batch in run(iter(batches([b"a"], [1]))) for row in batch.to_pylist()]
    assert '"where": "setup"' in found[0]["error"]
    assert "no model" in found[0]["error"]
