"""What Iceberg has to know of a catalog, from its address."""

from __future__ import annotations

from typing import Final

from grebe.model import CatalogAddress

SQLITE: Final = "jdbc:sqlite:"
"""How the uri of a catalog in a file of SQLite begins."""


def catalog_properties(place: CatalogAddress) -> dict[str, str]:
    """What Iceberg has to know of a catalog of ours; of one that Spark already has, nothing."""
    if place.spark_catalog:
        return {}
    known = {"type": place.type, "uri": place.uri, "warehouse": place.root}
    # Views exist from this layout of the catalog's own tables on.
    known["jdbc.schema-version"] = "V1" if place.type == "jdbc" else None
    return {key: value for key, value in known.items() if value} | dict(place.options)


def type_of(uri: str | None) -> str:
    """The kind of catalog that a uri shows; without one, a database.

    >>> type_of("https://host"), type_of("thrift://host"), type_of(None)
    ('rest', 'hive', 'jdbc')
    """
    match (uri or "jdbc:").partition(":")[0]:
        case "http" | "https":
            return "rest"
        case "thrift":
            return "hive"
    return "jdbc"
