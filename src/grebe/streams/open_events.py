"""Opens the table of a stream view by the format of its catalog, without Spark."""

from __future__ import annotations

from grebe.config import CatalogSettings, Settings
from grebe.errors import DeclarationError
from grebe.formats.event_tables import EventTable
from grebe.model import TableName
from grebe.streams.definition import StreamDefinition

FIRST = "delta"
"""The format that a stream view takes where nobody says: a commit takes milliseconds, without Spark."""


def event_table(settings: Settings, name: TableName) -> EventTable:
    """The storage table of that name."""
    catalog = settings.catalog(name.catalog)
    table = catalog.format.events(settings.address(catalog), name)
    if table is None:
        raise _unable(settings, catalog, None)
    return table


def stream_name(settings: Settings, definition: StreamDefinition) -> TableName:
    """The full name of a stream view: in the catalog that it names, else in one of its backend.

    Raises:
        DeclarationError: no catalog is of that format.
    """
    parts = definition.name.split(".")
    given = settings.resolve(parts)
    if len(parts) == len(("catalog", "schema", "name")):
        catalog = settings.catalog(given.catalog)
        if definition.backend not in (None, catalog.format.name) or not _takes(settings, catalog):
            raise _unable(settings, catalog, definition.backend)
        return given
    default = settings.catalog(settings.defaults.catalog)
    wanted = definition.backend or FIRST
    for catalog in (default, *settings.catalogs):
        if catalog.format.name == wanted and _takes(settings, catalog):
            return TableName(catalog.name, given.schema, given.name)
    if definition.backend is None and _takes(settings, default):
        return given
    raise _unable(settings, default, wanted)


def _takes(settings: Settings, catalog: CatalogSettings) -> bool:
    """Whether the tables of a catalog can hold events."""
    name = TableName(catalog.name, "schema", "name")
    return catalog.format.events(settings.address(catalog), name) is not None


def _unable(settings: Settings, catalog: CatalogSettings, wanted: str | None) -> DeclarationError:
    format_ = wanted or FIRST
    able = [item.name for item in settings.catalogs if item.format.name == format_]
    hint = (
        f"name it {able[0]}.schema.name"
        if able
        else f'add a catalog to grebe.toml: [catalogs.events] format = "{format_}", root = "events"'
    )
    message = f'catalog "{catalog.name}" has format {catalog.format}, streams want {format_}'
    return DeclarationError("INVALID_BACKEND", "$refresh.backend", message, hint=hint)
