"""How the rows of a refresh go into the storage table: the cheapest write that means the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.bind.write_choice import Way, WriteFigures, choose_way
from grebe.compiler.write.steps import COPIES, MergeStep
from grebe.engine.delta_statistics import literal, prunes
from grebe.engine.source_deltas import ends_of
from grebe.formats.base import ACTION, TARGET, Append, KeyBounds, Merge, Rows, VersionStats, Write
from grebe.sql_text import quote

if TYPE_CHECKING:
    import pyarrow as pa


def merge_of(
    rows: pa.Table,
    step: MergeStep,
    target: VersionStats,
    *,
    can_rewrite: bool = False,
    on_driver: bool = False,
) -> tuple[Way, Write | None]:
    """How rows that are on the driver are written; the write itself, unless all rows go anew."""
    counts = expected(rows)
    prune = range_of(rows, step.on, target)
    replaces = bool(counts.get("update") or counts.get("delete"))
    figures = WriteFigures(
        rows.num_rows, replaces, target.rows, can_rewrite, prune is not None, on_driver
    )
    way = choose_way(figures)
    kept = rows.drop_columns([COPIES])
    if way is Way.ANEW:
        return way, None
    if way is Way.APPEND:
        return way, Append(Rows(arrow=kept.drop_columns([ACTION])))
    return way, Merge(
        Rows(arrow=kept),
        step.on,
        expect_updated=counts.get("update", 0),
        expect_deleted=counts.get("delete", 0),
        has_inserts="insert" in counts,
        prune=prune,
        target_is_large=way is Way.MERGE_LARGE,
        signed=step.signed,
    )


def changed_by(rows: pa.Table) -> int:
    """How many stored rows change when some are written."""
    import pyarrow.compute as pc

    counts = expected(rows)
    inserted = rows.filter(pc.equal(rows[ACTION], "insert")).num_rows
    return int(inserted + counts.get("update", 0) + counts.get("delete", 0))


def expected(rows: pa.Table) -> dict[str, int]:
    """How many stored rows each action must match."""
    summed = rows.group_by(ACTION).aggregate([(COPIES, "sum")]).to_pylist()
    return {row[ACTION]: int(row[f"{COPIES}_sum"]) for row in summed}


def range_of(rows: pa.Table, on: Sequence[str], target: VersionStats) -> str | None:
    """A condition that lets the scan of the target skip files, where it would skip many."""
    import pyarrow.compute as pc

    matched = rows.filter(pc.not_equal(rows[ACTION], "insert"))
    found = []
    for name in on:
        ends = pruning(matched[name], target.bounds.get(name, ()))
        if ends:
            found.append(f"{TARGET}.{quote(name)} BETWEEN {ends[0].text} AND {ends[1].text}")
    return " AND ".join(found) or None


def pruning(values: pa.ChunkedArray, files: Sequence[KeyBounds]) -> tuple[Scalar, Scalar] | None:
    """The ends of some keys, where files that lie outside of them make up most of a table."""
    ends = _ends(values)
    if ends is None or not prunes(files, *ends):
        return None
    low, high = (literal(end) for end in ends)
    return (low, high) if low and high else None


def _ends(values: pa.ChunkedArray) -> tuple[object, object] | None:
    """The smallest and the largest value; None where a range would lose a NULL."""
    import pyarrow as pa

    ordered = pa.types.is_integer(values.type) or pa.types.is_date(values.type)
    return ends_of(values) if ordered and not values.null_count else None
