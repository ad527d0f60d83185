"""What every storage refuses, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence

from grebe.errors import CheckFailedError
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
