"""Rows of large sources that are near a change, read once per run for every view that needs them.

Whole runs read the same few rows again and again: the lines of the orders that changed, in every
view that joins the two. They are kept on the driver as the deltas are, and a scan that says that
such rows are enough is given them instead of the table. It would be right with any rows beside
them, so what is kept is chosen wide: for all columns that any view reads, and all keys that the
views tie together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from grebe.compiler.algebra.join_keys import ColumnPlace
from grebe.compiler.algebra.nodes import At, RowsNear, Scan
from grebe.compiler.delta.weighted import SIDE
from grebe.engine.delta_statistics import goes_to_driver, literal, prunes, width_of
from grebe.engine.small_views import repeated
from grebe.engine.source_deltas import Delta, SourceDelta, ends_of
from grebe.errors import InternalError
from grebe.formats.base import WEIGHT, VersionStats
from grebe.formats.frames import to_frame
from grebe.formats.identity import consolidate_arrow
from grebe.formats.near_rows import NearKeys
from grebe.model import TableName, Version
from grebe.sql_text import made, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_KEY: Final = made("near")


@dataclass(slots=True)
class Kept:
    """Rows of one version of a source, on the driver."""

    rows: pa.Table
    types: Mapping[str, str]
    """Spark's types of their columns."""
    before: Kept | None = None
    """The same at the version before the change, when somebody asked."""

    def frame(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        """Some of their columns in a session."""
        return to_frame(spark, self.rows.select(list(columns)), self.types)


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

    def asked(
        self, sides: Mapping[str, SourceDelta], scan: Scan, near: RowsNear, scans: int
    ) -> NearRows | None:
        """What is known of the rows that a scan needs; None where they were too many for the driver."""
        side = sides[scan.table]
        moved = self._deltas(sides, (scan.table, near.column), near)
        found = NearRows(side, near.column, self._columns(side), moved, scans)
        found.is_shared = self.is_shared([(scan.table, near.column), *near.deltas])
        return None if found.id in self.kept and self.kept[found.id] is None else found

    def read(self, spark: Callable[[], SparkSession], asked: NearRows, at: At) -> Kept:
        """The rows that are enough for a scan, and more.

        Raises:
            TooManyRowsError: they do not fit on the driver; nobody is asked for them again.
        """
        with self.guard:
            lock = self.locks.setdefault(asked.id, threading.Lock())
        with lock:
            if asked.id not in self.kept:
                self.kept[asked.id] = asked.read(spark)
            kept = self.kept[asked.id]
            if kept is None:
                raise TooManyRowsError
            delta = asked.side.delta
            if at is At.OLD and delta is not None:
                kept.before = kept.before or _before(kept, delta)
                return kept.before
            return kept

    def is_plain(self, side: SourceDelta, version: Version) -> bool:
        """Whether all columns that any view reads go to the driver and back as they are."""
        kinds = {item.id: item.type for item in side.source.schema_at(version).columns}
        wanted = self._columns(side)
        return bool(wanted) and all(
            number in kinds and goes_to_driver(kinds[number]) for number in wanted
        )

    def whole(self, side: SourceDelta, version: Version) -> Kept | None:
        """All rows of a small source on the driver; None where it cannot read them."""
        wanted = self._columns(side)
        key: _Id = (side.source.name, version, "", wanted, frozenset())
        with self.guard:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.kept:
                rows = side.source.rows_on_driver(version, wanted)
                self.kept[key] = None if rows is None else Kept(rows, types_at(side, version))
            return self.kept[key]

    def _deltas(
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


@dataclass(slots=True)
class NearRows:
    """Rows of a source that are near a change: figures to decide by, and how they are read."""

    side: SourceDelta
    column: str
    wanted: tuple[int, ...]
    moved: Mapping[ColumnPlace, SourceDelta]
    scans: int
    is_shared: bool = False
    found: list[pa.Table | None] = field(default_factory=list)

    @property
    def id(self) -> _Id:
        """The same for whoever needs the same rows."""
        windows = frozenset((other, item.old, item.new) for other, item in self.moved.items())
        return (self.side.source.name, self.side.new, self.column, self.wanted, windows)

    @property
    def rows(self) -> int | None:
        """How many rows the source has."""
        return self._stats.rows

    @property
    def is_plain(self) -> bool:
        """Whether all columns that are wanted go to the driver and back as they are."""
        kinds = {item.id: item.type for item in self.side.source.schema_at(self.side.new).columns}
        return bool(self.wanted) and all(goes_to_driver(kinds[number]) for number in self.wanted)

    @property
    def keys(self) -> int | None:
        """How many different keys the change has; None where they are not on the driver."""
        values = self._values()
        return None if values is None else values.num_rows

    @property
    def expected_rows(self) -> int:
        """How many rows there are for the keys, about."""
        rows = self.rows or 0
        return int((self.keys or 0) * max(1.0, rows / (self.width or max(1, rows))))

    @property
    def width(self) -> int | None:
        """How many different values the column can have at most."""
        return width_of(self._stats.bounds.get(self.column, ()))

    def read(self, session: Callable[[], SparkSession]) -> Kept | None:
        """The rows on the driver; None when they are too many for it."""
        keys = self._values()
        if keys is None:
            raise InternalError.broken("rows near keys that are not on the driver")
        types = types_at(self.side, self.side.new)
        near = NearKeys(self.column, keys[self.column].combine_chunks())
        found = self.side.source.rows_on_driver(self.side.new, self.wanted, near)
        if found is not None:
            return Kept(found, types)
        spark = session()
        few = spark.createDataFrame(keys.rename_columns([_KEY]))
        rows = self.side.source.read_at(self.side.new, self.wanted)
        within = _range(self.side, self.column, keys)
        rows = rows.where(within) if within else rows
        picked = rows.join(
            few.hint("broadcast"), rows[quote(self.column)].eqNullSafe(few[_KEY]), "left_semi"
        )
        arrow = collect(picked)
        return None if arrow is None else Kept(arrow, types)

    @property
    def _stats(self) -> VersionStats:
        return self.side.source.version_stats(self.side.new, [self.side.columns[self.column]])

    def _values(self) -> pa.Table | None:
        if not self.found:
            self.found.append(_keys(self.column, self.moved))
        return self.found[0]


def types_at(side: SourceDelta, version: Version) -> dict[str, str]:
    """Spark's types of a source's columns."""
    return {column.name: column.type for column in side.source.schema_at(version).columns}


class TooManyRowsError(Exception):
    """Rows that were to come to the driver do not fit there."""


_TOO_LARGE: Final = "maxResultSize"
"""Spark's own word for a result that it did not bring to the driver."""


def collect(frame: DataFrame) -> pa.Table | None:
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
    return Kept(before_change(kept.rows, changed), kept.types)


def before_change(rows: pa.Table, changed: pa.Table) -> pa.Table:
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


def taken_apart(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows of the new version and of the old one, read together (`ReadBoth`)."""
    import pyarrow.compute as pc

    new, changed = (
        rows.filter(pc.equal(rows[SIDE], side)).drop_columns([SIDE]) for side in range(2)
    )
    now = new.drop_columns([WEIGHT])
    return now, before_change(now, changed.select([*now.column_names, WEIGHT]))


def _keys(column: str, moved: Mapping[ColumnPlace, SourceDelta]) -> pa.Table | None:
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
    return f"{quote(column)} BETWEEN {low.text} AND {high.text}"
