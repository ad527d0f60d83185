"""What every source answers in the same words: refused windows, and windows without a column."""

from __future__ import annotations

from grebe.errors import (
    HistoryExpiredError,
    SchemaChangedError,
    SourceError,
    SourceReplacedError,
)
from grebe.formats.base import WEIGHT, Changes
from grebe.model import Reason, TableName

_ERRORS: dict[str, type[SourceError]] = {
    "history-expired": HistoryExpiredError,
    "schema-changed": SchemaChangedError,
    "source-replaced": SourceReplacedError,
}


def refuse(name: TableName, reason: Reason | None) -> None:
    """Nothing, or the typed error for a window that cannot be read."""
    if reason is not None:
        raise _ERRORS.get(reason.code, SourceError)(
            f'the changes of table "{name}" cannot be read',
            detail=reason.message,
            hint="refresh in full",
            code=reason.code,
        )


def only_total(total: int) -> Changes:
    """The changes without any column: how many rows there are more, for which nothing is read."""
    import pyarrow as pa

    weights = pa.array([total] if total else [], pa.int64())
    return Changes("metadata", arrow=pa.table({WEIGHT: weights}), bytes_read=0, total=total)
