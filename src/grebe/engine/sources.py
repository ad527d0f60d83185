"""Names -> sources: which format reads a table, and by which way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from grebe.config import Catalog, Settings, TableFormat
from grebe.engine.session import iceberg_properties
from grebe.errors import ConfigError
from grebe.formats.base import Source
from grebe.formats.iceberg.catalog import locator_of
from grebe.formats.iceberg.files import DriverFiles, Files, SparkFiles, local_path
from grebe.formats.iceberg.source import IcebergSource
from grebe.model import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]
"""Gives the session when it is needed: Spark is not started before."""


def open_source(settings: Settings, name: str | TableName, spark: Session) -> Source:
    """The source behind a name; nothing is read yet.

    Raises:
        UnknownTableError: when no catalog has the name's first part.
        ConfigError: when the catalog's format cannot be read.
    """
    table = name if isinstance(name, TableName) else settings.resolve(name)
    catalog = settings.catalog(table.catalog)
    if catalog.format is not TableFormat.ICEBERG:
        raise ConfigError(
            f'tables of catalog "{catalog.name}" cannot be read',
            detail=f"its format is {catalog.format}; this version reads iceberg",
        )
    # Spark knows the catalog by its own name, and only Spark is asked by it.
    known = TableName(catalog.spark_name, table.schema, table.name)
    locator = locator_of(known.catalog, iceberg_properties(catalog), spark)
    return IcebergSource(known, locator, _files(catalog, spark), spark=spark)


def _files(catalog: Catalog, spark: Session) -> Files:
    """The driver reads this machine's disk itself; elsewhere only Spark has the credentials."""
    if catalog.root and local_path(catalog.root):
        return DriverFiles()
    return SparkFiles(spark)
