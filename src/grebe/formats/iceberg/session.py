"""Snapshot properties of a session: on for one statement, never left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "spark.sql.iceberg.snapshot-property."

_guard = threading.Lock()
_locks: WeakKeyDictionary[SparkSession, threading.Lock] = WeakKeyDictionary()


@contextmanager
def snapshot_properties(session: SparkSession, properties: Mapping[str, str]) -> Iterator[None]:
    """A block in which every Iceberg commit of the session carries the properties.

    They are settings of the whole session, so blocks of one session wait for each other.
    """
    with _guard:
        lock = _locks.setdefault(session, threading.Lock())
    with lock:
        try:
            for key, value in properties.items():
                session.conf.set(PREFIX + key, value)
            yield
        finally:
            for key in properties:
                session.conf.unset(PREFIX + key)
