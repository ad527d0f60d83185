"""What a person who waits is told, from the events of a run: a line per finished view, and a live one below.

The first listener: it knows nothing that others could not know.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TextIO

from grebe.cli.look import has_colours, in_words, is_live, width_of
from grebe.events import (
    CycleEnded,
    CycleStarted,
    Event,
    Preparing,
    RunEnded,
    RunStarted,
    StepStarted,
)
from grebe.secrets import masked
from grebe.tabular import coloured

_EVERY_SECONDS: Final = 0.2
_DOING: Final = {
    "compute": "computing",
    "read": "reading",
    "merge": "merging",
    "append": "appending",
    "overwrite": "writing",
    "replace": "writing",
    "check": "checking",
}
_MEGABYTE: Final = 1_000_000


@dataclass(slots=True)
class Progress:
    """Writes to one stream; a live line only where one can be written anew."""

    stream: TextIO
    say: Callable[[object], str] = str
    """How the name of a view is said."""
    verbose: bool = False
    begun: float = field(default_factory=time.monotonic)
    views: int = 0
    ended: int = 0
    running: dict[str, tuple[str, str, float]] = field(default_factory=dict)
    """By run: the view, what it does, and since when."""
    preparing: str = ""
    since: float = 0.0
    shown: bool = False
    """Whether the live line stands there now."""
    live: str = ""
    guard: threading.RLock = field(default_factory=threading.RLock)
    over: threading.Event = field(default_factory=threading.Event)
    ticker: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """One event; heard in a thread of the announcer."""
        with self.guard:
            self._hear(event)
            self._refresh()

    def stop(self) -> None:
        """Take the live line away, and write no other."""
        self.over.set()
        self.clear()

    def clear(self) -> None:
        """Take the live line away, before something else is written."""
        with self.guard:
            if self.shown:
                self.stream.write("\r\x1b[2K")
                self.stream.flush()
                self.shown = False

    def _hear(self, event: Event) -> None:
        match event:
            case Preparing():
                self._prepare(event)
            case CycleStarted():
                self.views, self.ended = len(event.views), 0
            case RunStarted():
                self.preparing = ""
                self.running[event.run_id] = (self.say(event.view), "planning", time.monotonic())
            case StepStarted() if event.run_id in self.running:
                view, _, since = self.running[event.run_id]
                doing = _DOING.get(event.step.partition(" ")[0], event.step.partition(" ")[0])
                self.running[event.run_id] = (view, doing, since)
            case RunEnded():
                self.running.pop(event.run_id, None)
                self.ended += 1
                self._line(self._finished(event))
            case CycleEnded():
                self.running.clear()
                self.preparing = ""
            case _:
                pass

    def _prepare(self, event: Preparing) -> None:
        text = event.what
        if event.of_bytes:
            done = (event.done_bytes or 0) / _MEGABYTE
            text += f", {done:.0f} of {event.of_bytes / _MEGABYTE:.0f} MB"
        if event.what != self.preparing.partition(", ")[0]:
            self.since = time.monotonic()
            if not is_live(self.stream):
                self._line(f"... {text}")
        self.preparing = text

    def _finished(self, event: RunEnded) -> str:
        colours = has_colours(self.stream)
        outcome = str(event.outcome)
        if colours:
            outcome = coloured(outcome, outcome)
        why = f" ({', '.join(reason.code for reason in event.reasons)})" if event.reasons else ""
        rows = (
            f"{event.rows_in:,} in, {event.rows_out:,} out"
            if event.rows_in or event.rows_out
            else ""
        )
        parts = [self.say(event.view), outcome + why, rows, f"{event.seconds:.1f} s"]
        return "  ".join(part for part in parts if part)

    def _line(self, text: str) -> None:
        self.clear()
        text = masked(text if self.verbose else in_words(text))
        self.stream.write(text + "\n")
        self.stream.flush()

    def _refresh(self) -> None:
        if not is_live(self.stream) or self.over.is_set():
            return
        text = self._live_text()
        if not text:
            self.clear()
            return
        width = (width_of(self.stream) or 80) - 1
        text = masked(in_words(text))
        text = text if len(text) <= width else text[: width - 3] + "..."
        if not self.shown or text != self.live:
            self.stream.write(f"\r\x1b[2K{text}")
            self.stream.flush()
        self.shown, self.live = True, text
        if self.ticker is None:
            self.ticker = threading.Thread(target=self._tick, name="grebe-progress", daemon=True)
            self.ticker.start()

    def _live_text(self) -> str:
        now = time.monotonic()
        whole = f"(whole {_clock(now - self.begun)})"
        if self.running:
            view, doing, since = next(iter(self.running.values()))
            more = f" and {len(self.running) - 1} more" if len(self.running) > 1 else ""
            place = f"{self.ended + 1} of {max(self.views, self.ended + 1)}"
            return f"{place}  {view}{more}  {doing}  {_clock(now - since)}  {whole}"
        if self.preparing:
            return f"{self.preparing}  {_clock(now - self.since)}  {whole}"
        return ""

    def _tick(self) -> None:
        while not self.over.wait(_EVERY_SECONDS):
            with self.guard:
                self._refresh()


def _clock(seconds: float) -> str:
    """Seconds that pass, as they are counted aloud.

    >>> _clock(4.7), _clock(75)
    ('4 s', '1 min 15 s')
    """
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
