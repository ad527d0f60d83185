"""What a commit did to rows, from its own metrics: Spark and delta-rs spell them differently."""

from __future__ import annotations

from grebe.formats.base import Committed
from grebe.formats.delta.actions import Commit
from grebe.model import Version

_INSERTED = ("numTargetRowsInserted", "num_target_rows_inserted", "numOutputRows", "num_added_rows")
_UPDATED = ("numTargetRowsUpdated", "num_target_rows_updated")
_DELETED = ("numTargetRowsDeleted", "num_target_rows_deleted")


def committed(commit: Commit, rows_before: int | None) -> Committed:
    """The storage version of a published run and what it wrote."""
    merged = commit.info.get("operation") == "MERGE"
    deleted = _number(commit, _DELETED) if merged else _overwritten(commit, rows_before)
    return Committed(
        Version(str(commit.version)),
        _number(commit, _INSERTED),
        _number(commit, _UPDATED) if merged else 0,
        deleted,
    )


def _overwritten(commit: Commit, rows_before: int | None) -> int | None:
    """An append deletes nothing; what is not a merge and removes files replaced everything."""
    return rows_before if commit.removes else 0


def _number(commit: Commit, names: tuple[str, ...]) -> int:
    metrics = commit.info.get("operationMetrics") or {}
    return next((int(metrics[name]) for name in names if name in metrics), 0)
