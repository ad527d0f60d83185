"""A worker that answers, dies, loses its Spark, hangs or takes too long: real processes, without Spark."""

from __future__ import annotations

import os
import queue
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grebe.config import load
from grebe.scheduler import worker_process
from grebe.scheduler.member_end import MemberEnd
from grebe.scheduler.out_of_reach import is_out_of_reach, is_spark_lost
from grebe.scheduler.run_groups import Member, PlannedRun
from grebe.scheduler.worker_process import WorkerProcess
from grebe.view_timing import Trigger

ANSWERS = """
import json, os, sys
for line in sys.stdin:
    order = json.loads(line)
    name = order.get("views", ["-"])[0]
    if name == "dies": os._exit(9)
    if name == "loses": os._exit(75)
    if order["op"] == "stop":
        print(json.dumps({"id": order["id"], "ends": [
            {"view": "slow", "outcome": "failed", "codes": ["step-failed"], "says": "cancelled"}]}), flush=True)
    elif name != "slow" and name != "hangs":
        print("not an answer", flush=True)
        print(json.dumps({"id": order["id"], "ends": [
            {"view": name, "outcome": "incremental", "codes": [], "says": order["trigger"],
             "seconds": 1.5, "run_id": "r"}]}), flush=True)
"""
Told = tuple[PlannedRun, list[MemberEnd]]


def run(
    name: str, *, timeout: float = 600.0, alone: bool = False, check: bool = False
) -> PlannedRun:
    trigger = Trigger.CHECK if check else Trigger.UPDATE
    return PlannedRun((Member(name, trigger),), 0.0, 1.0, timeout, alone, check)


@pytest.fixture
def told() -> queue.Queue[Told]:
    return queue.Queue()


@pytest.fixture
def worker(told: queue.Queue[Told], tmp_path: Path) -> Iterator[WorkerProcess]:
    def ended(planned: PlannedRun, ends: list[MemberEnd]) -> None:
        told.put((planned, ends))

    made = WorkerProcess(load(tmp_path), 2, ended, (sys.executable, "-c", ANSWERS))
    yield made
    made.close()


def heard(told: queue.Queue[Told]) -> MemberEnd:
    return told.get(timeout=60)[1][0]


def test_a_run_is_answered(worker: WorkerProcess, told: queue.Queue[Told]) -> None:
    worker.start(run("v"))
    assert heard(told) == MemberEnd("v", "incremental", (), "update", 1.5, "r")
    assert worker.is_idle


@pytest.mark.parametrize(("name", "code"), [("dies", "died"), ("loses", "spark-lost")])
def test_a_worker_that_ends_is_started_again(
    worker: WorkerProcess, told: queue.Queue[Told], name: str, code: str
) -> None:
    worker.start(run(name))
    assert heard(told).codes == (code,)
    worker.start(run("v"))
    assert heard(told).outcome == "incremental"
    assert worker.deaths == 1


def test_a_worker_that_stands_still_is_ended(
    worker: WorkerProcess, told: queue.Queue[Told]
) -> None:
    """Also where it is the only one: else its hand were never free again."""
    worker.start(run("hangs"))
    assert worker.process is not None
    os.kill(worker.process.pid, signal.SIGSTOP)
    worker.watch()
    assert told.empty()
    worker.heard -= worker_process.SILENCE + 1
    worker.watch()
    assert heard(told).codes == ("died",)


def test_who_stood_still_itself_ends_nobody(worker: WorkerProcess, told: queue.Queue[Told]) -> None:
    worker.start(run("hangs"))
    worker.heard -= worker_process.SILENCE + 1
    worker.looked -= worker_process.SILENCE + 1  # the loop was stopped, not the worker
    worker.watch()
    assert worker.process is not None
    assert told.empty()


def test_a_run_that_takes_too_long_is_interrupted(
    worker: WorkerProcess, told: queue.Queue[Told]
) -> None:
    worker.start(run("slow", timeout=-1.0))
    worker.watch()
    assert heard(told).codes == ("timed-out",)
    assert worker.process is not None


def test_a_run_that_cannot_be_interrupted_is_ended_with_its_worker(
    worker: WorkerProcess, told: queue.Queue[Told]
) -> None:
    worker.start(run("hangs", timeout=-1.0))
    process = worker.process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    worker.watch()
    for item in worker.running.values():
        assert item.stopped is not None
        item.stopped -= worker_process.AFTER_STOP + 1
    worker.watch()
    assert heard(told).codes == ("timed-out",)


def test_who_may_kill_a_worker_is_alone_in_it(
    worker: WorkerProcess, told: queue.Queue[Told]
) -> None:
    worker.start(run("hangs"))
    assert worker.has_room(run("v"))
    assert not worker.has_room(run("killer", alone=True))
    worker.start(run("hangs2-slow"))
    heard(told)
    assert not WorkerProcess(worker.settings, 0, lambda *_: None).has_room(run("v"))


def test_a_check_gives_way_to_a_refresh(worker: WorkerProcess, told: queue.Queue[Told]) -> None:
    worker.jobs = 1
    worker.start(run("slow", check=True))
    assert not worker.has_room(run("w", check=True))  # not to another check
    assert told.empty()
    assert not worker.has_room(run("v"))
    assert heard(told).codes == ("lease-held",)  # left out: it is due again at once
    assert worker.has_room(run("v"))


def test_a_process_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    made = WorkerProcess(load(tmp_path), 1, lambda *_: None, (str(tmp_path / "nothing"),))
    with pytest.raises(OSError, match="nothing"):
        made.start(run("v"))


def nested(make: Callable[[], BaseException]) -> BaseException:
    error = ValueError("a run failed")
    error.__cause__ = make()
    return error


@pytest.mark.parametrize(
    ("text", "away", "lost"),
    [
        ("[Errno 111] Connection refused", True, False), ("java.net.UnknownHostException: s3", True, False),
        ("could not connect to server", True, False), ("No space left on device", True, False),
        ("database is locked", True, False), ("Cannot call methods on a stopped SparkContext", True, True),
        ("java.lang.OutOfMemoryError: Java heap space", True, True), ("Answer from Java side is empty", True, True),
        ("[DIVIDE_BY_ZERO] Division by zero", False, False), ("cannot resolve column", False, False),
    ],
)  # fmt: skip
def test_what_says_that_something_was_away(text: str, away: bool, lost: bool) -> None:
    for error in (RuntimeError(text), nested(lambda: RuntimeError(text))):
        assert (is_out_of_reach(error), is_spark_lost(error)) == (away, lost)
