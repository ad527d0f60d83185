# ruff: noqa: ANN401  Arrow publishes no types
"""One batch of inputs through a person's function: values, and an error for each row that has none.

A batch that fails is halved until the bad rows stand alone, so a rule can speak of single rows
whatever kind of function it is. One that does not fit into memory is halved as well.
"""

from __future__ import annotations

import asyncio
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from grebe.worker.arrow_types import arrow_type

RETRY: Final = "retry"
SKIP: Final = "skip"
FAIL: Final = "fail"
_SHOWN: Final = 500
"""Characters of an error's message that are kept."""


class WrongResult(ValueError):  # noqa: N818  what a person reads in a list of errors
    """A function gave something else than it says: trying again would not help."""


class CallFailed(Exception):  # noqa: N818
    """A row failed, and no rule lets it be skipped."""

    def __init__(self, row: int, error: BaseException, attempts: int) -> None:
        super().__init__(f"{type(error).__name__}: {str(error)[:_SHOWN]}")
        self.row = row
        self.error = error
        self.attempts = attempts


@dataclass(frozen=True)
class Failure:
    """Why a row has no value."""

    type: str
    message: str
    attempts: int


@dataclass
class Outputs:
    """What a batch gave."""

    values: Any
    failures: list[Failure | None]


@dataclass
class Caller:
    """A function, ready to be called, and what was said of it."""

    said: Mapping[str, Any]
    """The plain words of the function's description."""
    function: Callable[..., Any]
    pace: float = 0.0
    """Calls a second, at most; 0: as many as there can be."""
    next_at: float = 0.0
    type: Any = field(init=False)

    def __post_init__(self) -> None:
        """The type is read once."""
        self.type = arrow_type(self.said["returns"])

    def run(self, inputs: Any) -> Outputs:
        """The values of a batch.

        Raises:
            CallFailed: a row failed and may not be skipped; ``row`` counts from the batch's begin.
        """
        if inputs.num_rows == 0:
            return Outputs(pa.array([], self.type), [])
        if self.said["kind"] in ("scalar", "async"):
            return self._rows(inputs)
        return self._pieces(inputs)

    # --- functions of single rows -----------------------------------------------------------------

    def _rows(self, inputs: Any) -> Outputs:
        columns = [_plain(inputs[name], kind) for name, kind in self._parameters(inputs)]
        rows = list(zip(*columns, strict=True))
        if self.said["kind"] == "async":
            found = asyncio.run(self._concurrently(rows))
        else:
            found = [self._tried(number, row, self._one) for number, row in enumerate(rows)]
        return _joined([_alone(value, self.type) for value, _ in found], found, self.type)

    def _one(self, row: Sequence[Any]) -> Any:
        self._wait(1)
        with _within(self.said["timeout"]):
            value = self.function(*row)
        return self._checked_one(value)

    def _checked_one(self, value: Any) -> Any:
        """The value as Arrow has it, so that a wrong one is the fault of its own row."""
        return self._checked(_to_arrow([value], self.type), 1)

    async def _concurrently(
        self, rows: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, Failure | None]]:
        places = asyncio.Semaphore(self.said["in_flight"])

        async def one(number: int, row: Sequence[Any]) -> tuple[Any, Failure | None]:
            async with places:
                return await self._tried_async(number, row)

        tasks = [asyncio.ensure_future(one(number, row)) for number, row in enumerate(rows)]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _tried_async(self, number: int, row: Sequence[Any]) -> tuple[Any, Failure | None]:
        for attempt in _counting():
            try:
                delay = self._due(1)
                if delay > 0:
                    await asyncio.sleep(delay)
                value = await asyncio.wait_for(self.function(*row), self.said["timeout"])
                return self._checked_one(value), None
            except Exception as error:
                wait, failure = self._judged(number, error, attempt)
                if failure is not None:
                    return None, failure
                await asyncio.sleep(wait)
        raise AssertionError

    # --- functions of batches ---------------------------------------------------------------------

    def _pieces(self, inputs: Any) -> Outputs:
        waiting, done = [(0, inputs)], list[tuple[Any, Failure | None]]()
        arrays: list[Any] = []
        while waiting:
            start, piece = waiting.pop()
            try:
                values, failure = self._tried(start, piece, self._batch, alone=piece.num_rows == 1)
            except _Halve:
                middle = piece.num_rows // 2
                waiting.append((start + middle, piece.slice(middle)))
                waiting.append((start, piece.slice(0, middle)))
                continue
            arrays.append(pa.nulls(piece.num_rows, self.type) if values is None else values)
            done += [(None, failure)] * piece.num_rows
        return _joined(arrays, done, self.type)

    def _batch(self, piece: Any) -> Any:
        self._wait(piece.num_rows)
        kind = self.said["kind"]
        if kind == "batch":
            given: list[Any] = [_one_record_batch(piece)]
        else:
            given = [_whole(piece[name]) for name, _ in self._parameters(piece)]
            if kind == "pandas":
                given = [item.to_pandas() for item in given]
        with _within(self.said["timeout"]):
            found = self.function(*given)
        return self._checked(_from_batch(found, self.type), piece.num_rows)

    # --- what both share --------------------------------------------------------------------------

    def _parameters(self, inputs: Any) -> list[tuple[str, str]]:
        return list(zip(inputs.column_names, self.said["parameters"], strict=True))

    def _tried(
        self, row: int, given: Any, call: Callable[[Any], Any], *, alone: bool = True
    ) -> tuple[Any, Failure | None]:
        for attempt in _counting():
            try:
                return call(given), None
            except Exception as error:
                if _is_memory(error) and not alone:
                    raise _Halve from error
                try:
                    wait, failure = self._judged(row, error, attempt)
                except CallFailed:
                    if alone:
                        raise
                    failure, wait = Failure("", "", attempt), 0.0
                if failure is not None:
                    if not alone:
                        raise _Halve from error
                    return None, failure
                time.sleep(wait)
        raise AssertionError

    def _judged(self, row: int, error: Exception, attempt: int) -> tuple[float, Failure | None]:
        """How long to wait before another attempt, or the failure of a row that is skipped."""
        for action, kinds, pattern, attempts, delay in self.said["rules"]:
            if not isinstance(error, tuple(kinds)) or not re.search(pattern, str(error)):
                continue
            if action == RETRY:
                if attempt < attempts and not isinstance(error, WrongResult):
                    return delay * 2 ** (attempt - 1) * (0.5 + random.random()), None
                continue
            if action == SKIP:
                return 0.0, Failure(type(error).__name__, str(error)[:_SHOWN], attempt)
            break
        raise CallFailed(row, error, attempt) from error

    def _checked(self, values: Any, rows: int) -> Any:
        if len(values) != rows:
            raise WrongResult(f"it gave {len(values)} values for {rows} rows")
        length = self.said["length"]
        if length is not None:
            sizes = pc.drop_null(pc.list_value_length(values))
            if len(sizes) and not pc.all(pc.equal(sizes, length)).as_py():
                wrong = next(size for size in sizes.to_pylist() if size != length)
                raise WrongResult(f"it gave a vector of length {wrong} instead of {length}")
        return values

    def _due(self, calls: int) -> float:
        """How long to wait for the rate's sake."""
        if not self.pace:
            return 0.0
        now = time.monotonic()
        due = max(self.next_at, now)
        self.next_at = due + calls / self.pace
        return due - now

    def _wait(self, calls: int) -> None:
        delay = self._due(calls)
        if delay > 0:
            time.sleep(delay)


class _Halve(Exception):  # noqa: N818
    pass


def _counting() -> Iterator[int]:
    number = 1
    while True:
        yield number
        number += 1


def ready(said: Mapping[str, Any], made: Any) -> Callable[..., Any]:
    """The function to call; of a class one object a process, set up when it is first needed.

    Workers live longer than jobs: what was loaded once serves the next refresh too.
    """
    if not said["is_class"]:
        function: Callable[..., Any] = made
        return function
    kept: dict[str, Any] = sys.__dict__.setdefault("_grebe_row_functions", {})
    if said["fingerprint"] not in kept:
        found = made()
        if hasattr(found, "setup"):
            found.setup()
        kept[said["fingerprint"]] = found
    ready_one: Callable[..., Any] = kept[said["fingerprint"]]
    return ready_one


@contextmanager
def _within(seconds: float | None) -> Iterator[None]:
    """Stops what takes longer, where a signal can: in the main thread."""
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        raise TimeoutError(f"it took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_memory(error: BaseException) -> bool:
    text = str(error)
    return isinstance(error, MemoryError) or ("CUDA" in text and "out of memory" in text)


def _plain(column: Any, kind: str) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if kind != "ndarray":
        return values
    import numpy as np

    return [None if value is None else np.asarray(value) for value in values]


def _whole(column: Any) -> Any:
    """One array of a column in pieces."""
    joined = column.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        joined = pa.concat_arrays(joined.chunks) if joined.num_chunks else pa.nulls(0, joined.type)
    return joined


def _one_record_batch(table: Any) -> Any:
    return pa.RecordBatch.from_arrays(
        [_whole(column) for column in table.columns], names=table.column_names
    )


def _to_arrow(values: list[Any], kind: Any) -> Any:
    try:
        found = pa.array(values, kind)
        if "int" in str(kind):  # a fraction is cut off without a word where the type is given
            pa.array(values).cast(kind)
        return found
    except (pa.ArrowException, TypeError, OverflowError, ValueError) as error:
        shown = next((value for value in values if value is not None), None)
        message = f"it gave {type(shown).__name__} where {kind} was said: {error}"
        raise WrongResult(message) from error


def _from_batch(found: Any, kind: Any) -> Any:
    if isinstance(found, pa.ChunkedArray):
        found = _whole(found)
    if not isinstance(found, pa.Array):
        if not hasattr(found, "__len__"):
            raise WrongResult(f"it gave {type(found).__name__} instead of a value for each row")
        return _to_arrow(found.tolist() if hasattr(found, "tolist") else list(found), kind)
    try:
        return found.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise WrongResult(f"it gave {found.type} where {kind} was said: {error}") from error


def _alone(value: Any, kind: Any) -> Any:
    return pa.nulls(1, kind) if value is None else value


def _joined(arrays: list[Any], found: Sequence[tuple[Any, Failure | None]], kind: Any) -> Outputs:
    values = pa.concat_arrays(arrays) if arrays else pa.array([], kind)
    return Outputs(values, [failure for _, failure in found])
