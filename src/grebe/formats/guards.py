"""What every storage refuses, and the words in which it says so, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence

from grebe.errors import CheckFailedError, ConflictError, StepFailedError, UnknownOutcomeError
from grebe.formats.base import Overwrite, Write
from grebe.model import Position, RunId, TableName


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


def failed(name: TableName, run_id: RunId, step: str, cause: Exception | None) -> StepFailedError:
    """The error for a step that failed and left nothing visible."""
    return StepFailedError(
        f'run "{run_id}" cannot {step} on table "{name}"',
        detail=first_line(cause),
        run_id=run_id,
        step=step,
    )


def unknown(
    name: TableName, run_id: RunId, step: str, cause: Exception | None
) -> UnknownOutcomeError:
    """The error for a run of which nobody can say whether it landed."""
    return UnknownOutcomeError(
        f'it is unknown whether run "{run_id}" landed in table "{name}"',
        detail=first_line(cause),
        hint="nothing was deleted; the next refresh reads the table and knows",
        run_id=run_id,
        step=step,
    )


def first_line(error: Exception | None) -> str:
    """What an error says, without its stack."""
    if error is None:
        return "no cause known"
    return str(error).strip().partition("\n")[0] or repr(error)
