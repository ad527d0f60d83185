"""What the rest has to know of a table format before one of its tables is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from grebe import known_formats
from grebe.errors import InternalError
from grebe.formats import moved_folders
from grebe.known_formats import KnownFormat
from grebe.model import CatalogAddress

if TYPE_CHECKING:
    from grebe.formats.base import Catalog
    from grebe.formats.event_tables import EventTable
    from grebe.model import TableName

Length = Callable[[str | None], timedelta | None]
"""Reads how long versions are kept; None: not set, or not understood."""


class TableFormat:
    """One table format. A subclass says what differs; whatever is large it imports when it is asked."""

    name: ClassVar[str]
    title: ClassVar[str]
    """As people write it."""
    extension: ClassVar[str | None] = None
    """What Spark has to be started with."""
    session_catalog: ClassVar[str | None] = None
    """The class of Spark's own catalog that its tables in folders need."""
    jars: ClassVar[tuple[str, ...]] = ()
    """By Maven coordinates."""
    places: ClassVar[tuple[str, ...]] = ("root",)
    """The keys of a catalog of which one says where it is."""
    no_place: ClassVar[tuple[str, str]] = (
        "has no place",
        'give a root folder, a uri, or spark_catalog = "…"',
    )
    """What is said of a catalog that has none of them, and the hint."""
    in_spark: ClassVar[bool] = True
    """Whether it may be a catalog that Spark already has."""
    types: ClassVar[tuple[str, ...]] = ()
    """What a catalog's key `type` may be."""
    keeps_words: ClassVar[bool] = True
    """Whether the text behind a public name stays as it was given, to the letter."""
    names_paths: ClassVar[bool] = True
    """Whether something names its tables' files by their whole paths, which a move makes wrong."""
    is_quickly_placed: ClassVar[bool] = False
    """Whether every command can afford to look which folder the catalog names."""
    retention: ClassVar[tuple[tuple[str, Length], ...]] = ()
    """The properties of a table that say how long its versions are kept."""

    def __str__(self) -> str:
        """The name in grebe.toml."""
        return self.name

    def __repr__(self) -> str:
        return f"TableFormat({self.name})"

    def packages(self, uri: str) -> Sequence[tuple[str, str]]:
        """The packages that it reads and writes with, and the extra that brings each."""
        raise NotImplementedError

    def catalog(self, place: CatalogAddress) -> Catalog:
        """Opens the tables of a catalog."""
        raise NotImplementedError

    def events(self, place: CatalogAddress, name: TableName) -> EventTable | None:
        """The table of a stream view, without Spark; None: the format or the catalog has none."""
        return None

    def absolute_uri(self, uri: str, absolute: Callable[[str], str]) -> str:
        """A catalog's uri, the file in it by its whole path."""
        return uri if ":" in uri else absolute(uri)

    def completed(
        self, uri: str | None, root: str | None, kind: str | None
    ) -> tuple[str | None, str | None]:
        """The uri and the type of a catalog that does not say them itself."""
        return uri, kind

    def session_conf(self, place: CatalogAddress) -> Mapping[str, str]:
        """The settings of a Spark session that knows the catalog."""
        return {}

    def is_embedded(self, place: CatalogAddress, folder: str) -> bool:
        """Whether what names the tables' files lies in the folder, by their whole paths."""
        return False

    def stray(self, place: CatalogAddress) -> str | None:
        """The folder that the catalog names in place of the project's; None: it names this."""
        return None

    def outside(self, place: CatalogAddress, move: moved_folders.Move) -> list[str]:
        """What the catalog lists and lies elsewhere than in the folder."""
        return []

    def adopt(self, place: CatalogAddress, move: moved_folders.Move) -> moved_folders.MovedTables:
        """Everything that names a file of the former folder, written anew."""
        return moved_folders.MovedTables()

    def first_file(self, place: CatalogAddress) -> Path | None:
        """The file that Spark makes of a new catalog when it first uses it; None: it makes none."""
        return None


def table_format(name: str) -> TableFormat:
    """The format of that name."""
    for known in known_formats.KNOWN:
        if known.name == name:
            return _loaded(known)
    raise InternalError(f'there is no table format "{name}"')


def table_formats() -> tuple[TableFormat, ...]:
    """All of them."""
    return tuple(_loaded(known) for known in known_formats.KNOWN)


@cache
def _loaded(known: KnownFormat) -> TableFormat:
    found = import_module(known.module).FORMAT
    if not isinstance(found, TableFormat) or found.name != known.name:
        raise InternalError(f'module {known.module} is not the table format "{known.name}"')
    return found
