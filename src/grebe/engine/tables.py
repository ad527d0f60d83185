"""Names to tables: which format stands behind a catalog, and how it is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from grebe.config import Settings
from grebe.formats.base import Catalog, Expiry, Select, Session, Source, Storage
from grebe.model import Partition, Position, TableName, Version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Tables:
    """Opens the tables of the configured catalogs; each call goes to the format of the name."""

    settings: Settings

    def relation(self, name: TableName) -> str:
        """The table as it is now, as text for the engine that public names are read by."""
        return self._catalog(name).relation(name)

    def source(self, name: TableName, spark: Session) -> Source:
        """The table as a source; Spark is asked for only when rows are read through it."""
        return self._catalog(name).source(name, spark)

    def storage(self, name: TableName, session: SparkSession) -> Storage:
        """The table as a view's storage, written through a session of its own."""
        return self._catalog(name).storage(name, session)

    def position(self, name: TableName, spark: Session) -> Position | None:
        """The position of a storage table, without Spark where the catalog allows it; or None."""
        return self._catalog(name).position(name, spark)

    def publish(self, name: TableName, session: SparkSession, select: Select) -> None:
        """Make a public name show what a SELECT says, in one step."""
        self._catalog(name).publish(name, session, select)

    def shown(self, name: TableName, spark: Session) -> str | None:
        """The SELECT behind a public name, without Spark where the catalog allows it; or None."""
        return self._catalog(name).shown(name, spark)

    def taken(self, name: TableName, spark: Session) -> bool:
        """Whether a table stands under a name, so that it cannot be that of a view."""
        return self._catalog(name).taken(name, spark)

    def properties(self, name: TableName, spark: Session) -> Mapping[str, str] | None:
        """What is kept with a storage table, without Spark where the catalog allows it; or None."""
        return self._catalog(name).properties(name, spark)

    def staged(self, beside: TableName, session: SparkSession) -> Sequence[TableName]:
        """What is staged in the schema of a table, by whatever run."""
        return self._catalog(beside).staged(beside, session)

    def staged_at(self, name: TableName, spark: Session) -> datetime | None:
        """When rows were staged under a name; None: it cannot be told, or there are none yet."""
        return self._catalog(name).staged_at(name, spark)

    def stage(self, name: TableName, rows: DataFrame) -> str:
        """Keep rows where every session can read them; the SQL text to read them by."""
        return self._catalog(name).stage(name, rows)

    def unstage(self, name: TableName, session: SparkSession) -> None:
        """Remove what was staged under this name."""
        self._catalog(name).unstage(name, session)

    def partitioning(self, name: TableName, parts: Sequence[Partition]) -> Sequence[str]:
        """How the format of a table writes these partitions, in SQL."""
        return self._catalog(name).partitioning(parts)

    def one_history(self, name: TableName) -> bool:
        """Whether the versions of a table are those of its whole catalog."""
        return self._catalog(name).one_history

    def stored(
        self, catalog: str, spark: Session, schema: str | None = None
    ) -> Sequence[TableName]:
        """The storage tables of a catalog, or of one schema of it, of whatever view."""
        return self._catalog_of(catalog).stored(spark, schema)

    def keep(self, name: TableName, spark: Session, properties: Mapping[str, str]) -> None:
        """Put these beside the other properties of a storage table."""
        self._catalog(name).keep(name, spark, properties)

    def moment(self, name: TableName, version: Version, spark: Session) -> datetime | None:
        """When a version of a table was committed; None: it is gone, or does not say."""
        return self._catalog(name).moment(name, version, spark)

    def version_at(self, name: TableName, when: datetime, spark: Session) -> Version | None:
        """The newest version that was committed by then; None: there is none, or none is left."""
        return self._catalog(name).version_at(name, when, spark)

    def expiry(self, name: TableName, before: datetime) -> Expiry | None:
        """How a person removes older versions of a table."""
        return self._catalog(name).expiry(name, before)

    def expire(self, name: TableName, spark: Session, before: datetime | None) -> None:
        """Remove versions of a storage table from before a moment; None: all but the newest."""
        self._catalog(name).expire(name, spark, before)

    def remove(self, name: TableName, spark: Session) -> None:
        """Remove a storage table with its rows."""
        self._catalog(name).remove(name, spark)

    def unpublish(self, name: TableName, spark: Session) -> None:
        """Remove a public name."""
        self._catalog(name).unpublish(name, spark)

    def _catalog(self, name: TableName) -> Catalog:
        return self._catalog_of(name.catalog)

    def _catalog_of(self, name: str) -> Catalog:
        catalog = self.settings.catalog(name)
        return catalog.format.catalog(self.settings.address(catalog))
