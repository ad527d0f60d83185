"""What is known of the deltas of a refresh once they are read: all that `bind` can make use of."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Final, cast

from grebe.compiler.algebra.key_bounds import Bounds, Parameter
from grebe.compiler.algebra.scalar import Scalar, build
from grebe.compiler.bind.broadcast import SideSizes
from grebe.compiler.plan.refresh_plan import DeltaFacts, RefreshPlan
from grebe.engine.source_deltas import SourceDelta
from grebe.formats.base import KeyBounds, VersionStats
from grebe.model import TableName

_SEVERAL: Final = 2
_PRUNES: Final = 0.5
"""Share of bytes up to which a range of keys is worth a filter: where it skips none, it costs."""


def delta_facts(
    plan: RefreshPlan, sides: Mapping[TableName, SourceDelta], stored: int | None = None
) -> DeltaFacts:
    """The facts of some deltas, of the sources that they are joined with, and of what is stored."""
    deltas = {str(name): side.delta for name, side in sides.items() if side.delta}
    stats = {str(name): _stats(side) for name, side in sides.items()}
    return DeltaFacts(
        unchanged=frozenset(
            str(name) for name, side in sides.items() if not side.delta or side.delta.is_empty
        ),
        insert_only=all(delta.insert_only for delta in deltas.values()),
        bounds=_bounds(plan, sides, stats),
        sizes=SideSizes(
            rows={name: item.rows for name, item in stats.items() if item.rows is not None},
            changed={name: delta.rows for name, delta in deltas.items()},
            stored=stored,
            widths={
                (name, column): width
                for name, item in stats.items()
                for column, files in item.bounds.items()
                if (width := width_of(files))
            },
        ),
        never_null=frozenset(
            (name, column)
            for name, delta in deltas.items()
            if delta.arrow is not None
            for column in delta.arrow.column_names
            if delta.arrow[column].null_count == 0
        ),
    )


def _stats(side: SourceDelta) -> VersionStats:
    return side.source.version_stats(side.new, list(side.columns.values()))


def _bounds(
    plan: RefreshPlan, sides: Mapping[TableName, SourceDelta], stats: Mapping[str, VersionStats]
) -> Bounds:
    """Key ranges of the deltas, where the files of what they filter say that they prune."""
    found: dict[Parameter, tuple[Scalar, Scalar]] = {}
    filtered = plan.ranges
    for name, side in sides.items():
        for column, low, high in side.delta.low_high if side.delta else ():
            parameter = (str(name), column)
            scans = filtered.get(parameter, ())
            ends = literal(low), literal(high)
            if (
                ends[0]
                and ends[1]
                and any(prunes(stats[table].bounds.get(own, ()), low, high) for table, own in scans)
            ):
                found[parameter] = (ends[0], ends[1])
    return found


def width_of(files: Sequence[KeyBounds]) -> int | None:
    """How many integers lie between the smallest and the largest value; None for anything else."""
    lows = [file.low for file in files if type(file.low) is int]
    highs = [file.high for file in files if type(file.high) is int]
    if not files or len(lows) < len(files) or len(highs) < len(files):
        return None
    return max(highs) - min(lows) + 1


def prunes(files: Sequence[KeyBounds], low: object, high: object) -> bool:
    """True when a filter on a range skips enough of what the files hold.

    Not of their number: after updates all over a table, small files with the whole range of keys
    outnumber the large ones that a filter skips.
    """
    if len(files) < _SEVERAL:
        return False
    kept = sum(file.bytes for file in files if _may_hold(file, low, high))
    return kept <= sum(file.bytes for file in files) * _PRUNES


def _may_hold(file: KeyBounds, low: object, high: object) -> bool:
    for kind in (int, datetime.date):
        ends = (file.low, file.high, low, high)
        if all(type(end) is kind for end in ends):
            first, last, lowest, highest = cast("tuple[int, int, int, int]", ends)
            return first <= highest and lowest <= last
    return True


def literal(value: object) -> Scalar | None:
    """A value as an expression that the compiler knows, or None for a type it has no literal of."""
    if isinstance(value, (bool, datetime.datetime)):
        return None
    if isinstance(value, int):
        return build(str(value))
    if isinstance(value, datetime.date):
        return build(f"DATE '{value.isoformat()}'")
    return None
