"""Sessions of our own, kept and used again: a view is refreshed in one that nobody else uses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class Pool:
    """Idle sessions; a new one is made when there is none."""

    make: Callable[[], SparkSession]
    idle: list[SparkSession] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def lent(self) -> Iterator[Callable[[], SparkSession]]:
        """A way to one session, taken from the pool at the first use and given back at the end."""
        taken: list[SparkSession] = []

        def session() -> SparkSession:
            if not taken:
                taken.append(self._take())
            return taken[0]

        try:
            yield session
        finally:
            with self.guard:
                self.idle += taken

    def _take(self) -> SparkSession:
        with self.guard:
            if self.idle:
                return self.idle.pop()
        return self.make()
