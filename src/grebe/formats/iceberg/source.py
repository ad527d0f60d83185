"""An Iceberg table as a source: pinned reads and exact changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from grebe import thresholds
from grebe.errors import HistoryExpiredError, InternalError, SchemaChangedError
from grebe.formats.base import (
    Capabilities,
    Changes,
    Head,
    KeyBounds,
    VersionStats,
    WindowStats,
    check_total,
)
from grebe.formats.files import Files
from grebe.formats.iceberg.locators import Locator
from grebe.formats.iceberg.manifests import DataFile, Manifests
from grebe.formats.iceberg.metadata import SnapshotPoint, TableMetadata, parse_metadata
from grebe.formats.iceberg.schema import IcebergField, same_type, without_identity
from grebe.formats.kept_for import of_milliseconds
from grebe.formats.storage_errors import only_total, refuse
from grebe.model import Reason, Schema, TableName, Version, Window

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from grebe.formats.iceberg.window import IcebergPlanner, IcebergWindow
    from grebe.formats.near_rows import NearKeys


class IcebergSource:
    """One Iceberg table that views read."""

    def __init__(
        self,
        name: TableName,
        locator: Locator,
        files: Files,
        *,
        spark: Callable[[], SparkSession] | None = None,
        driver_budget: int = thresholds.DRIVER_BYTES,
        branch: str = "main",
    ) -> None:
        self._name = name
        self._locator = locator
        self._files = files
        self._spark = spark
        self._budget = driver_budget
        self._branch = branch
        self._manifests = Manifests(files)
        self._tables: OrderedDict[str, TableMetadata] = OrderedDict()

    @cached_property
    def _planner(self) -> IcebergPlanner:
        from grebe.formats.iceberg.window import IcebergPlanner

        return IcebergPlanner(self._name, self._files, self._manifests)

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
            head_without_spark=not self._locator.needs_spark and self._files.on_driver,
            any_two_versions=True,
        )

    def head(self) -> Head:
        """Identity, version and schema now; without Spark where the catalog allows it."""
        table = self._refreshed()
        place = table.current(self._branch)
        snapshot = table.snapshots.get(place.snapshot_id)
        return Head(
            identity=table.uuid,
            version=table.version_of(place),
            schema=table.schema_of(place).to_model(),
            committed_at=snapshot.committed_at if snapshot else None,
            retention=of_milliseconds(table.properties.get("history.expire.max-snapshot-age-ms")),
        )

    def schema_at(self, version: Version) -> Schema:
        """The schema that rows of a version are read with."""
        table = self._table(version)
        return table.schema_of(table.place_of(version)).to_model()

    def unreadable(self, window: Window, columns: Sequence[int]) -> Reason | None:
        """Why the window cannot be read exactly for these column ids, or None if it can."""
        table = self._refreshed()
        try:
            after, upto = table.places_of(window)
            before, now = table.schema_of(after), table.schema_of(upto)
        except HistoryExpiredError as error:
            return Reason(error.code, f"{error}: {error.detail}" if error.detail else str(error))
        if window.after is not None and table.was_replaced(after.snapshot_id, upto.snapshot_id):
            return Reason("source-replaced", f'table "{self._name}" was created anew')
        for number in columns:
            old, new = before.field(number), now.field(number)
            if reason := _column_reason(number, old, new):
                return reason
        return None

    def window_stats(self, window: Window) -> WindowStats:
        """Rows and files added and removed, from metadata and delete files."""
        table = self._table(*_versions(window))
        after, upto = table.places_of(window)
        states = self._manifests.live(table, [after.snapshot_id, upto.snapshot_id])
        before, now = states[after.snapshot_id], states[upto.snapshot_id]
        old = {file.path for file in before.data}
        new = {file.path for file in now.data}
        counted = not (before.has_equality_deletes or now.has_equality_deletes)
        plan = self._planner.plan(table, window, ()) if counted else None
        moved = [file for file in (*before.data, *now.data) if file.path in old ^ new]
        return WindowStats(
            rows_added=plan.rows_added if plan else None,
            rows_removed=plan.rows_removed if plan else None,
            files_added=len(new - old),
            files_removed=len(old - new),
            bytes=plan.bytes if plan else sum(file.size for file in moved),
            only_maintenance=self._only_maintenance(table, after, upto, plan),
            since=self._since(table, after, upto),
        )

    @staticmethod
    def _since(table: TableMetadata, after: SnapshotPoint, upto: SnapshotPoint) -> datetime | None:
        """When the first change of a window was committed, where the history leads through it."""
        chain = table.chain(after.snapshot_id, upto.snapshot_id) or ()
        changes = [snapshot for snapshot in chain if snapshot.operation != "replace"]
        return min(changes, key=lambda item: item.sequence).committed_at if changes else None

    @staticmethod
    def _only_maintenance(
        table: TableMetadata, after: SnapshotPoint, upto: SnapshotPoint, plan: IcebergWindow | None
    ) -> bool:
        if plan is not None and not plan.touched:
            return True
        chain = table.chain(after.snapshot_id, upto.snapshot_id)
        return chain is not None and all(s.operation == "replace" for s in chain)

    def version_stats(self, version: Version, columns: Sequence[int] = ()) -> VersionStats:
        """Rows, files and key bounds of a version, from metadata."""
        table = self._table(version)
        place = table.place_of(version)
        live = self._manifests.live(table, [place.snapshot_id])[place.snapshot_id]
        fields = _fields(table, place, columns)
        return VersionStats(
            rows=live.rows(),
            files=len(live.data),
            bytes=sum(file.size for file in live.data),
            bounds={field.name: [_bounds(file, field) for file in live.data] for field in fields},
        )

    def changes(self, window: Window, columns: Sequence[int]) -> Changes:
        """The consolidated signed rows of the window; guarded by the sum of weights."""
        table = self._table(*_versions(window))
        refuse(self._name, self.unreadable(window, columns))
        _, upto = table.places_of(window)
        fields = _fields(table, upto, columns)
        plan = self._planner.plan(table, window, fields)
        if plan is None:
            return self._bag_difference(table, window, fields)
        if not fields:
            return only_total(plan.total)
        if not plan.touched or (self._files.on_driver and self._fits(plan)):
            return self._by_arrow(table, window, fields, plan)
        return self._by_spark(table, window, fields, plan)

    def read_at(self, version: Version, columns: Sequence[int]) -> DataFrame:
        """All rows of a version, pinned."""
        from grebe.formats.iceberg.spark_rows import read_version

        table = self._table(version)
        place = table.place_of(version)
        fields = _fields(table, place, columns)
        return read_version(self._session(), self._name, table, place, fields)

    def rows_on_driver(
        self, version: Version, columns: Sequence[int], near: NearKeys | None = None
    ) -> pa.Table | None:
        """The same on the driver, without Spark, or those of some keys; None where it cannot read them."""
        from grebe.formats.iceberg.rows import read_live, wanted

        if not self._files.on_driver:
            return None
        table, window = self._table(version), Window(None, version)
        fields = _fields(table, table.place_of(version), columns)
        plan = self._planner.plan(table, window, fields)
        if plan is None or plan.bytes > thresholds.DRIVER_BYTES:
            return None
        return read_live(self._files, plan.touched, wanted(table, fields), near)

    def _refreshed(self) -> TableMetadata:
        """The metadata that is current now."""
        location = self._locator.metadata_location(self._name)
        if location not in self._tables:
            (content,) = self._files.read([location])
            self._tables[location] = parse_metadata(location, content)
        self._tables.move_to_end(location)
        while len(self._tables) > 2:
            self._tables.popitem(last=False)
        return self._tables[location]

    def _table(self, *versions: Version) -> TableMetadata:
        """Metadata that knows the versions: the last one seen, else the current one.

        What a version holds never changes, so nothing has to be asked again in the middle of a
        refresh.
        """
        if self._tables:
            table = self._tables[next(reversed(self._tables))]
            try:
                for version in versions:
                    table.schema_of(table.place_of(version))
                return table
            except HistoryExpiredError:
                pass
        return self._refreshed()

    def _session(self) -> SparkSession:
        if self._spark is None:
            raise InternalError.broken(f'table "{self._name}" is to be read without a session')
        return self._spark()

    def _fits(self, plan: IcebergWindow) -> bool:
        return plan.bytes <= self._budget or self._spark is None

    def _by_arrow(
        self,
        table: TableMetadata,
        window: Window,
        fields: Sequence[IcebergField],
        plan: IcebergWindow,
    ) -> Changes:
        import pyarrow.compute as pc

        from grebe.formats.base import WEIGHT
        from grebe.formats.iceberg.rows import read_weighted, wanted
        from grebe.formats.identity import consolidate_arrow

        rows, size = read_weighted(self._files, plan.touched, wanted(table, fields))
        found = pc.sum(rows[WEIGHT]).as_py() or 0
        check_total(self._name, window, plan.total, found)
        way = f"{plan.way}/arrow" if plan.touched else "no-row-changed"
        return Changes(way, arrow=consolidate_arrow(rows), bytes_read=size, total=plan.total)

    def _by_spark(
        self,
        table: TableMetadata,
        window: Window,
        fields: Sequence[IcebergField],
        plan: IcebergWindow,
    ) -> Changes:
        from grebe.formats.iceberg.spark_rows import read_weighted, readable_by_id
        from grebe.formats.identity import consolidate_frame

        if not readable_by_id(table, fields):
            return self._bag_difference(table, window, fields, plan.total)
        rows = read_weighted(self._session(), table, plan.touched, fields)
        few = plan.rows_added + plan.rows_removed <= thresholds.COLLECTED_ROWS
        frame = consolidate_frame(rows)
        return self._run(f"{plan.way}/spark", frame, window, plan, collect=few)

    def _run(
        self, way: str, frame: DataFrame, window: Window, plan: IcebergWindow, *, collect: bool
    ) -> Changes:
        """The delta as Arrow when it is sure to be small, else as a frame that nobody ran yet."""
        import pyarrow.compute as pc

        from grebe.formats.base import WEIGHT

        if not collect:
            return Changes(way, frame=frame, total=plan.total)
        arrow = frame.toArrow()
        check_total(self._name, window, plan.total, pc.sum(arrow[WEIGHT]).as_py() or 0)
        return Changes(way, arrow=arrow, bytes_read=plan.bytes, total=plan.total)

    def _bag_difference(
        self,
        table: TableMetadata,
        window: Window,
        fields: Sequence[IcebergField],
        total: int | None = None,
    ) -> Changes:
        """Both versions read whole by Iceberg's own reader: slow, and right for every file."""
        from pyspark.sql import functions as sf

        from grebe.formats.base import WEIGHT
        from grebe.formats.iceberg.spark_rows import read_version
        from grebe.formats.identity import consolidate_frame

        after, upto = table.places_of(window)
        sides = []
        for place, weight in ((upto, 1), (after, -1)):
            as_upto = SnapshotPoint(place.snapshot_id, upto.schema_id)
            frame = read_version(self._session(), self._name, table, as_upto, fields)
            sides.append(frame.withColumn(WEIGHT, sf.lit(weight).cast("bigint")))
        frame = consolidate_frame(sides[0].unionAll(sides[1]))
        return Changes("bag-difference/spark", frame=frame, total=total)


def _versions(window: Window) -> list[Version]:
    return [window.upto] if window.after is None else [window.after, window.upto]


def _fields(
    table: TableMetadata, place: SnapshotPoint, columns: Sequence[int]
) -> list[IcebergField]:
    schema = table.schema_of(place)
    found = [schema.field(number) for number in columns]
    if None in found:
        raise SchemaChangedError(f"a column of {list(columns)} is not in schema {schema.id}")
    return [field for field in found if field is not None]


def _column_reason(
    number: int, old: IcebergField | None, new: IcebergField | None
) -> Reason | None:
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


def _bounds(file: DataFile, field: IcebergField) -> KeyBounds:
    from grebe.formats.iceberg.values import from_bound

    low, high = file.lower.get(field.id), file.upper.get(field.id)
    nulls = file.nulls.get(field.id)
    return KeyBounds(
        field.name,
        None if low is None else from_bound(field.type, low),
        None if high is None else from_bound(field.type, high),
        None if nulls is None else nulls > 0,
        file.size,
    )
