"""A Delta table as a source: pinned reads and exact changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from grebe import thresholds
from grebe.errors import HistoryExpiredError, InternalError, SchemaChangedError
from grebe.formats.base import (
    Capabilities,
    Changes,
    Head,
    VersionStats,
    WindowStats,
    check_total,
)
from grebe.formats.delta.log import Log
from grebe.formats.delta.schema import DeltaField, DeltaSchema, same_type, without_identity
from grebe.formats.files import Files, missing
from grebe.formats.kept_for import of_interval
from grebe.formats.storage_errors import only_total, refuse
from grebe.model import Reason, Schema, TableName, Version, Window

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from grebe.formats.delta.window import DeltaPlanner, DeltaWindow
    from grebe.formats.near_rows import NearKeys


class DeltaSource:
    """One Delta table that views read."""

    def __init__(
        self,
        name: TableName,
        root: str,
        files: Files,
        *,
        spark: Callable[[], SparkSession] | None = None,
        driver_budget: int = thresholds.DRIVER_BYTES,
    ) -> None:
        self._name = name
        self._root = root.rstrip("/")
        self._files = files
        self._spark = spark
        self._budget = driver_budget
        self._log = Log(self._root, files)
        self._planned: tuple[Window, DeltaWindow] | None = None

    @cached_property
    def _planner(self) -> DeltaPlanner:
        from grebe.formats.delta.window import DeltaPlanner

        return DeltaPlanner(self._name, self._log, self._files)

    @property
    def name(self) -> TableName:
        """The table's name."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """What this table can do."""
        return Capabilities(
            exact_row_counts=True,
            rows_on_driver=self._files.on_driver,
            head_without_spark=self._files.on_driver,
            any_two_versions=True,
        )

    def head(self) -> Head:
        """Identity, version and schema now, from the listing of the log."""
        version = self._log.refreshed().head
        metadata, _ = self._log.described(version)
        listing = self._log.listing(version)
        commit = self._log.commit(version) if version in listing.commits else None
        return Head(
            identity=metadata.id,
            version=Version(str(version)),
            schema=DeltaSchema.of(metadata).to_model(),
            committed_at=commit.committed_at if commit else None,
            retention=of_interval(metadata.configuration.get("delta.deletedFileRetentionDuration")),
        )

    def schema_at(self, version: Version) -> Schema:
        """The schema that rows of a version are read with."""
        return self._schema(int(version)).to_model()

    def unreadable(self, window: Window, columns: Sequence[int]) -> Reason | None:
        """Why the window cannot be read exactly for these column ids, or None if it can."""
        try:
            if reason := self._replaced(window):
                return reason
            lost = self._planner.lost(window)
        except HistoryExpiredError as error:
            return Reason(error.code, f"{error}: {error.detail}" if error.detail else str(error))
        if lost:
            some = f"{lost[0]} and {len(lost) - 1} more" if len(lost) > 1 else lost[0]
            return Reason(
                "history-expired", f"version {window.after} lost its files to VACUUM: {some}"
            )
        now = self._schema(int(window.upto))
        before = now if window.after is None else self._schema(int(window.after))
        for number in columns:
            if reason := _column_reason(number, before.field(number), now.field(number)):
                return reason
        return None

    def _replaced(self, window: Window) -> Reason | None:
        """A table of another identity under the same folder has versions of the same numbers."""
        if window.after is None:
            return None
        ids = {self._log.described(int(v))[0].id for v in (window.after, window.upto)}
        if len(ids) == 1:
            return None
        return Reason("source-replaced", f'table "{self._name}" was created anew')

    def window_stats(self, window: Window) -> WindowStats:
        """Rows and files added and removed, from the log and footers of the feed's files."""
        plan = self._plan(window)
        rows = self._counts(plan)
        old = {} if window.after is None else self._log.state(int(window.after)).files
        new = self._log.state(int(window.upto)).files
        before, now = {path for path, _ in old}, {path for path, _ in new}
        return WindowStats(
            rows_added=rows[0] if rows else None,
            rows_removed=rows[1] if rows else None,
            files_added=len(now - before),
            files_removed=len(before - now),
            bytes=plan.bytes,
            only_maintenance=plan.is_empty or self._only_maintenance(window),
        )

    def _counts(self, plan: DeltaWindow) -> tuple[int, int] | None:
        from grebe.formats.delta.rows import feed_rows
        from grebe.formats.delta.window import counts

        if plan.feeds and not self._files.on_driver:
            return None
        return counts(plan, feed_rows(self._files, plan))

    def _only_maintenance(self, window: Window) -> bool:
        if window.after is None:
            return False
        low, high = sorted((int(window.after), int(window.upto)))
        try:
            return not any(commit.changes_rows for commit in self._log.commits(low, high))
        except HistoryExpiredError:
            return False

    def version_stats(self, version: Version, columns: Sequence[int] = ()) -> VersionStats:
        """Rows, files and key bounds of a version, from the log."""
        from grebe.formats.delta.stats import bounds

        state = self._log.state(int(version))
        schema = DeltaSchema.of(state.metadata)
        files = list(state.files.values())
        return VersionStats(
            rows=state.rows(),
            files=len(files),
            bytes=sum(file.size for file in files),
            bounds=bounds(files, schema, _fields(schema, columns)),
        )

    def changes(self, window: Window, columns: Sequence[int]) -> Changes:
        """The consolidated signed rows of the window; guarded by the sum of weights."""
        refuse(self._name, self.unreadable(window, columns))
        schema = self._schema(int(window.upto))
        fields = _fields(schema, columns)
        plan = self._plan(window)
        if not fields and plan.total is not None:
            return only_total(plan.total)
        if plan.is_empty or (self._files.on_driver and self._fits(plan)):
            from grebe.formats.delta.conform import NeedsSparkError

            try:
                return self._by_arrow(window, schema, fields, plan)
            except NeedsSparkError:
                return self._bag_difference(window, fields, plan.total)
        return self._by_spark(window, schema, fields, plan)

    def read_at(self, version: Version, columns: Sequence[int]) -> DataFrame:
        """All rows of a version, pinned.

        Raises:
            HistoryExpiredError: VACUUM took files of the version; Spark would say so much later.
        """
        from grebe.formats.delta.live_rows import read_live, suits
        from grebe.formats.delta.spark_rows import read_version

        fields = _fields(self._schema(int(version)), columns)
        head = self._log.listing(int(version)).head
        if head != int(version):
            for path in self._planner.lost(Window(version, Version(str(head)))):
                raise missing(path)
        state = self._log.state(int(version)) if self._files.on_driver and fields else None
        if state is not None and suits(state, self._root):
            for path in self._files.absent([file.path for file in state.files.values()]):
                raise missing(path)
            schema = DeltaSchema.of(state.metadata)
            return read_live(self._session(), self._planner.deleted(state), schema, fields)
        return read_version(self._session(), self._root, int(version), fields)

    def rows_on_driver(
        self, version: Version, columns: Sequence[int], near: NearKeys | None = None
    ) -> pa.Table | None:
        """The same on the driver, without Spark, or those of some keys; None where it cannot read them."""
        from grebe.formats.delta.conform import NeedsSparkError
        from grebe.formats.delta.rows import WantedFileRows, read_live

        if not self._files.on_driver:
            return None
        schema = self._schema(int(version))
        fields = tuple(_fields(schema, columns))
        plan = self._planner.plan(Window(None, version))
        if plan.feeds or plan.bytes > thresholds.DRIVER_BYTES:
            return None
        try:
            return read_live(self._files, plan.touched, WantedFileRows(fields, schema), near)
        except NeedsSparkError:
            return None

    def _plan(self, window: Window) -> DeltaWindow:
        """The plan of a window; asked for several times in one refresh."""
        if self._planned is None or self._planned[0] != window:
            self._planned = (window, self._planner.plan(window))
        return self._planned[1]

    def _schema(self, version: int) -> DeltaSchema:
        return DeltaSchema.of(self._log.described(version)[0])

    def _session(self) -> SparkSession:
        if self._spark is None:
            raise InternalError.broken(f'table "{self._name}" is to be read without a session')
        return self._spark()

    def _fits(self, plan: DeltaWindow) -> bool:
        return plan.bytes <= self._budget or self._spark is None

    def _by_arrow(
        self, window: Window, schema: DeltaSchema, fields: Sequence[DeltaField], plan: DeltaWindow
    ) -> Changes:
        import pyarrow.compute as pc

        from grebe.formats.base import WEIGHT
        from grebe.formats.delta.rows import WantedFileRows, read_weighted
        from grebe.formats.identity import consolidate_arrow

        rows, size = read_weighted(self._files, plan, WantedFileRows(tuple(fields), schema))
        check_total(self._name, window, plan.total, pc.sum(rows[WEIGHT]).as_py() or 0)
        way = "no-row-changed" if plan.is_empty else f"{plan.way}/arrow"
        return Changes(way, arrow=consolidate_arrow(rows), bytes_read=size, total=plan.total)

    def _by_spark(
        self, window: Window, schema: DeltaSchema, fields: Sequence[DeltaField], plan: DeltaWindow
    ) -> Changes:
        import pyarrow.compute as pc

        from grebe.formats.base import WEIGHT
        from grebe.formats.delta.conform import NeedsSparkError
        from grebe.formats.delta.spark_rows import read_weighted
        from grebe.formats.identity import consolidate_frame

        try:
            rows = read_weighted(self._session(), plan, schema, fields)
        except NeedsSparkError:
            return self._bag_difference(window, fields, plan.total)
        frame, way = consolidate_frame(rows), f"{plan.way}/spark"
        counted = self._counts(plan)
        if counted is None or sum(counted) > thresholds.COLLECTED_ROWS:
            return Changes(way, frame=frame, total=plan.total)
        arrow = frame.toArrow()
        check_total(self._name, window, plan.total, pc.sum(arrow[WEIGHT]).as_py() or 0)
        return Changes(way, arrow=arrow, bytes_read=plan.bytes, total=plan.total)

    def _bag_difference(
        self, window: Window, fields: Sequence[DeltaField], total: int | None
    ) -> Changes:
        """Both versions read whole by Delta's own reader: slow, and right for every file."""
        from pyspark.sql import functions as sf

        from grebe.formats.base import WEIGHT
        from grebe.formats.delta.spark_rows import read_version
        from grebe.formats.identity import consolidate_frame

        ids = [field.id for field in fields]
        frame = None
        for version, weight in ((window.upto, 1), (window.after, -1)):
            if version is None:
                continue
            own = _fields(self._schema(int(version)), ids)
            side = read_version(self._session(), self._root, int(version), own)
            side = side.withColumn(WEIGHT, sf.lit(weight).cast("bigint"))
            frame = side if frame is None else frame.unionAll(side)
        if frame is None:
            raise InternalError.broken("a window without a version")
        return Changes("bag-difference/spark", frame=consolidate_frame(frame), total=total)


def _fields(schema: DeltaSchema, columns: Sequence[int]) -> list[DeltaField]:
    found = [schema.field(number) for number in columns]
    if None in found:
        raise SchemaChangedError(f"a column of {list(columns)} is not in the table's schema")
    return [field for field in found if field is not None]


def _column_reason(number: int, old: DeltaField | None, new: DeltaField | None) -> Reason | None:
    if old is None or new is None:
        known = new or old
        label = f'column "{known.name}"' if known else f"column id {number}"
        return Reason("schema-changed", f"{label} is not in both versions")
    if not same_type(old.type, new.type):
        return Reason("schema-changed", f'column "{new.name}" changed its type')
    if odd := without_identity(new):
        return Reason(
            "type-without-identity", f'column "{new.name}" has type {odd}, which cannot be compared'
        )
    return None
