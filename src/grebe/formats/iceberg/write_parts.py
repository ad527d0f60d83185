"""What the parts of a commit are, what they must find in the table, and what they did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grebe.errors import CheckFailedError, InternalError
from grebe.formats.base import Append, Committed, Merge, Overwrite, Write
from grebe.formats.iceberg.history import changed_rows, count
from grebe.formats.iceberg.metadata import IcebergSnapshot
from grebe.formats.iceberg.statements import IcebergTarget
from grebe.model import RunId, TableName, Version

METRIC = "spark.merge-into.num-target-rows-"


@dataclass(frozen=True, slots=True)
class Part:
    """One statement on the branch, and the merge whose expectations it must meet."""

    sql: str
    merge: Merge | None = None


def parts_of(target: IcebergTarget, write: Write, rows: str) -> list[Part]:
    """The statements that make one write; ``rows`` is its query."""
    match write:
        case Append():
            return [Part(target.append(rows))]
        case Overwrite():
            return [Part(target.overwrite(rows))]
        case Merge() if write.unique and write.expect_deleted is None:
            raise InternalError.broken("a merge on a unique key needs its expected deletes")
        case Merge() if not write.has_inserts:
            return [Part(target.merge(write, rows, inserts=False), write)]
        case Merge() if write.target_is_large:
            matched = Part(target.merge(write, rows, inserts=False), write)
            return [matched, Part(target.append(rows, only="insert"))]
        case Merge():
            return [Part(target.merge(write, rows, inserts=True), write)]


def check_expected(
    name: TableName, run_id: RunId, merge: Merge | None, snapshot: IcebergSnapshot
) -> None:
    """Nothing, or CheckFailedError when stored rows contradict the change that was merged."""
    if merge is None:
        return
    for kind, wanted in (("updated", merge.expect_updated), ("deleted", merge.expect_deleted)):
        found = _merged(snapshot, kind)
        if wanted is not None and found != wanted:
            raise CheckFailedError(
                f'stored rows of table "{name}" contradict the change',
                detail=f"{wanted} stored rows should be {kind}, {found} were found",
                hint="rebuild the view, and report this with its definition",
                run_id=run_id,
                step="write",
            )


def _merged(snapshot: IcebergSnapshot, kind: str) -> int | None:
    """Stored rows updated or deleted by a MERGE; None when Spark did not say and rows changed."""
    text = snapshot.summary.get(METRIC + kind)
    if text is not None:
        return int(text)
    return None if changed_rows(snapshot) else 0


def committed(landed: Sequence[IcebergSnapshot]) -> Committed:
    """The storage version of a published run and what its parts wrote."""
    inserted = updated = deleted = 0
    for snapshot in landed:
        if METRIC + "inserted" in snapshot.summary:
            inserted += count(snapshot, METRIC + "inserted")
            updated += count(snapshot, METRIC + "updated")
            deleted += count(snapshot, METRIC + "deleted")
        else:
            inserted += count(snapshot, "added-records")
            masked = count(snapshot, "removed-position-deletes")
            deleted += count(snapshot, "deleted-records") - masked
    return Committed(Version(str(landed[-1].id)), inserted, updated, deleted)
