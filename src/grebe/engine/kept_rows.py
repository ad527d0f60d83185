"""Rows of large sources that are near a change, read once per run for every view that needs them.

Whole runs read the same few rows again and again: the lines of the orders that changed, in every
view that joins the two. They are kept on the driver as the deltas are, and a scan that says that
such rows are enough is given them instead of the table. It would be right with any rows beside
them, so what is kept is chosen wide: for all columns that any view reads, and all keys that the
views tie together.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from grebe.compiler.algebra.join_keys import ColumnPlace
from grebe.compiler.algebra.nodes import At, RowsNear, Scan
from grebe.engine.delta_statistics import literal, prunes, width_of
from grebe.engine.small_views import repeated
from grebe.engine.source_deltas import Delta, SourceDelta, ends_of
from grebe.errors import InternalError
from grebe.formats.base import WEIGHT
from grebe.formats.identity import consolidate_arrow, quoted
from grebe.model import TableName, Version
from grebe.sql_text import made

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

LARGE: Final = 200_000
"""Rows of a source from which reading it once less is worth a trip to the driver."""
MOST: Final = 100_000
"""Rows that are expected at most, to be kept on the driver."""
_SHARE: Final = 4
"""A source must be this many times larger than what is kept of it."""
_KEY: Final = made("near")
_PLAIN: Final = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    *("string", "binary", "date", "timestamp", "timestamp_ntz"),
)
"""Types of columns that go to the driver and back as they are."""


@dataclass(slots=True)
class Kept:
    """Rows of one version of a source, on the driver."""

    rows: pa.Table
    schema: StructType
    before: Kept | None = None
    """The same at the version before the change, when somebody asked."""

    def frame(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        """Some of their columns in a session."""
        from pyspark.sql.types import StructType

        part = StructType([self.schema[name] for name in columns])
        return spark.createDataFrame(self.rows.select(list(columns)), schema=part)


_Id = tuple[
    TableName, Version, str, tuple[int, ...], frozenset[tuple[ColumnPlace, Version | None, Version]]
]


@dataclass(slots=True)
class KeptRows:
    """What one run keeps; asked for by several views at once, each part read once."""

    columns: Mapping[TableName, tuple[int, ...]]
    """The columns that any view of the run reads, by table."""
    readers: Sequence[frozenset[str]]
    """The tables of each view of the run."""
    ties: Mapping[ColumnPlace, frozenset[ColumnPlace]]
    """Columns that the views of the run set equal."""
    kept: dict[_Id, Kept | None] = field(default_factory=dict)
    locks: dict[_Id, threading.Lock] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def is_shared(self, places: Sequence[ColumnPlace]) -> bool:
        """True when more than one view of the run reads all of these."""
        tables = {table for table, _ in places}
        return sum(tables <= reader for reader in self.readers) > 1

    def of(
        self, spark: SparkSession, sides: Mapping[str, SourceDelta], scan: Scan, near: RowsNear
    ) -> Kept | None:
        """The rows that are enough for a scan, and more; None where all of them are read."""
        side, column = sides[scan.table], near.column
        moved = self._moved(sides, (scan.table, column), near)
        windows = frozenset((other, item.old, item.new) for other, item in moved.items())
        columns = self._columns(side)
        key = (side.source.name, side.new, column, columns, windows)
        with self.guard:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.kept:
                self.kept[key] = self._read(spark, side, column, columns, moved)
            kept = self.kept[key]
            if kept is not None and scan.at is At.OLD and side.delta is not None:
                kept.before = kept.before or _before(kept, side.delta)
                return kept.before
            return kept

    def _moved(
        self, sides: Mapping[str, SourceDelta], place: ColumnPlace, near: RowsNear
    ) -> dict[ColumnPlace, SourceDelta]:
        """The deltas whose keys count: those that the scan names, and what views tie to them."""
        wanted = self.ties.get(place, frozenset()) | {place, *near.deltas}
        found = {
            other: sides[other[0]]
            for other in wanted
            if other in near.deltas or (other[0] in sides and other[1] in sides[other[0]].columns)
        }
        return {
            other: side
            for other, side in found.items()
            if side.delta is not None and not side.delta.is_empty
        }

    def _columns(self, side: SourceDelta) -> tuple[int, ...]:
        """What any view of the run reads of a source, where the delta has it, too."""
        held = None if side.delta is None else side.delta.arrow
        known = {
            item.id
            for item in side.source.schema_at(side.new).columns
            if held is None or item.name in held.column_names
        }
        return tuple(number for number in self.columns[side.source.name] if number in known)

    def _read(
        self,
        spark: SparkSession,
        side: SourceDelta,
        column: str,
        wanted: tuple[int, ...],
        moved: Mapping[ColumnPlace, SourceDelta],
    ) -> Kept | None:
        keys = _keys(side, column, moved)
        if keys is None or not _is_worth_it(side, column, keys):
            return None
        kinds = {item.id: item.type for item in side.source.schema_at(side.new).columns}
        if not wanted or any(not is_plain(kinds[number]) for number in wanted):
            return None
        few = spark.createDataFrame(keys.rename_columns([_KEY]))
        rows = side.source.read_at(side.new, wanted)
        within = _range(side, column, keys)
        rows = rows.where(within) if within else rows
        near = rows.join(
            few.hint("broadcast"), rows[quoted(column)].eqNullSafe(few[_KEY]), "left_semi"
        )
        arrow = collected(near)
        return None if arrow is None else Kept(arrow, near.schema)


_TOO_LARGE: Final = "maxResultSize"
"""Spark's own word for a result that it did not bring to the driver."""


def collected(frame: DataFrame) -> pa.Table | None:
    """The rows on the driver, or None when they are too many for it."""
    try:
        return frame.toArrow()
    except Exception as error:
        if _TOO_LARGE not in str(error):
            raise
        return None


def _before(kept: Kept, delta: Delta) -> Kept:
    """The rows without the change: every changed row is near itself."""
    if delta.arrow is None:
        raise InternalError.broken("rows near a change that is not on the driver")
    changed = delta.arrow.select([*kept.rows.column_names, WEIGHT])
    return Kept(less(kept.rows, changed), kept.schema)


def less(rows: pa.Table, changed: pa.Table) -> pa.Table:
    """The rows of a version before a change that they went through, given its weighted rows."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    ones = pa.array(np.ones(rows.num_rows, np.int64))
    here = rows.append_column(WEIGHT, ones)
    taken = changed.set_column(rows.num_columns, WEIGHT, pc.negate(changed[WEIGHT]))
    left = consolidate_arrow(pa.concat_tables([here, taken.cast(here.schema)]))
    if left.num_rows and pc.min(left[WEIGHT]).as_py() < 0:
        raise InternalError.broken("rows near a change do not hold the change itself")
    return repeated(left)


def is_plain(kind: str) -> bool:
    """Whether values of a type go to the driver and back as they are."""
    return kind.split("(", maxsplit=1)[0] in _PLAIN


def _keys(
    side: SourceDelta, column: str, moved: Mapping[ColumnPlace, SourceDelta]
) -> pa.Table | None:
    """The distinct values of the deltas' columns; None unless all are on the driver, of one type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[pa.ChunkedArray] = []
    for (_, own), item in sorted(moved.items(), key=lambda entry: entry[0]):
        if item.delta is None or item.delta.arrow is None:
            return None
        parts.append(item.delta.arrow[own])
    kinds = {part.type for part in parts}
    if len(kinds) != 1:
        return None
    chunks = [chunk for part in parts for chunk in part.chunks]
    whole = pa.chunked_array(chunks, type=next(iter(kinds)))
    return pa.table({column: pc.unique(whole)})


def _is_worth_it(side: SourceDelta, column: str, keys: pa.Table) -> bool:
    """True when few rows of a large source are expected."""
    stats = side.source.version_stats(side.new, [side.columns[column]])
    if stats.rows is None or stats.rows < LARGE:
        return False
    # No more different values than there are numbers in their range: so many rows at least for each.
    width = width_of(stats.bounds.get(column, ())) or max(1, stats.rows)
    expected = keys.num_rows * max(1.0, stats.rows / width)
    return bool(expected <= min(MOST, stats.rows / _SHARE))


def _range(side: SourceDelta, column: str, keys: pa.Table) -> str | None:
    """A condition that skips files which hold none of the keys, where it skips enough."""
    values = keys[column]
    ends = ends_of(values) if values.null_count == 0 else None
    stats = side.source.version_stats(side.new, [side.columns[column]])
    if ends is None or not prunes(stats.bounds.get(column, ()), *ends):
        return None
    low, high = literal(ends[0]), literal(ends[1])
    if low is None or high is None:
        return None
    return f"{quoted(column)} BETWEEN {low.text} AND {high.text}"
