"""Names to tables: which format stands behind a catalog, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grebe.config import Catalog, Settings, TableFormat
from grebe.engine.session import iceberg_properties
from grebe.engine.sources import open_source
from grebe.errors import ConfigError, UnknownTableError
from grebe.formats.base import Source, Storage
from grebe.model import Position, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Tables:
    """Opens the tables of the configured catalogs."""

    settings: Settings

    def source(self, name: TableName, spark: Callable[[], SparkSession]) -> Source:
        """The table as a source; Spark is asked for only when rows are read through it."""
        return open_source(self.settings, name, spark)

    def storage(self, name: TableName, session: SparkSession) -> Storage:
        """The table as a view's storage, written through a session of its own."""
        catalog = self._catalog(name)
        from grebe.formats.iceberg.catalog import locator_of
        from grebe.formats.iceberg.files import DriverFiles
        from grebe.formats.iceberg.history import MetadataReader
        from grebe.formats.iceberg.storage import IcebergStorage

        locator = locator_of(catalog.name, iceberg_properties(catalog), lambda: session)
        reader = MetadataReader(locator, DriverFiles(), name)
        version = self.settings.storage.format_version
        return IcebergStorage(session, name, reader, version)

    def position(self, name: TableName) -> Position | None:
        """The position of a storage table, without Spark where the catalog allows it; or None."""
        catalog = self._catalog(name)
        from grebe.formats.iceberg.catalog import locator_of
        from grebe.formats.iceberg.files import DriverFiles
        from grebe.formats.iceberg.history import Lineage, MetadataReader
        from grebe.formats.iceberg.position import read_position

        locator = locator_of(catalog.name, iceberg_properties(catalog))
        reader = MetadataReader(locator, DriverFiles(), name)
        try:
            return read_position(Lineage(reader, reader.read()))
        except UnknownTableError:
            return None

    def _catalog(self, name: TableName) -> Catalog:
        catalog = self.settings.catalog(name.catalog)
        if catalog.format is not TableFormat.ICEBERG:
            raise ConfigError(
                f'tables of format "{catalog.format}" cannot be read yet',
                detail=f'catalog "{catalog.name}"',
            )
        return catalog
