"""DuckDB's errors as grebe's own: the code in a program's message says which one is meant."""

from __future__ import annotations

from re import compile as pattern
from typing import Final

from grebe.errors import (
    CheckFailedError,
    ConflictError,
    GrebeError,
    HistoryExpiredError,
    RefreshError,
    SchemaChangedError,
    SourceReplacedError,
    StepFailedError,
)

_CODE: Final = pattern(r"\[([a-z_-]+)\] ([^\n]*)")
_KINDS: Final[dict[str, type[GrebeError]]] = {
    "range_expired": HistoryExpiredError,
    "source-replaced": SourceReplacedError,
    "schema-changed": SchemaChangedError,
    "integrity": CheckFailedError,
    "conflict": ConflictError,
}


def typed(error: Exception) -> GrebeError:
    """The typed form of what a statement raised."""
    text = str(error)
    found = _CODE.search(text)
    if found is None:
        if "conflict" in text.lower():
            return ConflictError("another transaction wrote first", detail=text)
        return StepFailedError("a statement of the program failed", detail=text)
    code, message = found.groups()
    kind = _KINDS.get(code)
    return kind(message, detail=text) if kind else RefreshError(message, detail=text, code=code)
