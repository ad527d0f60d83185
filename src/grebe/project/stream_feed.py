"""What a server takes in for a stream: into the inbox in one commit, then into each view by itself.

A request is answered when its events are in the inbox, or in every view where there is no inbox. One
view that fails holds up no other: its events wait in the inbox until it can go on.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from grebe import thresholds
from grebe.config import StreamSettings
from grebe.errors import GrebeError, RefreshError
from grebe.project.stream_sources import inbox_of
from grebe.project.stream_views import views_of, writer_of
from grebe.streams.event_filters import same_value
from grebe.streams.event_text import parse_event
from grebe.streams.inbox import Inbox
from grebe.streams.landed import Batch
from grebe.streams.pulling import pull_all, read_of

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace

log = logging.getLogger(__name__)

WAITING: Final = 256
"""Requests that may wait for their commit; further ones are asked to come again."""
PAUSE: Final = 5.0
"""Seconds until a view that failed is tried again."""


class FullError(RefreshError):
    """More requests wait than are taken in; nothing of this one is stored."""

    code = "queue-full"
    retryable = True


def excluded(batch: Batch, exclude: tuple[tuple[str, str], ...]) -> Batch:
    """A batch without the events that are never taken in, such as those of the ingest itself."""
    if not exclude:
        return batch
    kept = [item for item in batch.events if not _is_excluded(item.text, exclude)]
    return replace(batch, events=kept)


def _is_excluded(text: object, exclude: tuple[tuple[str, str], ...]) -> bool:
    event = parse_event(text) if isinstance(text, bytes) else None
    if not isinstance(event, dict):
        return False
    return all(same_value(event.get(name), wanted) for name, wanted in exclude)


@dataclass(slots=True)
class _Asked:
    """One request that waits for its commit."""

    batch: Batch
    answer: Future[int]


@dataclass(slots=True)
class StreamFeed:
    """Takes in the events of one stream while a server runs."""

    workspace: Workspace
    stream: str
    settings: StreamSettings
    asked: queue.Queue[_Asked] = field(default_factory=lambda: queue.Queue(WAITING))
    over: threading.Event = field(default_factory=threading.Event)
    moved: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)
    failing: dict[str, str] = field(default_factory=dict)
    """Views that cannot go on now, with the code that says why."""
    inbox: Inbox | None = None
    swept: float | None = None
    """When what every view has read was last looked for, by a clock that only goes on."""

    def start(self) -> StreamFeed:
        """Begin to take in."""
        if self.settings.inbox:
            beside = next(iter(views_of(self.workspace, self.stream).values())).name
            self.inbox = inbox_of(self.workspace, beside, self.stream)
        for work in (self._store, self._deliver):
            thread = threading.Thread(target=work, name=f"grebe-{self.stream}", daemon=True)
            thread.start()
            self.threads.append(thread)
        return self

    def close(self) -> None:
        """Take in no more; what was accepted is stored."""
        self.over.set()
        self.moved.set()
        for thread in self.threads:
            thread.join(30)

    def accept(self, batch: Batch) -> Future[int]:
        """The number of new events, when they are stored.

        Raises:
            FullError: too many requests wait.
        """
        item = _Asked(excluded(batch, self.settings.exclude), Future())
        try:
            self.asked.put_nowait(item)
        except queue.Full:
            raise FullError(
                f'stream "{self.stream}" has {WAITING} requests waiting',
                hint="send it again after a moment",
            ) from None
        return item.answer

    def _store(self) -> None:
        while not (self.over.is_set() and self.asked.empty()):
            try:
                items = [self.asked.get(timeout=0.2)]
            except queue.Empty:
                continue
            if self.settings.linger_seconds:
                time.sleep(self.settings.linger_seconds)
            while not self.asked.empty() and len(items) < WAITING:
                items.append(self.asked.get_nowait())
            self._commit(items)
            self.moved.set()

    def _commit(self, items: list[_Asked]) -> None:
        try:
            if self.inbox is not None:
                counts = self.inbox.append([item.batch for item in items])
            else:
                counts = [self._into_views(item.batch) for item in items]
        except Exception as error:
            if len(items) == 1:
                items[0].answer.set_exception(error)
                return
            for item in items:  # one bad request is no reason to refuse the others
                self._commit([item])
            return
        for item, count in zip(items, counts, strict=True):
            item.answer.set_result(count)

    def _into_views(self, batch: Batch) -> int:
        """Without an inbox: into every view, or an error after all were tried."""
        errors: list[GrebeError] = []
        count = 0
        for view in views_of(self.workspace, self.stream).values():
            try:
                done = writer_of(self.workspace, view).store(batch)
                count = max(count, done.received - done.duplicates)
            except GrebeError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return count

    def _deliver(self) -> None:
        """From the inbox into the views, each by itself, as soon as something is there."""
        retry: dict[str, float] = {}
        while self.inbox is not None:
            self.moved.wait(1.0)
            self.moved.clear()
            for key, view in views_of(self.workspace, self.stream).items():
                if retry.get(key, 0.0) > time.monotonic() and not self.over.is_set():
                    continue
                try:
                    pull_all(writer_of(self.workspace, view), self.inbox)
                    self.failing.pop(key, None)
                except Exception as error:
                    code = error.code if isinstance(error, GrebeError) else "unexpected"
                    if self.failing.get(key) != code:
                        log.warning('stream "%s" into %s: %s', self.stream, key, error)
                    self.failing[key] = code
                    retry[key] = time.monotonic() + PAUSE
            self._sweep()
            if self.over.is_set():
                return

    def _sweep(self) -> None:
        """Now and then: the inbox grows no further than it has to."""
        if self.swept is None or time.monotonic() - self.swept >= thresholds.INBOX_SWEEP_SECONDS:
            self.swept = time.monotonic()
            try:
                self.let_go()
            except Exception as error:  # the next time will do
                log.warning('stream "%s" keeps old events: %s', self.stream, error)

    def let_go(self) -> int:
        """Remove the events that every view has read and that need not be kept; how many."""
        views = views_of(self.workspace, self.stream).values()
        if self.inbox is None or not views:
            return 0
        own = self.inbox.head()[0]
        return self.inbox.retire(
            min(read_of(writer_of(self.workspace, view), own) for view in views)
        )
