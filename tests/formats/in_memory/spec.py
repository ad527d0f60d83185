"""A table format of these tests, as the rest has to know it: all that a new one needs, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from grebe.formats.table_format import TableFormat
from grebe.model import CatalogAddress

if TYPE_CHECKING:
    from grebe.formats.base import Catalog


def _seconds(text: str | None) -> timedelta | None:
    return timedelta(seconds=int(text)) if text else None


class MemoryFormat(TableFormat):
    """Tables of this process, which Spark does not know."""

    name = "memory"
    title = "Memory"
    in_spark = False
    types = ("volatile",)
    jars = ("org.example:volatile:1.0",)
    retention = (("volatile.seconds", _seconds),)

    def packages(self, uri: str) -> Sequence[tuple[str, str]]:
        """Arrow, and one that nobody has."""
        return (("pyarrow", "spark"), ("volatile", "memory"))

    def session_conf(self, place: CatalogAddress) -> Mapping[str, str]:
        """A setting that Spark does not know."""
        return {f"spark.volatile.{place.catalog}": Path(place.root or "").name}

    def catalog(self, place: CatalogAddress) -> Catalog:
        """Opens the tables of a catalog."""
        from formats.in_memory.catalog import MemoryCatalog

        return MemoryCatalog(place)


FORMAT = MemoryFormat()
