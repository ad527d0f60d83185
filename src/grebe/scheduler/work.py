"""A worker: a process with one warm Spark that runs what it is given, and tells how it ended.

Orders come as lines of JSON, and so do answers; whatever else is printed goes to the log.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, Final

from grebe.errors import CheckFailedError, GrebeError
from grebe.model import Outcome
from grebe.project import refreshing, verifying
from grebe.project.workspace import Workspace
from grebe.scheduler.out_of_reach import is_out_of_reach, is_spark_lost
from grebe.secrets import masked

if TYPE_CHECKING:
    from collections.abc import Callable

    from grebe.config import Settings
    from grebe.engine.result import RefreshResult

BEAT: Final = 5.0
SPARK_GONE: Final = 75
"""The exit code of a worker whose Spark died."""


class Hand:
    """What one run at a time is done with: an engine of its own, over a Spark that hands share."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.lost = False
        self.results: list[RefreshResult] = []
        """What was done, for whoever works in the same process."""

    def refresh(self, order: dict[str, Any]) -> list[dict[str, Any]]:
        """How the views of a run ended."""
        results = refreshing.refresh(
            self.workspace, order["views"], None, trigger=order["trigger"], skips_held=True
        )
        self.results = [item for item in results if str(item.view) in order["views"]]
        return [self._told(item) for item in self.results]

    def _told(self, result: RefreshResult) -> dict[str, Any]:
        codes = [reason.code for reason in result.reasons]
        if result.outcome is Outcome.FAILED and result.error is not None:
            codes += self.codes_of(result.error)
        return {
            "view": str(result.view),
            "outcome": str(result.outcome),
            "codes": codes,
            "says": masked(str(result.error)) if result.error else "",
            "seconds": result.seconds,
            "run_id": str(result.run_id),
        }

    def codes_of(self, error: BaseException) -> list[str]:
        """The codes of an error, with what only its text tells."""
        codes = [error.code] if isinstance(error, GrebeError) else ["unexpected"]
        if is_spark_lost(error):
            self.lost = True
            codes.append("spark-lost")
        if is_out_of_reach(error):
            codes.append("out-of-reach")
        return codes

    def verify(self, order: dict[str, Any]) -> list[dict[str, Any]]:
        """What a check of one view said."""
        (name,) = order["views"]
        outcome, codes, says = "equal", list[str](), ""
        try:
            verifying.verify_one(
                self.workspace, self.workspace.written()[name], order.get("sample")
            )
        except GrebeError as error:
            outcome, says = str(Outcome.FAILED), masked(str(error))
            codes = self.codes_of(error)
            if isinstance(error, CheckFailedError) and error.differing:
                codes.append("differs")
        return [{"view": name, "outcome": outcome, "codes": codes, "says": says}]

    def stop(self) -> None:
        """Interrupt what its sessions run."""
        engine = self.workspace.__dict__.get("engine")
        if engine is not None:
            engine.pool.interrupt()


class Worker:
    """Orders in, answers out."""

    def __init__(self, settings: Settings, jobs: int, channel: IO[str]) -> None:
        self.channel = channel
        self.writing = threading.Lock()
        self.free: queue.Queue[Hand] = queue.Queue()
        self.busy: dict[int, Hand] = {}
        first = Workspace(settings)
        self.hands = [Hand(first)]
        self.free.put(self.hands[0])
        self.settings = settings
        self.jobs = jobs

    def say(self, **document: Any) -> None:  # noqa: ANN401  plain values
        """One line of JSON."""
        with self.writing:
            self.channel.write(json.dumps(document) + "\n")
            self.channel.flush()

    def take(self, order: dict[str, Any]) -> None:
        """Begin what an order says."""
        if order["op"] == "stop":
            hand = self.busy.get(order["id"])
            if hand is not None:
                hand.stop()
            return
        threading.Thread(target=self._run, args=(order,), daemon=True).start()

    def _hand(self) -> Hand:
        try:
            return self.free.get_nowait()
        except queue.Empty:
            if len(self.hands) < self.jobs:
                hand = Hand(Workspace(self.settings, self.hands[0].workspace.spark))
                self.hands.append(hand)
                return hand
            return self.free.get()

    def _run(self, order: dict[str, Any]) -> None:
        number, lost = order["id"], False
        try:
            hand = self._hand()
            self.busy[number] = hand
            try:
                act: Callable[[dict[str, Any]], list[dict[str, Any]]]
                act = hand.verify if order["op"] == "verify" else hand.refresh
                self.say(id=number, ends=act(order))
            except Exception as error:  # told of every view of the run
                codes = hand.codes_of(error)
                self.say(id=number, ends=[_broken(view, error, codes) for view in order["views"]])
            finally:
                lost = hand.lost
                self.busy.pop(number, None)
                self.free.put(hand)
        except Exception as error:  # Spark did not start
            codes = ["spark-lost", "out-of-reach"]
            self.say(id=number, ends=[_broken(view, error, codes) for view in order["views"]])
            lost = True
        if lost:
            os._exit(SPARK_GONE)  # a Python without its Spark is of no use: another one is started


def _broken(view: str, error: BaseException, codes: list[str]) -> dict[str, Any]:
    says = masked(str(error)).partition("\n")[0]
    return {
        "view": view,
        "outcome": "failed",
        "codes": codes,
        "says": says,
        "seconds": 0.0,
        "run_id": "",
    }


def main(arguments: list[str]) -> None:
    """Work until there are no more orders."""
    from grebe.config import load

    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries and Spark print is no answer
    worker = Worker(load(arguments[0]), int(arguments[1]), channel)
    worker.say(ready=True)
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            worker.say(beat=True)

    threading.Thread(target=beat, daemon=True).start()
    for line in sys.stdin:
        worker.take(json.loads(line))
    over.set()
    os._exit(0)  # runs that go on end with the process: nothing of them is visible


if __name__ == "__main__":
    main(sys.argv[1:])
