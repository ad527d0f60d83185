"""Settings of a session: on for one statement, never left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_guard = threading.Lock()
_locks: WeakKeyDictionary[SparkSession, threading.Lock] = WeakKeyDictionary()


@contextmanager
def session_settings(
    session: SparkSession, settings: Mapping[str, str], *, restore: bool = False
) -> Iterator[None]:
    """A block in which the session has the settings, none of which it had before.

    With ``restore`` it may have had them, and has them again afterwards. They hold for the whole
    session, so blocks of one session wait for each other.
    """
    with _guard:
        lock = _locks.setdefault(session, threading.Lock())
    with lock:
        before = {key: session.conf.get(key, None) for key in settings} if restore else {}
        try:
            for key, value in settings.items():
                session.conf.set(key, value)
            yield
        finally:
            for key in settings:
                former = before.get(key)
                if former is None:
                    session.conf.unset(key)
                else:
                    session.conf.set(key, former)
