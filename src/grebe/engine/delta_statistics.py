"""What is known of the deltas of a refresh once they are read: all that `bind` can make use of."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from grebe import thresholds
from grebe.compiler.algebra.key_bounds import Bounds, Parameter
from grebe.compiler.algebra.scalar import Scalar, build
from grebe.compiler.bind.situation import DeltaFacts
from grebe.compiler.bind.sizes import SideSizes
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.engine.source_deltas import SourceDelta
from grebe.formats.base import KeyBounds, VersionStats
from grebe.model import TableName

_PLAIN: Final = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    *("string", "binary", "date", "timestamp", "timestamp_ntz"),
)
"""Types of columns that go to the driver and back as they are."""


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


@dataclass(frozen=True, slots=True)
class SourceStatistics:
    """Figures of one source, asked of its metadata when they are needed."""

    side: SourceDelta

    @property
    def rows(self) -> int | None:
        """How many rows it has."""
        return self.side.source.version_stats(self.side.new, []).rows

    def is_plain(self, column: str) -> bool:
        """Whether values of a column go to the driver and back as they are."""
        kinds = {item.id: item.type for item in self.side.source.schema_at(self.side.new).columns}
        return goes_to_driver(kinds[self.side.columns[column]])

    def width(self, column: str) -> int | None:
        """How many different values an integer column can have at most."""
        wanted = [self.side.columns[column]]
        return width_of(
            self.side.source.version_stats(self.side.new, wanted).bounds.get(column, ())
        )


def goes_to_driver(kind: str) -> bool:
    """Whether values of a type go to the driver and back as they are."""
    return kind.split("(", maxsplit=1)[0] in _PLAIN


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
    if len(files) < thresholds.RANGE_FILES:
        return False
    kept = sum(file.bytes for file in files if _may_hold(file, low, high))
    return kept <= sum(file.bytes for file in files) * thresholds.RANGE_SHARE


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
