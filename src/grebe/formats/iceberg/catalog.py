"""Opens Iceberg tables: which catalog finds them, who reads their files."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from grebe.errors import (
    CorruptFileError,
    HistoryExpiredError,
    StepFailedError,
    UnknownTableError,
)
from grebe.formats.base import (
    LOST_TEXT,
    STAGED,
    Expiry,
    Select,
    Session,
    Source,
    Storage,
    holds_view,
)
from grebe.formats.files import DriverFiles, Files, SparkFiles, local_path, torn
from grebe.formats.iceberg.catalog_properties import catalog_properties
from grebe.formats.iceberg.history import History, Lineage, MetadataReader
from grebe.formats.iceberg.locators import Locator, SqlLocator, locator_of
from grebe.formats.iceberg.metadata import parse_metadata
from grebe.formats.iceberg.position import read_position
from grebe.formats.iceberg.source import IcebergSource
from grebe.formats.iceberg.statements import expire, partition_items
from grebe.formats.iceberg.storage import IcebergStorage
from grebe.formats.spark_names import (
    described_view,
    is_table,
    run,
    set_properties,
    stored_in,
    tables_beside,
)
from grebe.model import CatalogAddress, Partition, Position, TableName, Version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class IcebergCatalog:
    """The tables of one Iceberg catalog."""

    place: CatalogAddress

    def relation(self, name: TableName) -> str:
        """The name that Spark knows the table by."""
        return self._known(name).quoted()

    def source(self, name: TableName, spark: Session) -> Source:
        """The table as a source."""
        known = self._known(name)
        return IcebergSource(known, self._locator(spark), self._files(spark), spark=spark)

    def storage(self, name: TableName, session: SparkSession) -> Storage:
        """The table as a view's storage."""

        def spark() -> SparkSession:
            return session

        known = self._known(name)
        reader = MetadataReader(self._locator(spark), self._files(spark), known)
        small = self.place.small_commits
        return IcebergStorage(session, known, reader, self.place.format_version, small)

    def position(self, name: TableName, spark: Session) -> Position | None:
        """The position of a storage table, from the catalog and its metadata files."""
        reader = MetadataReader(self._locator(spark), self._files(spark), self._known(name))
        try:
            return read_position(Lineage(reader, reader.read()))
        except UnknownTableError:
            return None

    def publish(self, name: TableName, session: SparkSession, select: Select) -> None:
        """An Iceberg view, replaced in one step."""
        view = self._known(name).quoted()
        if self.shown(name, lambda: session) == LOST_TEXT:
            self.unpublish(name, lambda: session)  # nothing can be put in the place of what is lost
        session.sql(f"CREATE OR REPLACE VIEW {view} AS {select('spark')}").collect()

    def shown(self, name: TableName, spark: Session) -> str | None:
        """The text of an Iceberg view, from its metadata file where the catalog can be read."""
        known, locator = self._known(name), self._locator(spark)
        if locator.needs_spark:
            return described_view(spark(), known.quoted())
        try:
            location = locator.metadata_location(known)
        except UnknownTableError:
            return None
        try:
            (content,) = self._files(spark).read([location])
            return _view_text(location, content)
        except (HistoryExpiredError, CorruptFileError):
            return LOST_TEXT

    def taken(self, name: TableName, spark: Session) -> bool:
        """Whether the name is a table's, by its metadata file where the catalog can be read."""
        known, locator = self._known(name), self._locator(spark)
        if locator.needs_spark:
            return is_table(spark(), known.quoted())
        try:
            location = locator.metadata_location(known)
            (content,) = self._files(spark).read([location])
            parse_metadata(location, content)
        except (UnknownTableError, HistoryExpiredError, CorruptFileError):
            return False
        return True

    def properties(self, name: TableName, spark: Session) -> dict[str, str] | None:
        """The table's own properties, from its metadata file."""
        try:
            location = self._locator(spark).metadata_location(self._known(name))
        except UnknownTableError:
            return None
        (content,) = self._files(spark).read([location])
        return dict(parse_metadata(location, content).properties)

    def staged(self, beside: TableName, session: SparkSession) -> list[TableName]:
        """Tables of the schema whose names say that they are staged."""
        names = tables_beside(session, self.relation(beside), STAGED)
        return [replace(beside, name=name) for name in names]

    def staged_at(self, name: TableName, spark: Session) -> datetime | None:
        """When the table was filled."""
        try:
            return self.source(name, spark).head().committed_at
        except UnknownTableError:
            return None

    def stage(self, name: TableName, rows: DataFrame) -> str:
        """A table of its own."""
        table = self._known(name).quoted()
        rows.writeTo(table).using("iceberg").create()
        return table

    def unstage(self, name: TableName, session: SparkSession) -> None:
        """Drop the table and its files."""
        session.sql(f"DROP TABLE IF EXISTS {self._known(name).quoted()} PURGE").collect()

    def partitioning(self, parts: Sequence[Partition]) -> list[str]:
        """Any transform of a column."""
        return partition_items(parts)

    @property
    def one_history(self) -> bool:
        """False: every table has its own."""
        return False

    def stored(self, spark: Session, schema: str | None = None) -> list[TableName]:
        """Tables whose names say that they hold a view."""
        return stored_in(spark(), self.place.catalog, self.place.spark_name, schema)

    def keep(self, name: TableName, spark: Session, properties: Mapping[str, str]) -> None:
        """Set properties of the table."""
        set_properties(spark(), self.relation(name), properties)

    def moment(self, name: TableName, version: Version, spark: Session) -> datetime | None:
        """When a snapshot was committed."""
        snapshot = self._history(name, spark).snapshots.get(int(version.partition("@")[0]))
        return snapshot.committed_at if snapshot else None

    def version_at(self, name: TableName, when: datetime, spark: Session) -> Version | None:
        """The newest snapshot behind the current one that was committed by then."""
        history = self._history(name, spark)
        snapshot = history.snapshots.get(history.head or 0)
        while snapshot and snapshot.committed_at > when:
            snapshot = history.snapshots.get(snapshot.parent or 0)
        return Version(str(snapshot.id)) if snapshot else None

    def expiry(self, name: TableName, before: datetime) -> Expiry | None:
        """Iceberg's procedure, which never takes the newest snapshot."""
        return Expiry(expire(self._known(name), before))

    def expire(self, name: TableName, spark: Session, before: datetime | None) -> None:
        """Expire snapshots; their files go at once."""
        run(spark(), expire(self._known(name), before or datetime.now(UTC)))

    def remove(self, name: TableName, spark: Session) -> None:
        """Drop the table and its files; of one whose metadata is lost, what is left."""
        known = self._known(name)
        try:
            run(spark(), f"DROP TABLE IF EXISTS {self.relation(name)} PURGE")
        except StepFailedError:
            if self._forgotten(name, spark):
                return
            if self._is_lost(known, spark, "TABLE"):
                self._forget(known, spark)
            else:  # some of its files are gone: what is left of them stays
                run(spark(), f"DROP TABLE IF EXISTS {self.relation(name)}")

    def _forget(self, known: TableName, spark: Session) -> None:
        locator = self._locator(spark)
        if isinstance(locator, SqlLocator):
            locator.forget(known)

    def _forgotten(self, name: TableName, spark: Session) -> bool:
        """Whether a table whose metadata is lost was taken out of the catalog, with its folder."""
        known, locator = self._known(name), self._locator(spark)
        if not isinstance(locator, SqlLocator):
            return False
        try:
            location = locator.metadata_location(known)
        except UnknownTableError:  # PURGE forgets it before it fails at its files
            return True
        try:
            self._files(spark).read([location])
        except HistoryExpiredError:
            locator.forget(known)
        else:
            return False
        folder = Path(local_path(location) or "/").parent.parent
        if holds_view(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
        return True

    def unpublish(self, name: TableName, spark: Session) -> None:
        """Drop the Iceberg view; of one that nobody can read any more, its name."""
        try:
            run(spark(), f"DROP VIEW IF EXISTS {self.relation(name)}")
        except StepFailedError:
            if not self._is_lost(self._known(name), spark, "VIEW"):
                raise
            self._forget(self._known(name), spark)

    def _is_lost(self, known: TableName, spark: Session, kind: str) -> bool:
        """Whether the catalog has a name of a kind whose metadata file is gone or damaged."""
        locator = self._locator(spark)
        if not isinstance(locator, SqlLocator) or not locator.forgets(known, kind):
            return False
        try:
            location = locator.metadata_location(known)
            (content,) = self._files(spark).read([location])
            if kind == "VIEW":
                _view_text(location, content)
            else:
                parse_metadata(location, content)
        except UnknownTableError:
            return False
        except (HistoryExpiredError, CorruptFileError):
            return True
        return False

    def _known(self, name: TableName) -> TableName:
        """Spark knows the catalog by its own name, and only Spark is asked by it."""
        return replace(name, catalog=self.place.spark_name)

    def _history(self, name: TableName, spark: Session) -> History:
        locator, files = self._locator(spark), self._files(spark)
        return MetadataReader(locator, files, self._known(name)).read()

    def _locator(self, spark: Session) -> Locator:
        return locator_of(self.place.spark_name, catalog_properties(self.place), spark)

    def _files(self, spark: Session) -> Files:
        """The driver reads this machine's disk itself; elsewhere only Spark has the credentials."""
        root = self.place.root
        return DriverFiles() if root and local_path(root) else SparkFiles(spark)


def _view_text(location: str, content: bytes) -> str | None:
    """The text of the current version of a view; None when the file is a table's."""
    try:
        document = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
        current = document.get("current-version-id")
        for version in document.get("versions", ()):
            if version["version-id"] == current:
                return str(version["representations"][0]["sql"])
    except (ValueError, KeyError, IndexError, OSError, EOFError) as error:
        raise torn(location, error) from error
    return None
