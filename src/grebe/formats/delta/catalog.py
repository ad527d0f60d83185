"""Opens Delta tables: folders under a root, or tables of a catalog that Spark already has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from grebe.errors import CorruptFileError, HistoryExpiredError, SourceError, UnknownTableError
from grebe.formats.base import STAGED, Expiry, Select, Session, Source, Storage
from grebe.formats.delta.log import Log
from grebe.formats.delta.position import is_filled, read_position
from grebe.formats.delta.source import DeltaSource
from grebe.formats.delta.statements import VACUUM_SETTINGS, expiry, partition_items, vacuum
from grebe.formats.delta.storage import DeltaStorage
from grebe.formats.files import DriverFiles, Files, SparkFiles, local_path
from grebe.formats.folders import (
    folder_of,
    folders_beside,
    read_view,
    remove_folder,
    remove_view,
    stored_below,
    write_view,
)
from grebe.formats.session_settings import session_settings
from grebe.formats.spark_names import (
    described_view,
    is_table,
    run,
    set_properties,
    stored_in,
    tables_beside,
)
from grebe.model import CatalogAddress, Partition, Position, TableName, Version
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class DeltaCatalog:
    """The tables of one root folder, or of one catalog of Spark."""

    place: CatalogAddress

    def relation(self, name: TableName) -> str:
        """The table in Spark SQL."""
        if self.place.spark_catalog:
            return replace(name, catalog=self.place.spark_catalog).quoted()
        return f"delta.{quote(folder_of(self.place, name))}"

    def source(self, name: TableName, spark: Session) -> Source:
        """The table as a source."""
        log = self._log(name, spark)
        return DeltaSource(name, log.root, log.files, spark=spark)

    def storage(self, name: TableName, session: SparkSession) -> Storage:
        """The table as a view's storage."""

        def spark() -> SparkSession:
            return session

        return DeltaStorage(session, name, self.relation(name), lambda: self._log(name, spark))

    def position(self, name: TableName, spark: Session) -> Position | None:
        """The position of a storage table, from its log."""
        try:
            return read_position(self._log(name, spark))
        except UnknownTableError:
            return None

    def publish(self, name: TableName, session: SparkSession, select: Select) -> None:
        """A view of the catalog, or a file in the folder of the public name; in one step."""
        if self.place.spark_catalog:
            text = f"CREATE OR REPLACE VIEW {self.relation(name)} AS {select('spark')}"
            session.sql(text).collect()
        else:
            write_view(folder_of(self.place, name), select("spark"))

    def shown(self, name: TableName, spark: Session) -> str | None:
        """The text of the catalog's view, or of the file in the folder of the public name."""
        if self.place.spark_catalog:
            return described_view(spark(), self.relation(name))
        try:
            return read_view(folder_of(self.place, name))
        except CorruptFileError:  # nobody can read by it, and the next refresh writes it again
            return None

    def taken(self, name: TableName, spark: Session) -> bool:
        """Whether the name is a table's: of the catalog, or a folder with a log."""
        if self.place.spark_catalog:
            return is_table(spark(), self.relation(name))
        local = local_path(folder_of(self.place, name))
        return local is not None and (Path(local) / "_delta_log").is_dir()

    def properties(self, name: TableName, spark: Session) -> dict[str, str] | None:
        """The table's configuration, from its log."""
        try:
            log = self._log(name, spark)
            metadata, _ = log.described(log.refreshed().head)
        except UnknownTableError:
            return None
        return dict(metadata.configuration)

    def staged(self, beside: TableName, session: SparkSession) -> list[TableName]:
        """Tables of the schema whose names say that they are staged."""
        if self.place.spark_catalog:
            names = tables_beside(session, self.relation(beside), STAGED)
        else:
            names = folders_beside(folder_of(self.place, beside), STAGED)
        return [replace(beside, name=name) for name in names]

    def staged_at(self, name: TableName, spark: Session) -> datetime | None:
        """When the table was filled."""
        try:
            return self.source(name, spark).head().committed_at
        except UnknownTableError:
            return None

    def stage(self, name: TableName, rows: DataFrame) -> str:
        """A table of its own."""
        if self.place.spark_catalog:
            rows.writeTo(self.relation(name)).using("delta").create()
        else:
            rows.write.format("delta").save(folder_of(self.place, name))
        return self.relation(name)

    def unstage(self, name: TableName, session: SparkSession) -> None:
        """Drop the table and its files."""
        if self.place.spark_catalog:
            session.sql(f"DROP TABLE IF EXISTS {self.relation(name)}").collect()
        else:
            remove_folder(folder_of(self.place, name))

    def partitioning(self, parts: Sequence[Partition]) -> list[str]:
        """Columns as they are."""
        return partition_items(parts)

    @property
    def one_history(self) -> bool:
        """False: every table has its own."""
        return False

    def stored(self, spark: Session, schema: str | None = None) -> list[TableName]:
        """Tables whose names say that they hold a view."""
        own = self.place.spark_catalog
        if own:
            return stored_in(spark(), self.place.catalog, own, schema)
        return stored_below(self.place, schema)

    def keep(self, name: TableName, spark: Session, properties: Mapping[str, str]) -> None:
        """Set properties of the table: a commit without rows."""
        set_properties(spark(), self.relation(name), properties)

    def moment(self, name: TableName, version: Version, spark: Session) -> datetime | None:
        """When a commit was made, while the log has it."""
        try:
            return self._log(name, spark).commit(int(version)).committed_at
        except HistoryExpiredError:
            return None

    def version_at(self, name: TableName, when: datetime, spark: Session) -> Version | None:
        """The newest commit by then that the log still has, None before the first run of ours."""
        log = self._log(name, spark)
        versions = sorted(log.refreshed().commits, reverse=True)
        oldest = log.commit(versions[-1]).committed_at if versions else None
        if oldest is not None and oldest > when:
            return None  # without reading all of the log to find that out
        for version in versions:
            moment = log.commit(version).committed_at
            if moment is not None and moment <= when:
                return Version(str(version)) if is_filled(log, version) else None
        return None

    def expiry(self, name: TableName, before: datetime) -> Expiry | None:
        """VACUUM: its files go, its log is kept for longer."""
        return expiry(self.relation(name), before, datetime.now(UTC))

    def expire(self, name: TableName, spark: Session, before: datetime | None) -> None:
        """Remove the files of old versions."""
        # Delta refuses less than a week, for fear of writers that it cannot see: ours have leases.
        with session_settings(spark(), VACUUM_SETTINGS, restore=True):
            run(spark(), vacuum(self.relation(name), before))

    def remove(self, name: TableName, spark: Session) -> None:
        """Drop the table and its files."""
        if self.place.spark_catalog:
            run(spark(), f"DROP TABLE IF EXISTS {self.relation(name)}")
        else:
            remove_folder(folder_of(self.place, name))

    def unpublish(self, name: TableName, spark: Session) -> None:
        """Drop the catalog's view, or remove the file of the public name."""
        if self.place.spark_catalog:
            run(spark(), f"DROP VIEW IF EXISTS {self.relation(name)}")
        else:
            remove_view(folder_of(self.place, name))

    def _log(self, name: TableName, spark: Session) -> Log:
        root = (
            self._location(name, spark())
            if self.place.spark_catalog
            else folder_of(self.place, name)
        )
        return Log(root.rstrip("/"), _files(root, spark))

    def _location(self, name: TableName, session: SparkSession) -> str:
        """Where Spark's catalog says the table is; no job."""
        from pyspark.errors import AnalysisException

        try:
            rows = session.sql(f"DESCRIBE TABLE EXTENDED {self.relation(name)}").collect()
        except AnalysisException as error:
            if "NOT_FOUND" in str(error):
                raise UnknownTableError(f'table "{name}" does not exist') from error
            raise
        found = {str(row[0]).strip(): str(row[1]) for row in rows}
        if found.get("Provider", "").lower() != "delta" or "Location" not in found:
            raise SourceError(f'table "{name}" is not a Delta table')
        local = local_path(found["Location"])
        return found["Location"] if local is None else local


def _files(root: str, spark: Session) -> Files:
    """The driver reads this machine's disk itself; elsewhere only Spark has the credentials."""
    return SparkFiles(spark) if local_path(root) is None else DriverFiles()
