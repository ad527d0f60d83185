"""The loop: look, decide, claim, start, wait. Any number of copies; no Spark in this process."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from grebe.config import Settings
from grebe.errors import DefinitionError, GrebeError
from grebe.project.workspace import Workspace
from grebe.scheduler.board import RegistryBoard
from grebe.scheduler.member_end import MemberEnd
from grebe.scheduler.run_groups import PlannedRun
from grebe.scheduler.turn import turn
from grebe.scheduler.worker_process import WorkerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SENDING: Final = 5.0
"""Seconds between two looks into the outbox."""
LONGEST_WAIT: Final = 15.0
"""A loop looks at least so often, so that its claims never end."""
GOING: Final = 30.0
"""Seconds for runs to end when the loop is told to."""
log = logging.getLogger(__name__)
Say = Callable[[str], None]


class LoopWorkspace(Workspace):
    """A workspace in which nothing starts Spark."""

    def session(self) -> SparkSession:
        """Never: what needs Spark is a worker's.

        Raises:
            GrebeError: always.
        """
        raise GrebeError(
            "this can only be seen by Spark, and the loop has none",
            hint="keep the table in a catalog that is read without Spark",
            code="spark-not-here",
        )

    spark = property(session)


class Loop:
    """Refreshes what is due until it is told to stop."""

    def __init__(
        self,
        settings: Settings,
        selection: Sequence[str] = (),
        *,
        jobs: int | None = None,
        say: Say | None = None,
    ) -> None:
        self.workspace = LoopWorkspace(settings, say=say)
        self.board = RegistryBoard(self.workspace, selection)
        self.say: Say = say or (lambda _: None)
        self.worker = WorkerProcess(settings, jobs or settings.scheduler.jobs, self._ended)
        self.alert = threading.Event()
        self.stopping = threading.Event()
        self.waiting: list[tuple[PlannedRun, list[MemberEnd]]] = []
        self.guard = threading.Lock()
        self.problem: str | None = None
        self.turns = 0
        self.runs = 0
        self._sent = 0.0
        self._thread: threading.Thread | None = None

    # --- hands --------------------------------------------------------------------------------------

    def is_free(self, run: PlannedRun) -> bool:
        """Whether a run could begin now; one that has nothing to do needs nobody."""
        return self.board.is_nothing(run) or self.worker.has_room(run)

    def start(self, run: PlannedRun) -> None:
        """Begin a run; where no view has anything to do, it has ended."""
        if self.board.is_nothing(run):
            self._ended(run, [MemberEnd(name, "no_op") for name in run.names])
            return
        self.runs += 1
        try:
            self.worker.start(run)
        except OSError as error:  # a process that cannot be started now may be later
            log.warning("no worker can be started: %s", error)
            says = f"no worker can be started: {error}"
            self._ended(
                run, [MemberEnd(name, "failed", ("out-of-reach",), says) for name in run.names]
            )

    def _ended(self, run: PlannedRun, ends: list[MemberEnd]) -> None:
        with self.guard:
            self.waiting.append((run, ends))
        self.alert.set()

    # --- the loop -----------------------------------------------------------------------------------

    def wake(self) -> None:
        """Look again at once."""
        self.alert.set()

    def state(self) -> dict[str, Any]:
        """What the loop does now."""
        return {
            "running": not self.stopping.is_set(),
            "problem": self.problem,
            "turns": self.turns,
            "runs": [list(run.names) for run in self.board.held.values()],
            "worker_deaths": self.worker.deaths,
        }

    def run(self) -> None:
        """Turn until `stop`; then let runs end, and give everything back."""
        pause = 0.5
        try:
            while not self.stopping.is_set():
                self.alert.clear()
                try:
                    later = self.once()
                    self.problem, pause = None, 0.5
                except DefinitionError:
                    if self.turns == 0:
                        raise  # a name that means no view: whoever began it can mend it
                    later = self._troubled(pause)
                except Exception:
                    later, pause = self._troubled(pause), min(LONGEST_WAIT, pause * 2)
                self.alert.wait(min(later, self._poll(), LONGEST_WAIT))
        finally:
            self._finish()

    def _troubled(self, pause: float) -> float:
        """Nothing is scheduled while the registry is away; it is asked again and again."""
        log.warning("the loop could not look", exc_info=True)
        self.problem = "the registry or the definitions cannot be read"
        return pause

    def _poll(self) -> float:
        lags = [wish.lag for wish in self.board.wishes.values() if wish.lag]
        return max(0.2, min([self.board.poll, *(lag / 10 for lag in lags)]))

    def once(self) -> float:
        """One turn; seconds until something else may be due."""
        self._settle()
        self.worker.watch()
        later = turn(self.board, self)
        self._settle()
        if time.monotonic() - self._sent > SENDING:
            self._sent = time.monotonic()
            threading.Thread(target=self._send, daemon=True).start()
        self.turns += 1
        return later

    def _settle(self) -> None:
        """Write down what ended; what cannot be written now is kept for the next turn."""
        while True:
            with self.guard:
                if not self.waiting:
                    return
                run, ends = self.waiting[0]
            self.board.ended(run, ends)
            with self.guard:
                self.waiting.pop(0)
            for end in ends:
                if end.outcome != "no_op" or end.run_id:
                    self.say(f"{end.view}  {end.outcome}  {end.seconds:.1f} s  {end.says}".rstrip())

    def _send(self) -> None:
        try:
            self.board.notices.send()
        except GrebeError as error:
            log.warning("notices wait: %s", error)

    def stop(self) -> None:
        """Begin nothing more."""
        self.stopping.set()
        self.alert.set()

    def _finish(self) -> None:
        end = time.monotonic() + GOING
        while not self.worker.is_idle and time.monotonic() < end:
            self.alert.clear()
            try:
                self._settle()
                self.board.renew()
            except GrebeError as error:
                log.warning("%s", error)
            self.alert.wait(0.5)
        self.worker.close()
        try:
            self._settle()
            for run in list(self.board.held.values()):
                self.board.give_back(run)
        except GrebeError as error:
            log.warning("claims end by themselves: %s", error)
        self.workspace.close()

    # --- in a thread --------------------------------------------------------------------------------

    def __enter__(self) -> Loop:
        self._thread = threading.Thread(target=self.run, name="grebe-loop", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()
