"""Sessions of our own, kept and used again: a view is refreshed in one that nobody else uses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED_AFTER: Final = 300.0
"""Seconds without use after which a session is asked whether it still exists: a Connect server
forgets idle ones, after an hour by default."""

_GONE: Final = ("SESSION_CLOSED", "SESSION_NOT_FOUND", "SESSION_CHANGED")
"""What a Connect server says of a session that it forgot, and after it was itself started anew."""


@dataclass(slots=True)
class Pool:
    """Idle sessions; a new one is made when there is none."""

    make: Callable[[], SparkSession]
    idle: list[tuple[SparkSession, float]] = field(default_factory=list)
    """Each with the time of its last use."""
    guard: threading.Lock = field(default_factory=threading.Lock)
    lent: list[SparkSession] = field(default_factory=list)
    """Sessions in use."""

    @contextmanager
    def lend(self) -> Iterator[Callable[[], SparkSession]]:
        """Give a way to one session, taken from the pool at the first use and given back at the end."""
        taken: list[SparkSession] = []

        def session() -> SparkSession:
            if not taken:
                taken.append(self._take())
                with self.guard:
                    self.lent.append(taken[0])
            return taken[0]

        try:
            yield session
        finally:
            with self.guard:
                self.lent = [spark for spark in self.lent if spark not in taken]
                self.idle += [(spark, time.monotonic()) for spark in taken]

    def interrupt(self) -> None:
        """Stop what the sessions in use run now."""
        with self.guard:
            lent = list(self.lent)
        for spark in lent:
            spark.interruptAll()

    def _take(self) -> SparkSession:
        while True:
            with self.guard:
                if not self.idle:
                    break
                spark, used = self.idle.pop()
            if time.monotonic() - used < ASKED_AFTER or not _is_gone(spark):
                return spark
        return self.make()


def _is_gone(spark: SparkSession) -> bool:
    """True when the server no longer knows a session; one small request."""
    try:
        spark.conf.get("spark.sql.session.timeZone")
    except Exception as error:  # Spark's own or the wire's: any other one meets the refresh, typed
        return any(word in str(error) for word in _GONE)
    return False
