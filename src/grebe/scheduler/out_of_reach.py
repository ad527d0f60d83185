"""Whether an error says that something could not be reached: then the view is not to blame.

>>> is_out_of_reach(OSError("[Errno 111] Connection refused")), is_out_of_reach(ValueError("by zero"))
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from grebe.formats.storage_errors import disk_trouble

_AWAY: Final = (
    "connection refused", "connection reset", "connection timed out", "could not connect",
    "connection to server", "unknownhost", "name or service not known", "no route to host",
    "network is unreachable", "temporary failure in name resolution", "service unavailable",
    "503 slow down", "too many requests", "database is locked", "sqlite_busy", "read timed out",
    "connection is closed", "server closed the connection", "sockettimeout", "transport endpoint",
    "stale file handle",
)  # fmt: skip
_SPARK_LOST: Final = (
    "py4jnetworkerror", "py4jjavaerror: cannot call methods on a stopped sparkcontext",
    "cannot call methods on a stopped", "answer from java side is empty", "java gateway process exited",
    "an error occurred while trying to connect to the java server", "sparksession was stopped",
    "error while sending or receiving", "outofmemoryerror", "session_closed", "no active spark",
)  # fmt: skip


def is_out_of_reach(error: BaseException) -> bool:
    """True when a catalog, a storage, a disk or a network could not be used."""
    if is_spark_lost(error) or disk_trouble(error) is not None:
        return True
    return any(sign in text for text in _texts(error) for sign in _AWAY)


def is_spark_lost(error: BaseException) -> bool:
    """True when Spark itself is gone."""
    return any(sign in text for text in _texts(error) for sign in _SPARK_LOST)


def _texts(error: BaseException | None) -> Iterator[str]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield f"{type(error).__name__}: {error} {getattr(error, 'detail', '') or ''}".lower()
        error = error.__cause__ or error.__context__
