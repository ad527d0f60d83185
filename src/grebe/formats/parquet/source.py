"""A folder of Parquet files as a source: new files are inserts, anything else needs a rebuild."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe import thresholds
from grebe.errors import HistoryExpiredError, InternalError, SchemaChangedError, SourceError
from grebe.formats.base import (
    Capabilities,
    Changes,
    Head,
    KeyBounds,
    VersionStats,
    WindowStats,
    check_total,
)
from grebe.formats.parquet.listing import FileEntry, Listing, Shelf, made, version_of, walk
from grebe.formats.parquet_calendar import OldCalendarError
from grebe.formats.storage_errors import only_total, refuse
from grebe.model import Column, Reason, Schema, TableName, Version, Window

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from grebe.formats.near_rows import NearKeys


class ParquetSource:
    """One folder that views read."""

    def __init__(
        self,
        name: TableName,
        root: str,
        shelf: Shelf,
        *,
        spark: Callable[[], SparkSession] | None = None,
        driver_budget: int = thresholds.DRIVER_BYTES,
        identity: str | None = None,
    ) -> None:
        self._name = name
        self._root = root.rstrip("/")
        self._shelf = shelf
        self._spark = spark
        self._budget = driver_budget
        self._identity = identity or self._root
        self._known: dict[Version, Listing] = {}

    @property
    def name(self) -> TableName:
        """The table's name."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """What this table can do."""
        return Capabilities(exact_row_counts=True, head_without_spark=True)

    def head(self) -> Head:
        """The listing as it is now; one that is new is kept."""
        found = walk(self._root)
        if not found:
            raise SourceError(
                f'folder "{self._root}" holds no file, so its columns are unknown',
                code="empty-folder",
            )
        version = version_of(found)
        listing = self._known.get(version) or self._shelf.load(version)
        if listing is None:
            listing = self._listed(version, found)
            self._shelf.keep(listing)
        self._known[version] = listing
        newest = max(time for _, time in found.values())
        return Head(
            identity=self._identity,
            version=version,
            schema=listing.schema(),
            committed_at=datetime.fromtimestamp(newest / 1e9, UTC),
        )

    def _listed(self, version: Version, found: dict[str, tuple[int, int]]) -> Listing:
        """A new listing; footers are read of those files only that the last one did not have."""
        from grebe.formats.parquet.rows import footer

        last = self._shelf.newest()
        known = {file.key: file for file in last.files} if last else {}
        files = tuple(
            known.get((path, size, time)) or footer(self._root, path, size, time)
            for path, (size, time) in sorted(found.items())
        )
        return made(version, files)

    def schema_at(self, version: Version) -> Schema:
        """The schema that rows of a version are read with."""
        return self._listing(version).schema()

    def unreadable(self, window: Window, columns: Sequence[int]) -> Reason | None:
        """Why the window cannot be read exactly for these column ids, or None if it can."""
        try:
            before, now = self._ends(window)
        except HistoryExpiredError as error:
            return Reason(error.code, str(error))
        if before is not None and (reason := _not_only_new(before, now)):
            return reason
        new = now.schema().by_id()
        old = new if before is None else before.schema().by_id()
        for number in columns:
            if reason := _column_reason(number, old.get(number), new.get(number)):
                return reason
        return None

    def window_stats(self, window: Window) -> WindowStats:
        """Rows and files that came, from footers."""
        before, now = self._ends(window)
        old = {file.key for file in before.files} if before else set()
        new = {file.key for file in now.files}
        came = [file for file in now.files if file.key not in old]
        went = [file for file in before.files if file.key not in new] if before else []
        return WindowStats(
            rows_added=sum(file.rows for file in came),
            rows_removed=sum(file.rows for file in went),
            files_added=len(came),
            files_removed=len(went),
            bytes=sum(file.size for file in came),
            only_maintenance=not any(file.rows for file in (*came, *went)),
        )

    def version_stats(self, version: Version, columns: Sequence[int] = ()) -> VersionStats:
        """Rows and files of a version; only partition columns have bounds."""
        from grebe.formats.parquet.partitions import PARSE, raw_values

        listing = self._listing(version)
        bounds: dict[str, list[KeyBounds]] = {}
        for column in _columns(listing, columns):
            kind = listing.partition_types.get(column.name)
            bounds[column.name] = []
            for file in listing.files:
                text = raw_values(file.path).get(column.name) if kind else None
                value = PARSE[kind](text) if kind and text is not None else None
                nulls = text is None if kind else None
                bounds[column.name].append(KeyBounds(column.name, value, value, nulls))
        return VersionStats(
            listing.rows, len(listing.files), sum(f.size for f in listing.files), bounds
        )

    def changes(self, window: Window, columns: Sequence[int]) -> Changes:
        """The rows of the files that came."""
        refuse(self._name, self.unreadable(window, columns))
        before, now = self._ends(window)
        old = {file.key for file in before.files} if before else set()
        came = [file for file in now.files if file.key not in old]
        total = sum(file.rows for file in came)
        wanted = _columns(now, columns)
        if not wanted:
            return only_total(total)
        if sum(file.size for file in came) <= self._budget or self._spark is None:
            try:
                return self._by_arrow(window, came, wanted, now, total)
            except OldCalendarError as error:
                if self._spark is None:
                    raise _only_by_spark(self._name, error) from error
        return self._by_spark(came, wanted, now, total)

    def read_at(self, version: Version, columns: Sequence[int]) -> DataFrame:
        """All rows of a version: of exactly the files that it lists."""
        listing = self._listing(version)
        return self._frame(listing.files, _columns(listing, columns), listing)

    def rows_on_driver(
        self, version: Version, columns: Sequence[int], near: NearKeys | None = None
    ) -> pa.Table | None:
        """None: only Spark reads them."""

    def _by_arrow(
        self,
        window: Window,
        came: Sequence[FileEntry],
        wanted: Sequence[Column],
        now: Listing,
        total: int,
    ) -> Changes:
        import pyarrow.compute as pc

        from grebe.formats.base import WEIGHT
        from grebe.formats.identity import consolidate_arrow
        from grebe.formats.parquet.rows import read

        rows, size = read(self._root, came, wanted, now)
        check_total(self._name, window, total, pc.sum(rows[WEIGHT]).as_py() or 0)
        way = "new-files/arrow" if came else "no-row-changed"
        return Changes(way, arrow=consolidate_arrow(rows), bytes_read=size, total=total)

    def _by_spark(
        self, came: Sequence[FileEntry], wanted: Sequence[Column], now: Listing, total: int
    ) -> Changes:
        from pyspark.sql import functions as sf

        from grebe.formats.base import WEIGHT
        from grebe.formats.identity import consolidate_frame

        rows = self._frame(came, wanted, now).withColumn(WEIGHT, sf.lit(1).cast("bigint"))
        return Changes("new-files/spark", frame=consolidate_frame(rows), total=total)

    def _frame(
        self, files: Sequence[FileEntry], wanted: Sequence[Column], listing: Listing
    ) -> DataFrame:
        from grebe.formats.files import escape_glob
        from grebe.formats.parquet.rows import same_as_listed
        from grebe.sql_text import quote

        if self._spark is None:
            raise InternalError.broken(f'table "{self._name}" is to be read without a session')
        same_as_listed(self._root, files)
        columns = listing.schema().columns
        shape = ", ".join(f"{quote(column.name)} {column.type}" for column in columns)
        reader = self._spark().read.schema(shape).option("basePath", self._root)
        frame = reader.parquet(*[escape_glob(f"{self._root}/{file.path}") for file in files])
        return frame.select(*[quote(column.name) for column in wanted])

    def _listing(self, version: Version) -> Listing:
        if version not in self._known:
            listing = self._shelf.load(version)
            if listing is None:
                raise HistoryExpiredError(
                    f'the listing of version {version} of table "{self._name}" is gone',
                    detail=f"it was kept in {self._shelf.folder}",
                    hint="refresh in full",
                )
            self._known[version] = listing
        return self._known[version]

    def _ends(self, window: Window) -> tuple[Listing | None, Listing]:
        before = None if window.after is None else self._listing(window.after)
        return before, self._listing(window.upto)


def _only_by_spark(name: TableName, error: OldCalendarError) -> SourceError:
    return SourceError(
        f'table "{name}" holds dates that only Spark reads',
        detail=f"file {error} was written in the calendar of an old Spark",
        hint="read it with a session, or write the file again",
        code="needs-spark",
    )


def _not_only_new(before: Listing, now: Listing) -> Reason | None:
    """Files that vanished or were written again took rows with them that nobody can read now."""
    paths = {file.path: file.key for file in now.files}
    for file in before.files:
        if file.path not in paths:
            return Reason("files-vanished", f"file {file.path} is gone, and its rows with it")
        if paths[file.path] != file.key:
            return Reason("files-changed", f"file {file.path} was written again")
    return None


def _columns(listing: Listing, columns: Sequence[int]) -> list[Column]:
    known = listing.schema().by_id()
    if any(number not in known for number in columns):
        raise SchemaChangedError(f"a column of {list(columns)} is not in the files")
    return [known[number] for number in columns]


def _column_reason(number: int, old: Column | None, new: Column | None) -> Reason | None:
    from grebe.formats.parquet.schema import is_known

    if old is None or new is None:
        known = new or old
        label = f'column "{known.name}"' if known else f"column id {number}"
        return Reason("schema-changed", f"{label} is not in both versions")
    if old.type != new.type:
        return Reason("schema-changed", f'column "{new.name}" changed its type')
    if not is_known(new.type):
        return Reason(
            "type-without-identity",
            f'column "{new.name}" has type {new.type}, which cannot be compared',
        )
    return None
