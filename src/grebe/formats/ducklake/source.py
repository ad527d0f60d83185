"""A DuckLake table as a source: pinned reads and exact changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from grebe import thresholds
from grebe.errors import (
    HistoryExpiredError,
    InternalError,
    SchemaChangedError,
    SourceError,
    SourceReplacedError,
)
from grebe.formats.base import WEIGHT, Capabilities, Changes, Head, VersionStats, WindowStats
from grebe.formats.ducklake.catalog_rows import CatalogRows, Table
from grebe.formats.ducklake.connections import Address, Session, reading, session
from grebe.formats.ducklake.schema import LakeField, chosen, inexact, spark_text, to_model
from grebe.formats.ducklake.stats import file_bounds
from grebe.formats.ducklake.versions import Ends, VersionPoint, current, resolved
from grebe.model import Reason, Schema, TableName, Version, Window

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from grebe.formats.near_rows import NearKeys


_LOOKS = 4
T = TypeVar("T")

_ERRORS: dict[str, type[SourceError]] = {
    "history-expired": HistoryExpiredError,
    "schema-changed": SchemaChangedError,
    "source-replaced": SourceReplacedError,
}


class DuckLakeSource:
    """One DuckLake table that views read."""

    def __init__(
        self,
        name: TableName,
        address: Address,
        *,
        spark: Callable[[], SparkSession] | None = None,
        driver_budget: int = thresholds.DRIVER_BYTES,
    ) -> None:
        self._name = name
        self._address = address
        self._spark = spark
        self._budget = driver_budget
        self._seen: tuple[object, Head] | None = None

    @property
    def name(self) -> TableName:
        """The table's name."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """What this table can do."""
        return Capabilities(exact_row_counts=True, head_without_spark=True, any_two_versions=True)

    def head(self) -> Head:
        """Identity, version and schema now; asked again only when the catalog moved."""
        with session(self._address) as lake:
            catalog = CatalogRows(lake)
            newest = catalog.newest()
            mark = (newest.id, newest.committed_at)
            if self._seen is not None and self._seen[0] == mark:
                return self._seen[1]
            with lake.transaction():
                newest = catalog.newest()
                head = head_at(catalog, self._name, newest.id)
        self._seen = ((newest.id, newest.committed_at), head)
        return head

    def schema_at(self, version: Version) -> Schema:
        """The schema that rows of a version are read with."""
        with reading(self._address) as lake:
            table = CatalogRows(lake).table(self._name)
            return to_model(self._fields(lake, table, version))

    def unreadable(self, window: Window, columns: Sequence[int]) -> Reason | None:
        """Why the window cannot be read exactly for these column ids, or None if it can."""
        with reading(self._address) as lake:
            try:
                ends = self._ends(lake, window)
            except (HistoryExpiredError, SourceReplacedError) as error:
                detail = f": {error.detail}" if error.detail else ""
                return Reason(error.code, f"{error}{detail}")
            return _first_reason(self._both_fields(lake, ends.table, window), columns)

    def window_stats(self, window: Window) -> WindowStats:
        """Rows and files added and removed, from the catalog."""
        from grebe.formats.ducklake.window import stats

        with reading(self._address) as lake:
            return stats(lake, self._ends(lake, window))

    def version_stats(self, version: Version, columns: Sequence[int] = ()) -> VersionStats:
        """Rows, files and key bounds of a version, from the catalog."""
        from grebe.formats.ducklake.state import read_state

        with reading(self._address) as lake:
            table = CatalogRows(lake).table(self._name)
            place = VersionPoint.of(version)
            state = read_state(CatalogRows(lake), table, resolved(lake, table, place))
            fields = chosen(self._fields(lake, table, version), columns)
            return VersionStats(
                rows=place.rows,
                files=len(state.files),
                bytes=state.bytes,
                bounds=file_bounds(lake, table, state, fields),
            )

    def changes(self, window: Window, columns: Sequence[int]) -> Changes:
        """The consolidated signed rows of the window; guarded by the sum of weights."""
        return self._steadily(lambda lake: self._changes(lake, window, columns))

    def read_at(self, version: Version, columns: Sequence[int]) -> DataFrame:
        """All rows of a version, pinned."""
        return self._steadily(lambda lake: self._read(lake, version, columns))

    def rows_on_driver(
        self, version: Version, columns: Sequence[int], near: NearKeys | None = None
    ) -> pa.Table | None:
        """None: only Spark reads them."""

    # --- inside --------------------------------------------------------------------------------

    def _changes(self, lake: Session, window: Window, columns: Sequence[int]) -> Changes:
        from grebe.formats.ducklake.window import WindowReader

        ends = self._ends(lake, window)
        before, now = self._both_fields(lake, ends.table, window)
        if reason := _first_reason((before, now), columns):
            raise _ERRORS.get(reason.code, SourceError)(
                f'the changes of table "{self._name}" cannot be read',
                detail=reason.message,
                hint="refresh in full",
                code=reason.code,
            )
        fields, old = chosen(now, columns), chosen(before, columns)
        reader = WindowReader(self._name, window, lake, ends, fields, old)
        return reader.changes(self._spark, self._budget)

    def _read(self, lake: Session, version: Version, columns: Sequence[int]) -> DataFrame:
        from grebe.formats.ducklake.spark_rows import FileSide, read_weighted
        from grebe.formats.ducklake.state import read_state

        if self._spark is None:
            raise InternalError.broken(f'table "{self._name}" is to be read without a session')
        catalog = CatalogRows(lake)
        table = catalog.table(self._name)
        fields = chosen(self._fields(lake, table, version), columns)
        state = read_state(catalog, table, resolved(lake, table, VersionPoint.of(version)))
        side = FileSide(catalog.table_at(table, state.snapshot), state, state.files, fields, 1)
        names = [field.name for field in fields]
        return read_weighted(self._spark(), lake, [side], names).drop(WEIGHT)

    def _steadily(self, read: Callable[[Session], T]) -> T:
        """What a function reads in one transaction, again when files were moved meanwhile."""
        from grebe.formats.ducklake.duck_rows import CatalogMovedError

        for left in reversed(range(_LOOKS)):
            try:
                with reading(self._address) as lake:
                    return read(lake)
            except CatalogMovedError:
                if not left:
                    raise
        raise InternalError.broken("a loop ended without an answer")

    def _fields(self, lake: Session, table: Table, version: Version) -> tuple[LakeField, ...]:
        return CatalogRows(lake).columns(table, VersionPoint.of(version).snapshot)

    def _both_fields(
        self, lake: Session, table: Table, window: Window
    ) -> tuple[tuple[LakeField, ...], tuple[LakeField, ...]]:
        now = self._fields(lake, table, window.upto)
        return now if window.after is None else self._fields(lake, table, window.after), now

    def _ends(self, lake: Session, window: Window) -> Ends:
        table = CatalogRows(lake).table(self._name)
        upto = VersionPoint.of(window.upto)
        if window.after is None:
            return Ends(table, None, resolved(lake, table, upto), upto.rows)
        after = VersionPoint.of(window.after)
        total = upto.rows - after.rows
        return Ends(table, resolved(lake, table, after), resolved(lake, table, upto), total)


def head_at(catalog: CatalogRows, name: TableName, newest: int) -> Head:
    """Where a table stands at the newest snapshot of its catalog."""
    table = catalog.table(name)
    now = current(catalog, table, newest)
    return Head(
        identity=table.uuid,
        version=now.place.version,
        schema=to_model(catalog.columns(table, now.place.snapshot)),
        committed_at=now.made_by.committed_at if now.made_by else None,
    )


def heads(address: Address, names: Sequence[TableName]) -> dict[TableName, Head]:
    """Where several tables of one catalog stand at one and the same snapshot: a free cut."""
    with reading(address) as lake:
        catalog = CatalogRows(lake)
        newest = catalog.newest().id
        return {name: head_at(catalog, name, newest) for name in names}


def _first_reason(
    fields: tuple[Sequence[LakeField], Sequence[LakeField]], columns: Sequence[int]
) -> Reason | None:
    before, now = ({field.id: field for field in side} for side in fields)
    for number in columns:
        if reason := _column_reason(number, before.get(number), now.get(number)):
            return reason
    return None


def _column_reason(number: int, old: LakeField | None, new: LakeField | None) -> Reason | None:
    if old is None or new is None:
        known = new or old
        label = f'column "{known.name}"' if known else f"column id {number}"
        return Reason("schema-changed", f"{label} is not in both versions")
    if spark_text(old) != spark_text(new) or old.type != new.type:
        return Reason("schema-changed", f'column "{new.name}" changed its type')
    if old.identity != new.identity:
        return Reason("schema-changed", f'a part of column "{new.name}" was made anew')
    if odd := inexact(new):
        return Reason(
            "type-without-identity", f'column "{new.name}" has type {odd}, which Spark lacks'
        )
    return None
