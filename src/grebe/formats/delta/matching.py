"""Which stored rows a merge will find, counted before it runs: on the driver, by Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from grebe.errors import CheckFailedError
from grebe.formats.base import ACTION, KeyBounds, Merge
from grebe.model import RunId, TableName

ACTIONS = ("insert", "update", "delete")


@dataclass(frozen=True, slots=True)
class FoundRows:
    """How many stored rows each action matches."""

    updated: int
    deleted: int
    inserted_over: int
    """Stored rows whose key is inserted again."""
    claimed_twice: bool
    """Two changes claim one stored row."""


def check(name: TableName, run_id: RunId, merge: Merge, found: FoundRows) -> None:
    """Nothing, or CheckFailedError when stored rows contradict the change."""
    problems = [
        f"{wanted} stored rows should be {kind}, {number} were found"
        for kind, wanted, number in (
            ("updated", merge.expect_updated, found.updated),
            ("deleted", merge.expect_deleted, found.deleted),
            ("no longer stored before their key is inserted", 0, found.inserted_over),
        )
        if wanted is not None and wanted != number
    ]
    if found.claimed_twice:
        problems.append("several changes claim one stored row")
    if problems:
        raise CheckFailedError(
            f'stored rows of table "{name}" contradict the change',
            detail="; ".join(problems),
            hint="rebuild the view, and report this with its definition",
            run_id=run_id,
            step="write",
        )


def count(stored: pa.Table, changes: pa.Table, merge: Merge) -> FoundRows:
    """What a merge will find among stored rows, which hold at least every row it can match."""
    on = list(merge.on)
    stored = _near(stored.select(on), changes)
    ones = pa.repeat(pa.scalar(1, pa.int64()), stored.num_rows)
    zeros = pa.repeat(pa.scalar(0, pa.int64()), changes.num_rows)
    left = {"stored": ones} | {
        a: pa.repeat(pa.scalar(0, pa.int64()), stored.num_rows) for a in ACTIONS
    }
    right = {"stored": zeros} | {
        action: pc.equal(changes[ACTION], action).cast(pa.int64()) for action in ACTIONS
    }
    keys = [f"k{index}" for index in range(len(on))]
    sides = [
        pa.table(dict(zip(keys, table.select(on).columns, strict=True)) | extra)
        for table, extra in ((stored, left), (changes, right))
    ]
    sums = (
        pa.concat_tables(sides)
        .group_by(keys)
        .aggregate([("stored", "sum"), *((action, "sum") for action in ACTIONS)])
    )
    kept = sums.filter(pc.greater(sums["stored_sum"], 0))
    updates, deletes, inserts = (kept[f"{a}_sum"] for a in ("update", "delete", "insert"))
    number = kept["stored_sum"]
    return FoundRows(
        updated=_total(number, pc.greater(updates, 0)),
        deleted=_total(number, pc.greater(deletes, 0)),
        inserted_over=_total(number, pc.greater(inserts, 0)) if merge.unique else 0,
        claimed_twice=bool(pc.any(pc.greater(pc.add(updates, deletes), 1)).as_py()),
    )


def _near(stored: pa.Table, changes: pa.Table) -> pa.Table:
    """The stored rows that agree with some change in their first key column."""
    if not stored.num_columns:
        return stored
    name = stored.column_names[0]
    values = changes[name].combine_chunks()
    return stored.filter(pc.is_in(stored[name], value_set=values, skip_nulls=False))


def _total(number: pa.ChunkedArray, where: pa.ChunkedArray) -> int:
    return int(pc.sum(number.filter(where)).as_py() or 0)


def may_hold(bounds: Sequence[KeyBounds], changes: pa.Table) -> bool:
    """Whether a file with these bounds of the key columns can hold a row that a change matches."""
    for bound in bounds:
        column = changes[bound.column]
        if column.null_count or bound.low is None or bound.high is None:
            continue
        ends = pc.min_max(column).as_py()
        if ends["min"] is None or ends["max"] < bound.low or ends["min"] > bound.high:
            return False
    return True
