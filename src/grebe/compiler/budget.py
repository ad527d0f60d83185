"""How much a compile may make before it is given up.

Some texts of a hundred characters mean trees of any size: a common table expression that is read
twice by one that is read twice again. What is made is counted in characters, never in seconds, so
that the answer is the same on every machine, and it is given after a time that has a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from grebe.errors import UnsupportedSQLError

FEATURE: Final = "too_large"
LIMIT: Final = 20_000_000
"""Characters of all relations that one compile may make, those that are thrown away included."""

_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


@contextmanager
def limited(most: int | None = None) -> Iterator[None]:
    """Inside of it at most so many characters are made; the innermost limit counts."""
    token = _left.set([LIMIT if most is None else most])
    try:
        yield
    finally:
        _left.reset(token)


def spend(characters: int) -> None:
    """Count what was made.

    Raises:
        UnsupportedSQLError: it is more than the limit around it.
    """
    left = _left.get()
    if left is not None:
        left[0] -= characters
        if left[0] < 0:
            raise too_large()


def too_large() -> UnsupportedSQLError:
    """The error for a text that means too much."""
    return UnsupportedSQLError(
        FEATURE,
        "what the query means is too large",
        detail="parts of it are read many times over, by parts that are read many times themselves",
        hint="make a view of its own from the part that is read most often",
    )
