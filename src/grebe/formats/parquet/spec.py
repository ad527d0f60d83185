"""Folders of Parquet files, as the rest has to know them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from grebe.formats.table_format import TableFormat
from grebe.model import CatalogAddress

if TYPE_CHECKING:
    from grebe.formats.base import Catalog


class ParquetFormat(TableFormat):
    """Folders that are read; there is no commit, so none holds a view."""

    name = "parquet"
    title = "Parquet"
    names_paths = False

    def packages(self, uri: str) -> Sequence[tuple[str, str]]:
        """Arrow."""
        return (("pyarrow", "spark"),)

    def catalog(self, place: CatalogAddress) -> Catalog:
        """Opens the folders of a catalog."""
        from grebe.formats.parquet.catalog import ParquetCatalog

        return ParquetCatalog(place)


FORMAT: Final = ParquetFormat()
