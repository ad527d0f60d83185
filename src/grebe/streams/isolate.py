"""Functions of people in a process of their own: what they break is one event, never this process.

A batch whose function kills its process, never returns or eats memory is halved until the event that
does it stands alone. What came back of the other half is kept.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Protocol

from grebe.errors import DeclarationError
from grebe.streams.callables import load_functions
from grebe.streams.definition import StreamDefinition, declared_stream
from grebe.streams.event_text import Dead, DeadCode
from grebe.streams.row_making import EventRows, Functions, make_rows

Event = tuple[bytes | Dead, str]
"""The text of an event, and its position."""

SECONDS: Final = 5.0
"""What a batch may take, whatever its size."""
SECONDS_EACH: Final = 0.02
"""And for each of its events besides."""
SECONDS_TO_START: Final = 60.0
MEGABYTES: Final = 1024
"""What a function may take beside what its process takes before it."""
_HEAD: Final = struct.Struct(">Q")
_PIECE: Final = 1 << 20


class RowMaker(Protocol):
    """Makes rows of events."""

    def rows(self, events: Sequence[Event]) -> list[EventRows]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class OwnProcess:
    """Makes rows right here: of definitions without functions, or inside of the worker."""

    definition: StreamDefinition
    functions: Functions = field(default_factory=Functions)

    def rows(self, events: Sequence[Event]) -> list[EventRows]:
        """What became of each event."""
        return [make_rows(self.definition, self.functions, *event) for event in events]

    def close(self) -> None:
        """Nothing."""


class _GoneError(Exception):
    """The worker ended, or was ended, before it answered."""

    def __init__(self, code: DeadCode, text: str) -> None:
        super().__init__(text)
        self.dead = Dead(code, "", text)


@dataclass(slots=True)
class IsolatedProcess:
    """Makes rows in a worker, with a budget of time and memory; a dead one is started again."""

    definition: StreamDefinition
    folder: str
    seconds: float = SECONDS
    seconds_each: float = SECONDS_EACH
    megabytes: int = MEGABYTES
    started: int = 0
    """How many workers there were."""
    _worker: _Worker | None = field(default=None, repr=False)

    def rows(self, events: Sequence[Event]) -> list[EventRows]:
        """What became of each event.

        Raises:
            DeclarationError: the worker cannot import a function.
        """
        if not events:
            return []
        try:
            return self._ask(events)
        except _GoneError as gone:
            if len(events) == 1:
                return [EventRows(dead=gone.dead)]
        half = len(events) // 2
        return [*self.rows(events[:half]), *self.rows(events[half:])]

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _ask(self, events: Sequence[Event]) -> list[EventRows]:
        if self._worker is None:
            self.started += 1
            self._worker = _Worker.start(self.definition, self.folder, self.megabytes)
        try:
            limit = self.seconds + self.seconds_each * len(events)
            found: list[EventRows] = self._worker.ask(list(events), limit)
        except _GoneError:
            self.close()
            raise
        return found


def row_maker(definition: StreamDefinition, folder: str) -> RowMaker:
    """What makes the rows of a definition: functions of people run in a process of their own."""
    if definition.functions:
        return IsolatedProcess(definition, folder)
    return OwnProcess(definition)


@dataclass(slots=True)
class _Worker:
    """The process, seen from here."""

    process: subprocess.Popen[bytes]
    inbound: BinaryIO
    outbound: BinaryIO

    @staticmethod
    def start(definition: StreamDefinition, folder: str, megabytes: int) -> _Worker:
        their_in, our_out = os.pipe()
        our_in, their_out = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(their_in), str(their_out)],
                pass_fds=(their_in, their_out),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(item for item in sys.path if item),
                },
            )
        finally:
            os.close(their_in)
            os.close(their_out)
        made = _Worker(process, os.fdopen(our_in, "rb"), os.fdopen(our_out, "wb"))
        os.set_blocking(our_in, False)
        try:
            answer = made.ask((dict(definition.document), folder, megabytes), SECONDS_TO_START)
        except _GoneError as gone:
            made.end()
            code = (
                "INVALID_TRANSFORM" if isinstance(definition.transform, str) else "INVALID_FILTER"
            )
            at = "$transform" if isinstance(definition.transform, str) else "$filter"
            message = f"the process of its functions does not start: {gone.dead.text}"
            raise DeclarationError(code, at, message) from gone
        if answer is not None:
            made.end()
            raise DeclarationError(*answer)
        return made

    def ask(self, question: object, seconds: float) -> Any:  # noqa: ANN401
        """The answer; a worker that gives none in time is to be ended."""
        until = time.monotonic() + seconds
        try:
            _write(self.outbound, question)
            size = _HEAD.unpack(self._read(_HEAD.size, until))[0]
            return pickle.loads(self._read(size, until))  # it is our own process
        except (BrokenPipeError, EOFError):
            return self._gone()
        except TimeoutError:
            text = f"it took longer than {seconds:.1f} s"
            raise _GoneError(DeadCode.TIMED_OUT, text) from None

    def _gone(self) -> object:
        code = self.process.wait(5)
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        if code == _NO_MEMORY:
            how = "it took more memory than it may"
        raise _GoneError(DeadCode.CRASHED, f"its process ended: {how}")

    def _read(self, size: int, until: float) -> bytes:
        found = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(self.inbound, selectors.EVENT_READ)
            while len(found) < size:
                left = until - time.monotonic()
                if left <= 0 or not ready.select(left):
                    raise TimeoutError
                piece = os.read(self.inbound.fileno(), min(_PIECE, size - len(found)))
                if not piece:
                    raise EOFError
                found += piece
        return bytes(found)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.inbound, self.outbound):
            try:
                pipe.close()
            except OSError:  # what was to be written has no reader any more
                continue


def _write(pipe: BinaryIO, value: object) -> None:
    text = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_HEAD.pack(len(text)))
    pipe.write(text)
    pipe.flush()


# --- inside of the worker -----------------------------------------------------------------------

_NO_MEMORY: Final = 71
_PROGRAM: Final = (
    "import sys; from grebe.streams.isolate import serve; serve(*map(int, sys.argv[1:]))"
)


def serve(inbound: int, outbound: int) -> None:
    """Answer until nobody asks any more."""
    with os.fdopen(inbound, "rb") as asked, os.fdopen(outbound, "wb") as answered:
        document, folder, megabytes = _next(asked)
        try:
            maker = _made(document, folder)
        except DeclarationError as error:
            _write(answered, (error.feature, error.field, error.message))
            return
        _limit(megabytes)
        _write(answered, None)
        while True:
            try:
                events = _next(asked)
            except EOFError:
                return
            try:
                _write(answered, maker.rows(events))
            except MemoryError:
                os._exit(_NO_MEMORY)


def _made(document: Mapping[str, Any], folder: str) -> OwnProcess:
    definition = declared_stream(document)
    return OwnProcess(definition, load_functions(definition, folder))


def _next(pipe: BinaryIO) -> Any:  # noqa: ANN401
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    return pickle.loads(pipe.read(_HEAD.unpack(head)[0]))


def _limit(megabytes: int) -> None:
    """No more memory than the process has now and this; where the system knows such a limit."""
    try:
        import resource
    except ImportError:
        return
    with open("/proc/self/statm", encoding="ascii") as numbers:  # noqa: PTH123
        pages = int(numbers.read().split()[0])
    now = pages * os.sysconf("SC_PAGE_SIZE")
    most = now + megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
