"""What every storage refuses, and the words in which it says so, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grebe.errors import (
    CheckFailedError,
    ConflictError,
    DefinitionError,
    HistoryExpiredError,
    SchemaChangedError,
    SourceError,
    SourceReplacedError,
    StepFailedError,
    UnknownOutcomeError,
)
from grebe.formats.base import WEIGHT, Changes, Overwrite, Write
from grebe.model import Partition, Position, Reason, RunId, TableName


def refuse_untrusted(
    name: TableName, writes: Sequence[Write], run_id: RunId, expected: Position
) -> None:
    """Nothing, or CheckFailedError when a change would be applied to rows that are not ours."""
    trusted = not expected.foreign and expected.unproven is None
    if trusted or (writes and isinstance(writes[0], Overwrite)):
        return
    raise CheckFailedError(
        f'rows of table "{name}" cannot be trusted, so no change can be applied to them',
        detail=expected.unproven or "written by somebody else: " + ", ".join(expected.foreign),
        hint="rebuild the view",
        code="frontier-unproven" if expected.unproven else "foreign-write",
        run_id=run_id,
    )


def conflict(name: TableName, run_id: RunId, detail: str) -> ConflictError:
    """The error for a table that somebody else moved."""
    return ConflictError(
        f'somebody else moved table "{name}" first',
        detail=detail,
        hint="refresh again",
        run_id=run_id,
    )


def refuse_other_columns(name: TableName, found: Sequence[str], wanted: Sequence[str]) -> None:
    """Nothing when a storage table that exists already has the columns that it has to have."""
    if list(found) != list(wanted):
        raise ConflictError(
            f'table "{name}" exists with other columns', detail=f"found {', '.join(found)}"
        )


def failed(name: TableName, run_id: RunId, step: str, cause: Exception | None) -> StepFailedError:
    """The error for a step that failed and left nothing visible."""
    return StepFailedError(
        f'run "{run_id}" cannot {step} on table "{name}"',
        detail=cause_of(cause),
        hint=disk_hint(cause),
        run_id=run_id,
        step=step,
    )


def unknown(
    name: TableName, run_id: RunId, step: str, cause: Exception | None
) -> UnknownOutcomeError:
    """The error for a run of which nobody can say whether it landed."""
    return UnknownOutcomeError(
        f'it is unknown whether run "{run_id}" landed in table "{name}"',
        detail=cause_of(cause),
        hint="nothing was deleted; the next refresh reads the table and knows",
        run_id=run_id,
        step=step,
    )


_ROOM: Final = "make room on the disk"
_RIGHTS: Final = "change the permissions"
_DISK: Final = {
    "No space left on device": ("the disk is full", _ROOM),
    "disk is full": ("the disk is full", _ROOM),
    "Disk quota exceeded": ("the disk's quota is used up", _ROOM),
    "File too large": ("the disk takes no file of that size", _ROOM),
    "Permission denied": ("a file or folder may not be used", _RIGHTS),
    "Read-only file system": ("the disk is read-only", "make the disk writable"),
    "Input/output error": ("the disk cannot be read or written", "have the disk looked at"),
    "Too many open files": (
        "the process can open no more files",
        "raise its limit of open files (ulimit -n)",
    ),
}
"""What a disk says that takes no more, in any engine's words: what it means, and what to do."""


_CALL: Final = "An error occurred while calling"


def disk_trouble(error: BaseException | None) -> tuple[str, str] | None:
    """What is wrong with the disk and what to do, when that is what an error is about.

    Its whole text is looked at: Spark names the cause far below its first line.
    """
    while error is not None:
        text = str(error)
        found = next((known for sign, known in _DISK.items() if sign in text), None)
        if found is not None:
            return found
        error = error.__cause__
    return None


def disk_hint(error: BaseException | None) -> str | None:
    """What to do about the disk, when that is what an error is about."""
    trouble = disk_trouble(error)
    return f"{trouble[1]}, then run the command again" if trouble else None


def cause_of(error: Exception | None) -> str:
    """What an error says, after what it comes from where that is the disk."""
    trouble = disk_trouble(error)
    return f"{trouble[0]}: {first_line(error)}" if trouble else first_line(error)


def first_line(error: Exception | None) -> str:
    r"""What an error says, without its stack.

    >>> first_line(Exception("An error occurred while calling o1.sql.\n: java.Bad: gone\n\tat x"))
    'java.Bad: gone'
    """
    if error is None:
        return "no cause known"
    said, _, rest = str(error).strip().partition("\n")
    # What Spark says stands below the call that failed.
    below = rest.partition("\n")[0].removeprefix(": ").strip()
    return (below if said.startswith(_CALL) and below else said) or repr(error)


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
