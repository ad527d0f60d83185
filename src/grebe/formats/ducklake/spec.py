"""DuckLake, as the rest has to know it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from grebe.formats.moved_folders import Move, MovedTables
from grebe.formats.table_format import TableFormat
from grebe.model import CatalogAddress

if TYPE_CHECKING:
    from grebe.formats.base import Catalog

_FILE: Final = re.compile(r"(ducklake:|(?:ducklake:)?sqlite:)?([^:]+)")
"""A file behind DuckLake's prefixes, or a bare path."""


class DuckLakeFormat(TableFormat):
    """Tables of a DuckLake catalog, which Spark does not know."""

    name = "ducklake"
    title = "DuckLake"
    places = ("uri",)
    no_place = ("has no uri", 'write uri = "catalog.ducklake"')
    in_spark = False
    keeps_words = False

    def packages(self, uri: str) -> Sequence[tuple[str, str]]:
        """DuckDB, and bitmaps of its delete files."""
        return (("duckdb", "ducklake"), ("pyroaring", "ducklake"))

    def catalog(self, place: CatalogAddress) -> Catalog:
        """Opens the tables of a catalog."""
        from grebe.formats.ducklake.catalog import DuckLakeCatalog

        return DuckLakeCatalog(place)

    def absolute_uri(self, uri: str, absolute: Callable[[str], str]) -> str:
        """A catalog in a file by its whole path."""
        lake = _FILE.fullmatch(uri)
        return f"{lake[1] or ''}{absolute(lake[2])}" if lake else uri

    def is_embedded(self, place: CatalogAddress, folder: str) -> bool:
        """Whether the list of tables lies in the folder."""
        from grebe.formats.ducklake import moving

        return moving.is_embedded(place, folder)

    def stray(self, place: CatalogAddress) -> str | None:
        """The folder that the catalog names in place of the project's."""
        from grebe.formats.ducklake import moving

        return moving.stray(place, place.folder)

    def outside(self, place: CatalogAddress, move: Move) -> list[str]:
        """The folder of all files, where it lies elsewhere than the catalog."""
        from grebe.formats.ducklake import moving

        return moving.outside(place, move)

    def adopt(self, place: CatalogAddress, move: Move) -> MovedTables:
        """The paths in the catalog's own tables."""
        from grebe.formats.ducklake import moving

        return moving.adopt(place, move)


FORMAT: Final = DuckLakeFormat()
