"""Tells listeners what happens, without letting any of them harm, hold up or change a run.

Each listener has a thread and a bounded queue of its own: telling is putting into queues. What a full queue
cannot take is dropped and counted; a listener that raises is reported once and left out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Lock, Thread
from typing import Final

from grebe.events import Event, Listener

QUEUED: Final = 10_000
"""Events that wait for one listener at most: those of a run of a thousand views."""
SETTLE_SECONDS: Final = 2.0
"""How long the end of a program waits for listeners that are still busy."""

log = logging.getLogger(__name__)


class Announcer:
    """The listeners of one project."""

    def __init__(self, listeners: Iterable[Listener] = (), queued: int = QUEUED) -> None:
        self._channels = [_Channel(listener, queued) for listener in listeners]

    def tell(self, event: Event) -> None:
        """Let every listener hear it, later and elsewhere."""
        for channel in self._channels:
            channel.put(event)

    @property
    def dropped(self) -> dict[str, int]:
        """How many events each listener was not told, by its name; those that heard all are left out."""
        return {item.name: item.dropped for item in self._channels if item.dropped}

    def settle(self, seconds: float = SETTLE_SECONDS) -> bool:
        """Wait until all that was told is heard; False when somebody is still busy."""
        until = time.monotonic() + seconds
        return all(channel.settle(until) for channel in self._channels)

    def close(self, seconds: float = SETTLE_SECONDS) -> None:
        """Wait a little for whoever is busy; what is not heard by then is dropped."""
        self.settle(seconds)
        for channel in self._channels:
            channel.close()
        for name, count in self.dropped.items():
            log.warning("listener %s was not told %d events: it is too slow", name, count)
        self._channels = []


class _Channel:
    """One listener, its queue, and the thread that empties it; that begins with the first event."""

    def __init__(self, listener: Listener, queued: int) -> None:
        self.listener = listener
        self.name = name_of(listener)
        self.dropped = 0
        self._queue: Queue[Event] = Queue(queued)
        self._guard = Lock()
        self._thread: Thread | None = None
        self._left_out = False
        self._over = False

    def put(self, event: Event) -> None:
        if self._left_out or self._over:
            return
        try:
            self._queue.put_nowait(event)
        except Full:
            with self._guard:
                self.dropped += 1
            return
        if self._thread is None:
            self._start()

    def settle(self, until: float) -> bool:
        done = self._queue.all_tasks_done
        with done:
            while self._queue.unfinished_tasks:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                done.wait(left)
        return True

    def close(self) -> None:
        self._over = True
        if not self._left_out:
            with self._guard:
                self.dropped += self._queue.qsize()
        self._empty()

    def _start(self) -> None:
        with self._guard:
            if self._thread is None:
                name = f"grebe-listener-{self.name}"
                self._thread = Thread(target=self._listen, name=name, daemon=True)
                self._thread.start()

    def _listen(self) -> None:
        while not self._over:
            with suppress(Empty):  # looks up now and then, whether it is over
                event = self._queue.get(timeout=1.0)
                try:
                    if not (self._left_out or self._over):
                        self.listener(event)
                except BaseException as error:  # whatever it is: the run is none of its business
                    self._left_out = True
                    log.warning(
                        "listener %s raised %s: %s; it is told nothing more",
                        self.name,
                        type(error).__name__,
                        error,
                    )
                finally:
                    self._queue.task_done()

    def _empty(self) -> None:
        with suppress(Empty):
            while True:
                self._queue.get_nowait()
                self._queue.task_done()


def name_of(listener: Listener) -> str:
    """How a listener is called in a message."""
    name = getattr(listener, "__qualname__", None)
    return str(name or type(listener).__qualname__)
