"""The worker as the loop sees it: a child process that is given runs, watched, and started again when it dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import IO, Any, Final

from grebe.config import Settings
from grebe.registry.activity_rows import CLAIM_SECONDS
from grebe.scheduler.member_end import DIED, TIMED_OUT, MemberEnd
from grebe.scheduler.run_groups import PlannedRun
from grebe.scheduler.work import SPARK_GONE
from grebe.view_timing import Trigger

SILENCE: Final = 2 * CLAIM_SECONDS
"""Seconds without a word after which a worker hangs."""
AFTER_STOP: Final = 30.0
"""Seconds that a run has to end after it was interrupted, before its worker is ended."""
COMMAND: Final = (sys.executable, "-m", "grebe.scheduler.work")
Ended = Callable[[PlannedRun, list[MemberEnd]], None]


class _Running:
    def __init__(self, run: PlannedRun, now: float) -> None:
        self.run = run
        self.begun = now
        self.stopped: float | None = None


class WorkerProcess:
    """One child; it is started at its first order."""

    def __init__(
        self, settings: Settings, jobs: int, ended: Ended, command: Sequence[str] = COMMAND
    ) -> None:
        self.settings = settings
        self.command = command
        self.jobs = jobs
        self.ended = ended
        self.process: subprocess.Popen[str] | None = None
        self.running: dict[int, _Running] = {}
        self.guard = threading.RLock()
        self.numbers = count(1)
        self.heard = 0.0
        self.looked = time.monotonic()
        self.deaths = 0

    @property
    def is_idle(self) -> bool:
        """True when it has nothing to do."""
        return not self.running

    def has_room(self, run: PlannedRun) -> bool:
        """Whether a run could begin now; who may kill a worker is alone in it."""
        with self.guard:
            if any(item.run.alone for item in self.running.values()):
                return False
            if run.alone:
                return not self.running
            if len(self.running) < self.jobs:
                return True
            if not run.is_check:
                self._stop_a_check()
            return False

    def _stop_a_check(self) -> None:
        """A check gives way to a refresh: it is due again at once."""
        for number, item in self.running.items():
            if item.run.is_check and item.stopped is None:
                item.stopped = time.monotonic()
                self._order(op="stop", id=number)
                return

    def start(self, run: PlannedRun) -> None:
        """Give it a run."""
        with self.guard:
            self._ensure()
            number = next(self.numbers)
            self.running[number] = _Running(run, time.monotonic())
            trigger = max(
                (member.trigger for member in run.members),
                key=lambda item: item is not Trigger.DOWNSTREAM,
            )
            op = "verify" if run.is_check else "run"
            self._order(op=op, id=number, views=list(run.names), trigger=str(trigger))

    def _order(self, **document: Any) -> None:  # noqa: ANN401  plain values
        process = self.process
        if process is None or process.stdin is None:
            return
        try:
            process.stdin.write(json.dumps(document) + "\n")
            process.stdin.flush()
        except (OSError, ValueError):
            return  # its end is heard by whoever reads its answers

    def _ensure(self) -> None:
        if self.process is not None and self.process.poll() is None:
            return
        place = str(self.settings.file or self.settings.folder)
        self.process = subprocess.Popen(
            [*self.command, place, str(self.jobs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # its Spark ends with it, and a Ctrl-C is the loop's to answer
        )
        self.heard = time.monotonic()
        threading.Thread(
            target=self._read, args=(self.process, self.process.stdout), daemon=True
        ).start()

    def _read(self, process: subprocess.Popen[str], answers: IO[str] | None) -> None:
        for line in answers or ():
            self.heard = time.monotonic()
            try:
                document = json.loads(line)
            except ValueError:
                continue
            if "ends" in document:
                self._end(document["id"], [_end_of(item) for item in document["ends"]])
        self._died(process)

    def _end(self, number: int, ends: list[MemberEnd]) -> None:
        with self.guard:
            item = self.running.pop(number, None)
        if item is None:
            return
        if item.stopped is not None:
            code = "lease-held" if item.run.is_check else TIMED_OUT
            ends = [_with_code(end, code) if end.failed else end for end in ends]
        self.ended(item.run, ends)

    def _died(self, process: subprocess.Popen[str]) -> None:
        """Its runs ended with it."""
        code = process.wait()
        _kill(process)
        with self.guard:
            if self.process is not process:
                return
            self.process = None
            gone, self.running = self.running, {}
            self.deaths += bool(gone)
        for item in gone.values():
            # A Spark that was lost is nobody's fault; of what else killed a worker a run of its own tells.
            codes = ("spark-lost",) if code == SPARK_GONE else (DIED,)
            if item.stopped is not None:
                codes = (TIMED_OUT,)
            says = f"the worker ended in it (exit code {code})"
            self.ended(
                item.run, [MemberEnd(name, "failed", codes, says) for name in item.run.names]
            )

    def watch(self) -> None:
        """Stop what takes too long, and end a worker that says nothing any more."""
        now = time.monotonic()
        paused, self.looked = now - self.looked > SILENCE / 2, now
        with self.guard:
            process = self.process
            if process is None:
                return
            if paused:
                self.heard = now  # it was we who stood still
            for number, item in self.running.items():
                if item.stopped is None and now - item.begun > item.run.timeout:
                    item.stopped = now
                    self._order(op="stop", id=number)
            late = any(
                item.stopped is not None and now - item.stopped > AFTER_STOP
                for item in self.running.values()
            )
            silent = now - self.heard > SILENCE
        if late or silent:
            _kill(process)

    def close(self) -> None:
        """End it."""
        with self.guard:
            process, self.process = self.process, None
        if process is not None:
            _kill(process)
            process.wait()


def _kill(process: subprocess.Popen[str]) -> None:
    """End a worker and its Spark."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _end_of(document: dict[str, Any]) -> MemberEnd:
    return MemberEnd(
        document["view"], document["outcome"], tuple(document["codes"]), document["says"],
        float(document.get("seconds", 0.0)), document.get("run_id", ""),
    )  # fmt: skip


def _with_code(end: MemberEnd, code: str) -> MemberEnd:
    return MemberEnd(end.view, end.outcome, (code,), f"stopped: {code}", end.seconds, end.run_id)
