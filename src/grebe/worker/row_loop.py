# ruff: noqa: ANN401  Arrow publishes no types
"""The loop of one task: inputs in, files of results out, a receipt for each file."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from grebe.worker import result_files
from grebe.worker.one_batch import Caller, CallFailed, Outputs, ready

RECEIPTS: Final = pa.schema(
    [
        ("file", pa.string()),
        ("rows", pa.int64()),
        ("failed", pa.int64()),
        ("seconds", pa.float64()),
        ("error", pa.string()),
    ]
)
RECEIPT_DDL: Final = "file string, rows bigint, failed bigint, seconds double, error string"
_LOOKS_EVERY: Final = 1.0
"""Seconds between two looks for the file that says stop."""
_AIM: Final = 1.0
"""Seconds that a batch is to take, where its size may change."""


def loop(said: Mapping[str, Any], function: bytes) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of a task, for `mapInArrow`: its first column is the key, the others the inputs."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        task = _task()
        try:
            bare = pickle.loads(function)
            known = {**said, "rules": bare["rules"]}
            caller = Caller(known, ready(known, bare["made"]), said["pace"])
        except Exception as error:
            yield _receipt("", 0, 0, 0.0, _trouble("setup", error, None))
            return
        work = _Work(said, caller, task)
        for batch in batches:
            yield from work.take(pa.Table.from_batches([batch]))
            if work.over:
                break
        yield from work.flush()
        if work.trouble:
            yield _receipt("", 0, 0, 0.0, work.trouble)

    return run


class _Work:
    """What a task has done and not written yet."""

    def __init__(self, said: Mapping[str, Any], caller: Caller, task: tuple[int, int]) -> None:
        self.said = said
        self.caller = caller
        self.task = task
        self.size = said["batch"][0]
        self.keys: list[Any] = []
        self.outputs: list[Outputs] = []
        self.seconds = 0.0
        self.since = time.monotonic()
        self.looked = 0.0
        self.failed = 0
        self.over = False
        self.trouble: str | None = None

    def take(self, rows: Any) -> Iterator[Any]:
        """Put rows through, and give a receipt for what was written meanwhile."""
        while rows.num_rows and not self._ends():
            piece, rows = rows.slice(0, self.size), rows.slice(self.size)
            self._put(piece)
            if self.over or self._is_due():
                yield from self.flush()

    def _put(self, piece: Any) -> None:
        inputs = piece.drop_columns([piece.column_names[0]])
        if not inputs.num_columns:
            raise ValueError("a function without inputs")
        started = time.monotonic()
        try:
            found = self.caller.run(inputs)
        except CallFailed as error:
            key = piece.column(0)[error.row].as_py()
            self.trouble = _trouble("call", error.error, key.hex(), error.attempts)
            self.over = True
            result_files.tell_to_end(self.said["folder"])
            return
        finally:
            took = time.monotonic() - started
            self.seconds += took
        self.keys.append(piece.column(0))
        self.outputs.append(found)
        self.failed += sum(failure is not None for failure in found.failures)
        self._grow(took)
        limit = self.said["skips"]
        if limit is not None and self.failed > limit:
            self.over = True

    def _grow(self, took: float) -> None:
        low, high = self.said["batch"]
        if took < _AIM / 2:
            self.size = min(high, self.size * 2)
        elif took > _AIM:
            self.size = max(low, self.size // 2)

    def _ends(self) -> bool:
        now = time.time()
        if self.over or (self.said["deadline"] and now > self.said["deadline"]):
            self.over = True
        elif now - self.looked > _LOOKS_EVERY:
            self.looked = now
            self.over = result_files.is_stopped(self.said["folder"])
        return self.over

    def _is_due(self) -> bool:
        held = sum(len(found.failures) for found in self.outputs)
        size = sum(found.values.nbytes for found in self.outputs)
        old = time.monotonic() - self.since > self.said["checkpoint_seconds"]
        full = held >= self.said["checkpoint"] or size >= self.said["checkpoint_bytes"]
        return bool(full or old)

    def flush(self) -> Iterator[Any]:
        """A receipt for what was done since the last one."""
        failures = [item for found in self.outputs for item in found.failures]
        if failures:
            keys = pa.concat_arrays([chunk for keys in self.keys for chunk in keys.chunks])
            values = pa.concat_arrays([found.values for found in self.outputs])
            name = result_files.write(self.said["folder"], self.task, keys, values, failures)
            failed = sum(item is not None for item in failures)
            yield _receipt(name, len(failures), failed, self.seconds, None)
        self.keys, self.outputs, self.seconds = [], [], 0.0
        self.since = time.monotonic()


def _task() -> tuple[int, int]:
    from pyspark import TaskContext

    context = TaskContext.get()
    return (context.partitionId(), context.attemptNumber()) if context else (0, 0)


def _trouble(where: str, error: BaseException, key: str | None, attempts: int = 1) -> str:
    told = {"where": where, "type": type(error).__name__, "message": str(error)[:2000]}
    return json.dumps({**told, "key": key, "attempts": attempts})


def _receipt(name: str, rows: int, failed: int, seconds: float, error: str | None) -> Any:
    values = [[name], [rows], [failed], [seconds], [error]]
    arrays = [pa.array(item, kind.type) for item, kind in zip(values, RECEIPTS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RECEIPTS)
