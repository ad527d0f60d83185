"""What every format answers in the same words: refused windows and partitions, no columns."""

from __future__ import annotations

from collections.abc import Sequence

from grebe.errors import (
    DefinitionError,
    HistoryExpiredError,
    SchemaChangedError,
    SourceError,
    SourceReplacedError,
)
from grebe.formats.base import WEIGHT, Changes
from grebe.model import Partition, Reason, TableName

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


def unknown_partition(part: Partition, format_: str, hint: str) -> DefinitionError:
    """The error for a partition that a format does not have."""
    return DefinitionError(
        f'a {format_} table cannot be partitioned by "{part}"', hint=hint, code="bad-partition"
    )


def reserved_column(name: str, format_: str) -> DefinitionError:
    """The error for an output whose name a format keeps for itself."""
    return DefinitionError(
        f'a {format_} table cannot hold a column called "{name}"',
        hint="give the output another name, or keep the view in another catalog",
        code="reserved-name",
    )


def refused_partitions(parts: Sequence[Partition], error: Exception) -> DefinitionError:
    """The error for partitions that a format has, but not for columns of these types."""
    return DefinitionError(
        f"the view cannot be partitioned by {', '.join(str(part) for part in parts)}",
        detail=str(error).split("\n", maxsplit=1)[0],
        hint="choose another column or another transform",
        code="bad-partition",
    )
