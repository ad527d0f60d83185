"""Each source's changes, read once per run and shared by every view of it.

A kept delta is Arrow on the driver, or a staged table in the storage's own catalog; never a
DataFrame (they cannot cross sessions), never a bare path (executors must reach it).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grebe.errors import InternalError
from grebe.formats.base import WEIGHT, Changes, Source, check_total
from grebe.formats.frames import to_frame
from grebe.formats.identity import consolidate_arrow, consolidate_frame
from grebe.model import TableName, Version, Window
from grebe.sql_text import quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Stage = Callable[["DataFrame"], str]
"""Writes rows where every session of the run can read them; the SQL text to read them by."""

_Key = tuple[TableName, Window, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Delta:
    """The consolidated changes of one source over one window."""

    way: str
    rows: int
    insertions: int
    arrow: pa.Table | None = None
    staged: str | None = None
    types: tuple[tuple[str, str], ...] = ()
    """The Spark types of the columns: Arrow alone would lose timestamps without a zone."""
    low_high: tuple[tuple[str, object, object], ...] = ()
    """Smallest and largest value per column, where the delta is on the driver."""

    @property
    def changed(self) -> int:
        """Rows that changed, as statistics count them: an update is one."""
        return max(self.insertions, self.rows - self.insertions)

    @property
    def is_empty(self) -> bool:
        """True when nothing changed on balance."""
        return self.rows == 0

    @property
    def insert_only(self) -> bool:
        """True when every change adds rows."""
        return self.rows == self.insertions

    def frame(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        """The delta in a session, consolidated over some of its columns."""
        if self.arrow is not None:
            part = self.arrow.select([*columns, WEIGHT])
            if len(columns) + 1 < self.arrow.num_columns:
                part = consolidate_arrow(part)
            return to_frame(spark, part, {**dict(self.types), WEIGHT: "bigint"})
        if self.staged is None:
            raise InternalError.broken("a delta is neither on the driver nor staged")
        whole = spark.sql(f"SELECT * FROM {self.staged}")
        part = whole.select(*(quote(name) for name in (*columns, WEIGHT)))
        return consolidate_frame(part) if len(part.columns) < len(whole.columns) else part


@dataclass(frozen=True, slots=True)
class SourceDelta:
    """One source in a refresh: where it is read from and what changed."""

    source: Source
    columns: Mapping[str, int]
    """The ids of the columns that the view reads, by name."""
    old: Version | None
    new: Version
    delta: Delta | None = None


@dataclass(slots=True)
class Deltas:
    """The deltas of one run; asked for by several views at once, each read once."""

    columns: dict[TableName, tuple[int, ...]]
    """The columns that any view of the run reads, by table."""
    stage: Stage
    kept: dict[_Key, Delta] = field(default_factory=dict)
    locks: dict[_Key, threading.Lock] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def read(self, name: TableName, source: Source, window: Window, needed: Sequence[int]) -> Delta:
        """The delta of a source over a window, with the columns that a view needs of it.

        What other views read beside them comes along where the window has it: a column that one
        of them cannot follow through the window is nobody else's concern.
        """
        columns = self._readable(name, source, window, needed)
        key = (name, window, columns)
        with self.guard:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.kept:
                changes = source.changes(window, columns)
                self.kept[key] = self._keep(source, window, changes)
            return self.kept[key]

    def _readable(
        self, name: TableName, source: Source, window: Window, needed: Sequence[int]
    ) -> tuple[int, ...]:
        wanted = self.columns[name]
        if source.unreadable(window, wanted) is None:
            return wanted
        return tuple(
            number
            for number in wanted
            if number in needed or source.unreadable(window, (number,)) is None
        )

    def _keep(self, source: Source, window: Window, changes: Changes) -> Delta:
        if changes.arrow is not None:
            columns = source.schema_at(window.upto).columns
            types = tuple((column.name, column.type) for column in columns)
            return _on_driver(changes.way, changes.arrow, types)
        if changes.frame is None:
            raise InternalError.broken("changes without rows")
        staged = self.stage(changes.frame)
        spark = changes.frame.sparkSession
        weight = quote(WEIGHT)
        (counted,) = spark.sql(
            f"SELECT COUNT(*), COUNT_IF({weight} > 0), COALESCE(SUM({weight}), 0) FROM {staged}"
        ).collect()
        check_total(source.name, window, changes.total, int(counted[2]))
        return Delta(changes.way, int(counted[0]), int(counted[1]), staged=staged)


def _on_driver(way: str, arrow: pa.Table, types: tuple[tuple[str, str], ...]) -> Delta:
    import pyarrow.compute as pc

    insertions = pc.sum(pc.greater(arrow[WEIGHT], 0)).as_py() or 0
    return Delta(way, arrow.num_rows, int(insertions), arrow, types=types, low_high=_bounds(arrow))


def _bounds(arrow: pa.Table) -> tuple[tuple[str, object, object], ...]:
    import pyarrow as pa

    found: list[tuple[str, object, object]] = []
    for name in arrow.column_names:
        kind = arrow.schema.field(name).type
        ordered = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_date(kind)
        if ordered and name != WEIGHT:
            ends = ends_of(arrow[name])
            if ends is not None:
                found.append((name, *ends))
    return tuple(found)


def ends_of(values: pa.ChunkedArray) -> tuple[object, object] | None:
    """The smallest and the largest value; None without any, or beyond what Python can name."""
    import pyarrow.compute as pc

    try:
        ends = pc.min_max(values).as_py()
    except OverflowError:  # a date outside of the years 1 to 9999, which Spark has
        return None
    return None if ends["min"] is None else (ends["min"], ends["max"])
