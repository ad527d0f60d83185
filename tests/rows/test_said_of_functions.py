"""What can be said of a function, and what is refused, with its code and what to do about it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from grebe.errors import DefinitionError
from grebe.udf import Fail, Retry, Skip, retry_all, said_by, skip_on_error, udf, vector
from grebe.worker.arrow_types import arrow_type


def plain(x: int) -> int:
    return x


class Uncallable:
    pass


def many(*xs: int) -> int:
    return len(xs)


def nothing() -> int:
    return 1


def untyped(x: int):  # type: ignore[no-untyped-def]  # noqa: ANN201
    return x


def odd(x: int) -> threading.Thread:
    raise NotImplementedError


def mixed(x: pa.Array, y: pd.Series) -> pa.Array:
    return x


def batch(rows: pa.RecordBatch) -> pa.Array:
    return rows.column(0)


def batch_and_more(rows: pa.RecordBatch, x: pa.Array) -> pa.Array:
    return x


REFUSED: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: udf(7), "function-option", "not a function"),  # type: ignore[arg-type]
    (lambda: udf(Uncallable), "function-option", "cannot be called"),
    (lambda: udf(many), "function-option", "any number of inputs"),
    (lambda: udf(nothing), "function-without-inputs", "no parameters"),
    (lambda: udf(untyped), "function-type", "is not known"),
    (lambda: udf(odd), "function-type", "is not known"),
    (lambda: udf(plain, returns="interval day"), "function-type", "is not known"),
    (lambda: udf(plain, returns="array<"), "function-type", "is not known"),
    (lambda: udf(plain, returns="variant"), "function-type", "is not known"),
    (lambda: udf(batch), "function-type", "is not known"),
    (lambda: udf(mixed, returns="int"), "function-option", "several kinds"),
    (lambda: udf(batch_and_more, returns="int"), "function-option", "something beside it"),
    (lambda: udf(batch, returns="int", input_columns=["a"]), "function-option", "input_columns"),
    (lambda: udf(plain, input_columns=["a", "b"]), "function-option", "do not fit"),
    (lambda: udf(plain, batch_size=0), "function-option", "batch_size must be at least 1"),
    (lambda: udf(plain, min_batch_size=-1), "function-option", "min_batch_size must be at least 1"),
    (lambda: udf(plain, max_batch_size=0), "function-option", "max_batch_size must be at least 1"),
    (lambda: udf(plain, min_batch_size=9, max_batch_size=3), "function-option", "is above"),
    (lambda: udf(plain, batch_size=3, max_batch_size=3), "function-option", "fixes"),
    (lambda: udf(plain, batch_size=True), "function-option", "must be at least 1"),
    (lambda: udf(plain, checkpoint_size=0), "function-option", "checkpoint_size must be"),
    (lambda: udf(plain, in_flight=0), "function-option", "in_flight must be"),
    (lambda: udf(plain, timeout=0), "function-option", "timeout must be above 0"),
    (lambda: udf(plain, rate=-1), "function-option", "rate must be above 0"),
    (lambda: udf(plain, on_error=["skip"]), "function-option", "on_error"),  # type: ignore[list-item]
    (lambda: vector(0), "function-type", "no length"),
    (lambda: vector("3"), "function-type", "no length"),
    (lambda: Retry(attempts=0), "function-option", "attempts must be"),
    (lambda: Skip(ValueError("x")), "function-option", "not an exception's class"),  # type: ignore[arg-type]
    (lambda: Fail(match="("), "function-option", "not a regular expression"),
    (lambda: skip_on_error(max_skip_count=-1), "function-option", "max_skip_count"),
    (lambda: skip_on_error(max_skip_fraction=1.5), "function-option", "max_skip_fraction"),
    (lambda: retry_all(attempts="3"), "function-option", "attempts must be"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("make", "code", "text"), REFUSED)
def test_refused(make: Callable[[], Any], code: str, text: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        make()
    assert raised.value.code == code
    assert text in raised.value.message


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (int, "bigint"), (float, "double"), (str, "string"), (bool, "boolean"), (bytes, "binary"),
        (date, "date"), (datetime, "timestamp"), (list[float], "array<double>"),
        (str | None, "string"), (list[list[int]], "array<array<bigint>>"),
    ],
)  # fmt: skip
def test_types_of_annotations(kind: object, text: str) -> None:
    def one(x: int) -> object:
        return x

    one.__annotations__["return"] = kind
    assert udf(one).returns == text
    assert arrow_type(text) is not None


def test_what_cannot_travel_is_refused() -> None:
    lock = threading.Lock()

    def one(x: int) -> int:
        with lock:
            return x

    with pytest.raises(DefinitionError) as raised:
        udf(one, version="1").packed()
    assert raised.value.code == "function-not-packed"


def test_what_is_too_large_is_refused() -> None:
    import random

    data = random.Random(1).randbytes(100_000)

    def one(x: int) -> int:
        return data[x]

    with pytest.raises(DefinitionError) as raised:
        udf(one, version="1").packed()
    assert raised.value.code == "function-too-large"


def test_what_another_python_packed_is_refused() -> None:
    document = {**udf(plain, version="1").to_dict(), "python": "3.9"}
    with pytest.raises(DefinitionError) as raised:
        said_by(document)
    assert raised.value.code == "function-python"


def test_the_functions_of_a_view_need_neither_spark_nor_pandas_to_be_said() -> None:
    text = (
        "import sys, grebe\n"
        "@grebe.udf\n"
        "def one(x: int) -> int:\n    return x\n"
        "assert not {'pyspark', 'pandas', 'numpy.random'} & set(sys.modules), sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_a_function_can_still_be_called() -> None:
    assert udf(plain)(3) == 3
