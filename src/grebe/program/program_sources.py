"""The sources of a program: which table a written name means, and how its states are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from grebe.compiler.lower.scope import dotted
from grebe.program.duckdb_text import ident, literal, variable

Schemas = Mapping[str, Mapping[str, str]]
"""Column types by table, as the caller writes the tables' names."""

_ALIAS = "__grebe_source"
"""What a table is called where it is read: a struct column of its own name would hide behind it."""


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """A DuckLake table that a view reads."""

    catalog: str
    schema: str
    table: str
    written: str
    columns: tuple[tuple[str, str | None], ...] = ()
    number: int = 0
    """The place among the view's sources; names its variables and kept relations."""

    @property
    def key(self) -> str:
        """The name by which scans know the table."""
        return dotted((self.catalog, self.schema, self.table))

    @property
    def sql(self) -> str:
        """The table as SQL text."""
        return ident(self.catalog, self.schema, self.table)

    @property
    def field(self) -> str:
        """The field of a variable that belongs to this source."""
        return f"s{self.number}"

    def value(self, name: str) -> str:
        """The source's own value in a variable."""
        return f"{variable(name)}.{self.field}"

    def pin(self, when: str) -> str:
        """The version of the source at one end of the window: old or new."""
        return f"{variable('__grebe_window')}.{when}.{self.field}"

    def at(self, when: str) -> str:
        """The table at one end of the window; before there is one, at what `create_mv` reads."""
        version = self.value(when) if when == "__grebe_pins" else self.pin(when)
        return f"{self.sql} AS {_ALIAS} AT (VERSION => {version})"

    def old(self) -> str:
        """The table as the view has seen it; the window knows how it must be read."""
        return f"query({self.pin('read')}) AS {_ALIAS}"

    def changes(self, function: str) -> str:
        """The call of a change-feed function for the window; its bounds exist, also if empty."""
        names = ", ".join(literal(part) for part in (self.catalog, self.schema, self.table))
        start = f"LEAST({self.pin('old')} + 1, {self.pin('new')})"
        return f"{function}({names}, {start}, {self.pin('new')}) AS {_ALIAS}"


def struct_of(sources: Sequence[ProgramSource], value: Callable[[ProgramSource], str]) -> str:
    """A value with a field for every source."""
    fields = ",\n  ".join(f"{literal(s.field)}: {value(s)}" for s in sources)
    return f"{{\n  {fields}\n}}"


def struct(sources: Sequence[ProgramSource], value: Callable[[ProgramSource], str]) -> str:
    """A query for one value with a field for every source."""
    return f"SELECT {struct_of(sources, value)}"


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Where the view lives, which is also where its sources are unless said otherwise."""

    catalog: str
    schema: str


Options = Mapping[str, Mapping[str, str]]


def checked_options(sources: Options | None) -> Options:
    """The caller's table options with their fields checked.

    Raises:
        ValueError: a field other than catalog and schema.
    """
    for table, fields in (sources or {}).items():
        unknown = sorted(set(fields) - {"catalog", "schema"})
        if unknown:
            raise ValueError(f'unknown field "{unknown[0]}" in sources["{table}"]')
    return sources or {}


def located(parts: Sequence[str], place: TablePlace, options: Options) -> ProgramSource:
    """The table that a written name means.

    A bare name follows the options; a qualified one means what it says.
    """
    written = dotted(parts)
    if len(parts) > 1:
        return _qualified(parts, place, options, written)
    named = {table.lower(): fields for table, fields in options.items()}
    fields = named.get(parts[0].lower())
    if fields is None:
        return ProgramSource(place.catalog, place.schema, parts[0], written)
    catalog = fields.get("catalog", place.catalog)
    return ProgramSource(catalog, fields.get("schema", "main"), parts[0], written)


def _qualified(
    parts: Sequence[str], place: TablePlace, options: Options, written: str
) -> ProgramSource:
    if len(parts) > 2:
        return ProgramSource(parts[0], ".".join(parts[1:-1]), parts[-1], written)
    catalogs = {place.catalog, *(fields.get("catalog", "") for fields in options.values())}
    if parts[0].lower() in {catalog.lower() for catalog in catalogs}:
        return ProgramSource(parts[0], "main", parts[1], written)
    return ProgramSource(place.catalog, parts[0], parts[1], written)


def check_used(options: Options, used: Iterable[Sequence[str]]) -> None:
    """Every key of the options names a table of the view, given by the parts of its name.

    Raises:
        ValueError: a key that the view does not use.
    """
    known = {name for parts in used for name in (dotted(parts).lower(), parts[-1].lower())}
    for table in options:
        if table.lower() not in known:
            raise ValueError(f'sources["{table}"] is not a table of the view')
