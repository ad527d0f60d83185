"""Delta, as the rest has to know it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from grebe.formats.kept_for import of_interval
from grebe.formats.moved_folders import Move, MovedTables
from grebe.formats.table_format import TableFormat
from grebe.model import CatalogAddress

if TYPE_CHECKING:
    from grebe.formats.base import Catalog
    from grebe.formats.event_tables import EventTable
    from grebe.model import TableName


class DeltaFormat(TableFormat):
    """Tables in folders, or in a catalog that Spark already has."""

    name = "delta"
    title = "Delta"
    extension = "io.delta.sql.DeltaSparkSessionExtension"
    session_catalog = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    jars = ("io.delta:delta-spark_4.1_2.13:4.4.0",)
    retention = (("delta.deletedFileRetentionDuration", of_interval),)

    def packages(self, uri: str) -> Sequence[tuple[str, str]]:
        """Its log and its files without Spark."""
        return (("deltalake", "delta"), ("pyarrow", "delta"))

    def catalog(self, place: CatalogAddress) -> Catalog:
        """Opens the tables of a catalog."""
        from grebe.formats.delta.catalog import DeltaCatalog

        return DeltaCatalog(place)

    def events(self, place: CatalogAddress, name: TableName) -> EventTable | None:
        """In a folder of this machine."""
        if place.spark_catalog or not place.root:
            return None
        from grebe.formats.delta.event_table import DeltaEvents

        return DeltaEvents(place, name)

    def is_embedded(self, place: CatalogAddress, folder: str) -> bool:
        """Whether the tables lie in the folder."""
        from grebe.formats.delta import moving

        return moving.is_embedded(place, folder)

    def stray(self, place: CatalogAddress) -> str | None:
        """The folder that public names read in place of the project's."""
        from grebe.formats.delta import moving

        return moving.stray(place, place.folder)

    def adopt(self, place: CatalogAddress, move: Move) -> MovedTables:
        """Every public name, with the folder of its storage table as it is."""
        from grebe.formats.delta import moving

        return moving.adopt(place, move)


FORMAT: Final = DeltaFormat()
