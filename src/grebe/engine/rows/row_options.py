"""What may be said of one refresh of a row view, and what it did function by function."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from grebe.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class RowOptions:
    """Limits of one refresh; what they leave over stays pending."""

    max_rows: int | None = None
    """Inputs that each function is asked with, at most."""
    max_seconds: float | None = None
    retry_errors: bool = False
    """Rows whose functions failed before are tried again."""
    concurrency: int = 8
    """Tasks that call functions beside each other."""
    began: float = field(default_factory=time.time)

    @property
    def deadline(self) -> float:
        """When no call is begun any more; 0: never."""
        return self.began + self.max_seconds if self.max_seconds is not None else 0.0


def row_options(
    max_rows: int | None, max_seconds: float | None, retry_errors: bool, concurrency: int | None
) -> RowOptions:
    """The options, checked.

    Raises:
        DefinitionError: one of them means nothing.
    """
    if max_rows is not None and (isinstance(max_rows, bool) or max_rows < 0):
        raise _wrong(f"max_rows must be at least 0, not {max_rows!r}")
    if max_seconds is not None and max_seconds <= 0:
        raise _wrong(f"max_seconds must be above 0, not {max_seconds!r}")
    if concurrency is not None and (isinstance(concurrency, bool) or concurrency < 1):
        raise _wrong(f"concurrency must be at least 1, not {concurrency!r}")
    return RowOptions(max_rows, max_seconds, retry_errors, concurrency or 8)


def _wrong(message: str) -> DefinitionError:
    return DefinitionError(message, hint="leave it out for the usual", code="refresh-option")


@dataclass(frozen=True, slots=True)
class FunctionRun:
    """What one function was asked in a refresh."""

    column: str
    name: str
    calls: int
    """Inputs that it was asked with."""
    reused: int
    """Inputs whose results were there already."""
    failed: int
    seconds: float
    """Seconds inside of the function, over all tasks."""
