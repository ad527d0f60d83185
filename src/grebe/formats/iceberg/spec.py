"""Iceberg, as the rest has to know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from grebe.formats.iceberg.catalog_properties import SQLITE, catalog_properties, type_of
from grebe.formats.kept_for import of_milliseconds
from grebe.formats.moved_folders import Move, MovedTables
from grebe.formats.table_format import TableFormat
from grebe.model import CatalogAddress

if TYPE_CHECKING:
    from grebe.formats.base import Catalog

_WAL: Final = "journal_mode=WAL"
"""Lets a reader of the catalog go on beside the writer."""


class IcebergFormat(TableFormat):
    """Tables of any Iceberg catalog, embedded by default."""

    name = "iceberg"
    title = "Iceberg"
    extension = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    jars = (
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "org.xerial:sqlite-jdbc:3.53.4.0",
        "org.postgresql:postgresql:42.7.14",
    )
    places = ("root", "uri")
    types = ("jdbc", "rest", "hadoop", "hive", "glue")
    is_quickly_placed = True
    retention = (("history.expire.max-snapshot-age-ms", of_milliseconds),)

    def packages(self, uri: str) -> Sequence[tuple[str, str]]:
        """Bitmaps of its delete files, Arrow, and the client of a catalog in PostgreSQL."""
        server = (("psycopg", "postgres"),) if "postgres" in uri else ()
        return (("pyroaring", "iceberg"), ("pyarrow", "spark"), *server)

    def catalog(self, place: CatalogAddress) -> Catalog:
        """Opens the tables of a catalog."""
        from grebe.formats.iceberg.catalog import IcebergCatalog

        return IcebergCatalog(place)

    def absolute_uri(self, uri: str, absolute: Callable[[str], str]) -> str:
        """A catalog in SQLite by its file's whole path."""
        if not uri.startswith(SQLITE):
            return super().absolute_uri(uri, absolute)
        file, mark, parameters = uri.removeprefix(SQLITE).partition("?")
        place = file if file.startswith((":", "file:")) else absolute(file)
        return f"{SQLITE}{place}?{parameters if mark else _WAL}"

    def completed(
        self, uri: str | None, root: str | None, kind: str | None
    ) -> tuple[str | None, str | None]:
        """The type that a uri shows; without one, a catalog in SQLite beside the tables."""
        kind = kind or type_of(uri)
        if uri is None and kind == "jdbc":
            uri = f"{SQLITE}{root}/catalog.db?{_WAL}"
        return uri, kind

    def session_conf(self, place: CatalogAddress) -> Mapping[str, str]:
        """The catalog under its name; of one that Spark already has, what is read through it."""
        prefix = f"spark.sql.catalog.{place.spark_name}"
        # With Iceberg's cache a new snapshot is unknown and counts are stale for half a minute.
        conf = {f"{prefix}.cache-enabled": "false"}
        if place.spark_catalog is None:
            conf[prefix] = "org.apache.iceberg.spark.SparkCatalog"
            conf |= {f"{prefix}.{key}": value for key, value in catalog_properties(place).items()}
        return conf

    def is_embedded(self, place: CatalogAddress, folder: str) -> bool:
        """Whether the list of tables lies in the folder."""
        from grebe.formats.iceberg import moving

        return moving.is_embedded(place, folder)

    def stray(self, place: CatalogAddress) -> str | None:
        """The folder that the catalog's pointers name in place of the project's."""
        from grebe.formats.iceberg import moving

        return moving.stray(place, place.folder)

    def outside(self, place: CatalogAddress, move: Move) -> list[str]:
        """The tables that lie elsewhere."""
        from grebe.formats.iceberg import moving

        return moving.outside(place, move)

    def adopt(self, place: CatalogAddress, move: Move) -> MovedTables:
        """Pointers, metadata and manifests, written anew."""
        from grebe.formats.iceberg import moving

        return moving.adopt(place, move)

    def first_file(self, place: CatalogAddress) -> Path | None:
        """The file of a catalog in SQLite."""
        from grebe.formats.iceberg import moving

        return moving.catalog_file(place)


FORMAT: Final = IcebergFormat()
