"""The changes of a window: by DuckLake's feed where it can be trusted, else by its files.

`ducklake_rewrite_data_files` pollutes the feed: its snapshot repeats rows, and deletes that were
told before, and older changes come back with other values, at times with the right count. So a
window after whose beginning files were rewritten is read as the difference of its two versions,
from the files and inlined rows that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from grebe import thresholds
from grebe.formats.base import WEIGHT, Changes, WindowStats, check_total
from grebe.formats.ducklake.catalog_rows import CatalogRows, Table
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.duck_rows import feed_query, rows_query, weighted
from grebe.formats.ducklake.schema import LakeField, selected
from grebe.formats.ducklake.state import LakeFile, TableState, read_state, touched
from grebe.formats.ducklake.versions import INSERTS, KNOWN, REWRITES, ROW_KINDS, Ends
from grebe.model import TableName, Window

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_NOTHING = TableState(-1, (), ())


def stats(lake: Session, ends: Ends) -> WindowStats:
    """What the catalog says of a window."""
    states = States(lake, ends)
    old, new = states.old, states.new
    gone, came = states.touched
    known = {file.id for file in old.files}
    added: int | None = None
    if all(file.whole_at(new.snapshot) for file in came):
        added = sum(file.records for file in came if file.id not in known)
        added += max(0, _inlined(new) - _inlined(old))
    return WindowStats(
        rows_added=added,
        rows_removed=None if added is None else max(0, added - ends.total),
        files_added=len({file.id for file in new.files} - known),
        files_removed=len(known - {file.id for file in new.files}),
        bytes=sum(file.size for file in (*gone, *came)),
        only_maintenance=states.only_maintenance(),
    )


def _inlined(state: TableState) -> int:
    return sum(count for _, count in state.inlined)


class States:
    """Both ends of a window, read when asked for."""

    def __init__(self, lake: Session, ends: Ends) -> None:
        self.lake = lake
        self.ends = ends
        self.catalog = CatalogRows(lake)

    @cached_property
    def old(self) -> TableState:
        """The state that the window begins with."""
        after = self.ends.after
        return _NOTHING if after is None else read_state(self.catalog, self.ends.table, after)

    @cached_property
    def new(self) -> TableState:
        """The state that the window ends with."""
        return read_state(self.catalog, self.ends.table, self.ends.upto)

    @cached_property
    def touched(self) -> tuple[list[LakeFile], list[LakeFile]]:
        """The files that differ, of either end."""
        return touched(self.old, self.new)

    @property
    def differ(self) -> bool:
        """Whether any file differs, or there are inlined rows, which may."""
        return any(self.touched) or bool(self.old.inlined or self.new.inlined)

    def table_at(self, state: TableState) -> Table:
        """The table under the name that it has in a state."""
        return self.catalog.table_at(self.ends.table, state.snapshot)

    def only_maintenance(self) -> bool:
        """Whether no row changed, by what the commits say and by the row counts.

        A flush of inlined deletes says that it deleted rows. Without any insert, an equal count
        proves that it did not.
        """
        after, upto = self.ends.after, self.ends.upto
        if after is None or self.ends.total != 0:
            return False
        low, high = sorted((after, upto))
        if self.catalog.missing(low, high):
            return low == high
        if not self._keeps_columns(low, high):
            return False
        touches = [s for s in self.catalog.touches(self.ends.table, low) if s.id <= high]
        kinds = frozenset[str]().union(*(snapshot.kinds for snapshot in touches))
        flushed = all("inline_flush" in s.kinds or not s.kinds & ROW_KINDS for s in touches)
        return kinds <= KNOWN and not kinds & INSERTS and flushed

    def _keeps_columns(self, low: int, high: int) -> bool:
        """Whether every column of one end is in the other as it was; more there may be."""
        before, now = (
            {field.identity for field in self.catalog.columns(self.ends.table, end)}
            for end in (low, high)
        )
        return before <= now

    def feed_is_trusted(self) -> bool:
        """Whether DuckLake's feed tells the window as it was."""
        after, upto = self.ends.after, self.ends.upto
        if after is None:
            return False
        low = min(after, upto)
        newest = self.catalog.newest().id
        if self.catalog.missing(low, newest):
            return False
        kinds = [s.kinds for s in self.catalog.touches(self.ends.table, low)]
        return all(known <= KNOWN and not known & REWRITES for known in kinds)


@dataclass(frozen=True, slots=True)
class WindowReader:
    """Reads one window in some columns; ``before`` are the same columns as they were called."""

    name: TableName
    window: Window
    lake: Session
    ends: Ends
    fields: Sequence[LakeField]
    before: Sequence[LakeField]

    def changes(self, spark: Callable[[], SparkSession] | None, budget: int) -> Changes:
        """The consolidated changes, on the driver when they fit there."""
        from grebe.formats.identity import consolidate_arrow

        states = States(self.lake, self.ends)
        gone, came = states.touched
        size = sum(file.size for file in (*gone, *came))
        if not self.fields:
            return self._only_total(self.ends.total)
        large = spark is not None and size > budget
        way, rows = "feed/duckdb", None
        if self.ends.after == self.ends.upto or not states.differ:
            way, rows = "no-row-changed", self._nothing(states)
        elif (not large or self._is_few(states, budget)) and states.feed_is_trusted():
            rows = self._feed()
            if _sum(rows) != self.ends.total:
                rows = None
        if rows is None and spark is not None and large:
            return self._by_spark(states, spark())
        if rows is None:
            way, rows = "files/duckdb", self._difference(states)
        check_total(self.name, self.window, self.ends.total, _sum(rows))
        return Changes(way, arrow=consolidate_arrow(rows), bytes_read=size, total=self.ends.total)

    @staticmethod
    def _is_few(states: States, budget: int) -> bool:
        """Whether the feed fits on the driver: only what changed, in however large files it lies."""
        return budget >= 0 and moved(*states.touched) <= thresholds.FEED_ROWS

    @property
    def _names(self) -> list[str]:
        return [field.name for field in self.fields]

    def _feed(self) -> pa.Table:
        """The rows of the feed; of a window that leads back, what the way forth told, negated."""
        import pyarrow.compute as pc

        after, upto = self.ends.after, self.ends.upto
        assert after is not None
        low, high = sorted((after, upto))
        table = CatalogRows(self.lake).table_at(self.ends.table, high)
        fields = self.fields if upto == high else self.before
        query = feed_query(self.lake, table, fields, self._names, (low + 1, high))
        rows = self.lake.arrow(query)
        if upto == high:
            return rows
        weights = pc.negate(rows[WEIGHT])
        return rows.set_column(rows.num_columns - 1, WEIGHT, weights)

    def _difference(self, states: States) -> pa.Table:
        import pyarrow as pa

        gone, came = states.touched
        parts = []
        sides = ((states.old, gone, self.before, -1), (states.new, came, self.fields, 1))
        for state, files, fields, sign in sides:
            if state is _NOTHING:
                continue
            items = selected(fields, self._names)
            query = rows_query(self.lake, states.table_at(state), state, files, items)
            parts.append(weighted(self.lake, query, sign))
        return pa.concat_tables(parts)

    def _nothing(self, states: States) -> pa.Table:
        table = states.table_at(states.new).sql(self.lake)
        items = selected(self.fields, self._names)
        at = f"AT (VERSION => {states.new.snapshot})"
        return weighted(self.lake, f"SELECT {items} FROM {table} {at} LIMIT 0", 1)

    def _by_spark(self, states: States, spark: SparkSession) -> Changes:
        from grebe.formats.ducklake.spark_rows import FileSide, read_weighted
        from grebe.formats.identity import consolidate_frame

        gone, came = states.touched
        sides = [FileSide(states.table_at(states.new), states.new, came, self.fields, 1)]
        if self.ends.after is not None:
            old = states.table_at(states.old)
            sides.append(FileSide(old, states.old, gone, self.before, -1))
        frame = read_weighted(spark, self.lake, sides, self._names)
        return Changes("files/spark", frame=consolidate_frame(frame), total=self.ends.total)

    @staticmethod
    def _only_total(total: int) -> Changes:
        """The changes without any column: how many rows there are more."""
        import pyarrow as pa

        weights = pa.array([total] if total else [], pa.int64())
        return Changes("metadata", arrow=pa.table({WEIGHT: weights}), bytes_read=0, total=total)


def moved(gone: Sequence[LakeFile], came: Sequence[LakeFile]) -> int:
    """About how many rows differ between two lists of files, by what they say of themselves."""
    old, new = ({file.id: file for file in files} for files in (gone, came))
    both = old.keys() & new.keys()
    apart = [file for files in (old, new) for number, file in files.items() if number not in both]
    return sum(file.records for file in apart) + sum(
        abs(new[number].deleted - old[number].deleted) for number in both
    )


def _sum(rows: pa.Table) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(rows[WEIGHT]).as_py() or 0)
