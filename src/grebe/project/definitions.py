"""Views as people wrote them: files under `views/`, or texts that the registry keeps.

A text that is the one last compiled is not parsed again: what was remembered of it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grebe.config import Settings
from grebe.errors import DefinitionError, GrebeError
from grebe.model import STREAM, Policy, Reason, TableName
from grebe.project.lookup import NOT_COMPILED, Lookup, Session, ViewColumns, not_compiled
from grebe.project.read_definition import (
    context_of,
    digest_of,
    read_header,
    read_text,
    stream_digest,
    stream_in,
    stream_statement,
    tables_in,
    unreadable,
)
from grebe.project.summary import Summary, text_digest
from grebe.registry.records import ViewRecord
from grebe.stored_properties import is_own
from grebe.view_timing import Timing, Trigger, timing_of

if TYPE_CHECKING:
    from grebe.compiler.text.declarative.sql import Columns
    from grebe.compiler.text.statement import Statement
    from grebe.streams.definition import StreamDefinition

FOLDER = "views"
SUFFIXES = (".sql", ".json")


@dataclass
class Definition:
    """One view, as it is written now and as it was known before."""

    name: TableName
    text: str
    settings: Settings = field(repr=False)
    file: str | None = None
    record: ViewRecord | None = None
    error: GrebeError | None = None
    """Why the text means nothing."""
    gone: str | None = None
    """The file that defined it and no longer does; the registry's text goes on."""
    columns: Columns | None = field(default=None, repr=False)
    """Gives the columns of a table, for definitions that name none."""

    @property
    def key(self) -> str:
        """The full name as text."""
        return str(self.name)

    @cached_property
    def facts(self) -> Summary | None:
        """What is remembered of it, whatever its text says now."""
        return Summary.from_json(self.record.compiled) if self.record else None

    @property
    def is_as_compiled(self) -> bool:
        """True when what is remembered was found out of this very text, in the same settings."""
        if self.facts is None or self.facts.text != text_digest(self.text):
            return False
        return self.facts.context in ("", self.context)

    @cached_property
    def context(self) -> str:
        """What of the project's settings the text stands in."""
        return context_of(self.text, self.settings)

    @property
    def is_as_recorded(self) -> bool:
        """True when the text is the one that the record was made of."""
        return self.record is not None and self.record.definition == self.text

    @cached_property
    def statement(self) -> Statement:
        """The text, read."""
        columns = self.columns or Lookup(self.settings)
        return read_text(self.text, self.file, self.settings, columns)

    @cached_property
    def header(self) -> Statement:
        """What the text says around its query; no table is looked at."""
        return read_header(self.text, self.file)

    @cached_property
    def stream(self) -> StreamDefinition | None:
        """What it says of events, if it is a stream view."""
        try:
            return stream_in(self.text, self.file)
        except GrebeError:
            return None

    @property
    def stream_source(self) -> str | None:
        """The stream that its events come from, as people see it; None for a view of a query."""
        return None if self.stream is None else f"{STREAM}{self.stream.stream}"

    @property
    def notes(self) -> tuple[Reason, ...]:
        """What people should know of it, whatever is done with it."""
        if self.gone is None:
            return ()
        message = f"{self.gone} no longer defines it, so the text of its last refresh goes on"
        hint = f"grebe drop {self.name}, or write the file again"
        return (Reason("file-gone", f"{message}; {hint}"),)

    @property
    def layout(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What files are to be partitioned and clustered by; nothing when that cannot be read now."""
        try:
            return self.statement.partitioned_by, self.statement.clustered_by
        except GrebeError:
            return (), ()

    @property
    def query(self) -> str:
        """The query; of a declarative definition that did not change, the one it meant before."""
        if self.is_as_compiled and self.facts and self.facts.query:
            return self.facts.query
        return self.statement.query

    @cached_property
    def digest(self) -> str:
        """A digest of what the definition says; spaces, case and comments do not count."""
        if self.is_as_compiled and self.facts:
            return self.facts.key
        if self.stream is not None:
            return stream_digest(self.stream)
        return digest_of(self.statement, self.settings)

    @property
    def has_changed(self) -> bool:
        """True when it was compiled before, as something else; a stream's rows stay as they are."""
        if self.stream is not None:
            return False
        return self.facts is not None and self.digest != self.facts.key

    @property
    def policy(self) -> Policy:
        """What a refresh may do."""
        if self.record and (self.is_as_recorded or self.file is None):
            return Policy(self.record.policy)
        return self.header.policy or Policy.AUTO

    @property
    def timing(self) -> Timing:
        """When it is refreshed by itself, and when it is late."""
        known = self.record if self.is_as_recorded else None
        if known is None:
            return self.header.timing
        if known.timing is None:
            return _timing_of_old(known, self.header.timing)
        return timing_of(dict(known.timing), known.lag, known.schedule)

    @property
    def lag(self) -> str | None:
        """How old the data may be."""
        return self.timing.lag

    @property
    def schedule(self) -> str | None:
        """When it is refreshed by itself."""
        return self.timing.schedule

    @property
    def seen(self) -> ViewRecord | None:
        """What the registry said when the view was read."""
        return self.record

    @property
    def properties(self) -> tuple[tuple[str, str], ...]:
        """What is kept with it: of its text and of `alter`, whichever was said last."""
        text, known = (
            dict(self.header.properties),
            # What is grebe's own is only ever said by the text: gone from it, it is gone.
            {key: value for key, value in self._recorded if not is_own(key)},
        )
        merged = {**text, **known} if self.is_as_recorded else {**known, **text}
        return tuple(sorted(merged.items()))

    @property
    def _recorded(self) -> tuple[tuple[str, str], ...]:
        return self.record.properties if self.record else ()

    @property
    def tags(self) -> tuple[str, ...]:
        """Words to select it by."""
        return self.facts.tags if self.is_as_compiled and self.facts else self.header.tags

    def parents_among(self, names: Mapping[str, Any]) -> tuple[str, ...]:
        """The views that it reads, of those that there are."""
        if self.is_as_compiled and self.facts:
            return tuple(name for name in self.facts.parents if name in names)
        return tuple(name for name in self.tables if name in names)

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """Every table that its query names, in full; none when it cannot be read."""
        return tables_in(self.text, lambda: self.query, self.settings)


def _timing_of_old(record: ViewRecord, said: Timing) -> Timing:
    """What the record of an older version means: it kept a grace as the lag, and no trigger."""
    lag_is_grace = said.grace is not None and record.lag == said.grace
    trigger = None if record.schedule and said.trigger == Trigger.UPDATE else said.trigger
    lag = None if lag_is_grace else record.lag
    return replace(said, lag=lag, schedule=record.schedule, trigger=trigger)


Compiled = Callable[[Definition], Mapping[str, str] | None]
"""The columns of a view as this very text of it was compiled, if it was."""


def columns_of_views(
    views: Mapping[str, Definition], compiled: Compiled | None = None
) -> ViewColumns:
    """Gives the columns of views: what is remembered of them, or what was compiled since."""

    def columns(name: str) -> Mapping[str, str] | None:
        view = views.get(name)
        if view is None:
            return None
        if view.is_as_compiled and view.facts:
            return dict(view.facts.columns)
        made = compiled(view) if compiled else None
        if made is None:
            raise not_compiled(name)
        return made

    return columns


def all_written(
    settings: Settings,
    records: Sequence[ViewRecord],
    spark: Session | None = None,
    compiled: Compiled | None = None,
) -> dict[str, Definition]:
    """Every view of a project by its full name: files first, then what only the registry knows.

    Args:
        settings: the project's.
        records: what the registry knows.
        spark: the session, for tables whose columns only Spark can read.
        compiled: the columns of a view that was compiled since, if it was.
    """
    found: dict[str, Definition] = {}
    by_file = {
        facts.file: item
        for item in records
        if (facts := Summary.from_json(item.compiled)) and facts.file
    }
    for file in sorted(_files(settings.folder / FOLDER)):
        one = _from_file(file, settings, by_file)
        other = found.get(one.key)
        if other is not None:
            error = _twice(one, other)
            one = Definition(other.name, other.text, settings, other.file, other.record, error)
        found[one.key] = one
    for record in records:
        if record.name in found:
            found[record.name].record = record
        else:
            one = _from_record(record, settings)
            found[one.key] = one
    columns = Lookup(settings, columns_of_views(found, compiled), spark)
    for one in found.values():
        one.columns = columns
    for one in found.values():
        _read(one)
    return dict(sorted(found.items()))


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        for suffix in SUFFIXES:
            yield from (file for file in folder.rglob(f"*{suffix}") if file.is_file())


def _from_file(file: Path, settings: Settings, by_file: Mapping[str, ViewRecord]) -> Definition:
    """The view in a file.

    One that says nothing sensible still has a name, the one it had before or its path: so it is
    shown as it is, and hides no other.
    """
    shown = file.relative_to(settings.folder).as_posix()
    known = by_file.get(shown)
    path = file.relative_to(settings.folder / FOLDER).with_suffix("").parts
    text, parts, problem = "", None, None
    if not file.resolve().is_relative_to(settings.folder):
        problem = outside(shown)
        return Definition(_as_said(path, settings), text, settings, shown, known, problem)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = unreadable(shown, error)
    if known is not None and (problem or known.definition == text):
        return _from_record(known, settings, shown, text, problem)
    try:
        if problem is None:
            parts = _parts_of(text, shown, settings)
        return Definition(settings.resolve(parts or path), text, settings, shown, error=problem)
    except GrebeError as error:
        if known is not None:
            return _from_record(known, settings, shown, text, error)
        return Definition(_as_said(parts or path, settings), text, settings, shown, error=error)


def _parts_of(text: str, shown: str, settings: Settings) -> tuple[str, ...] | None:
    """The name that a text gives its view."""
    stream = stream_in(text, shown)
    if stream is not None:
        return stream_statement(stream, settings).name
    return read_header(text, shown).name


def _from_record(
    record: ViewRecord,
    settings: Settings,
    file: str | None = None,
    text: str | None = None,
    error: GrebeError | None = None,
) -> Definition:
    """A view as the registry knows it; one whose catalog is not there any more is told, not raised."""
    facts = Summary.from_json(record.compiled)
    gone = facts.file if facts and file is None else None
    text = record.definition if text is None else text
    try:
        name = _named(record.name, facts, settings)
    except GrebeError as unknown:
        name, error = _as_said(tuple(record.name.split(".")), settings), error or unknown
    return Definition(name, text, settings, file, record, error, gone)


def _read(one: Definition) -> None:
    """Read a text that is new, so that what is wrong with it is known from now on.

    A declarative one over views that nobody compiled yet waits for them.
    """
    if one.error is not None or (one.is_as_recorded and (one.facts is None or one.is_as_compiled)):
        return
    try:
        one.statement  # noqa: B018  it is kept when it is first asked for
    except GrebeError as error:
        if error.code != NOT_COMPILED:
            one.error = error


def _named(name: str, facts: Summary | None, settings: Settings) -> TableName:
    if facts and facts.storage:
        schema = facts.storage
        prefix = f"{schema.catalog}.{schema.schema}."
        if name.startswith(prefix):
            return TableName(schema.catalog, schema.schema, name.removeprefix(prefix))
    return settings.resolve(name.split("."))


def _as_said(parts: Sequence[str], settings: Settings) -> TableName:
    """The name as it is written, of a catalog that need not be there."""
    if len(parts) <= len(("schema", "table")):
        return settings.resolve(parts)
    catalog, *schemas, name = parts
    return TableName(catalog, ".".join(schemas), name)


def outside(shown: str) -> DefinitionError:
    """The error for a link: what it leads to may be anybody's, and none of it is told."""
    return DefinitionError(
        f"{shown} leads out of the project",
        detail="it is a link to a file elsewhere, which is not read",
        hint=f"put the file itself into {FOLDER}/",
        code="view-outside",
    )


def _twice(one: Definition, other: Definition) -> DefinitionError:
    return DefinitionError(
        f'view "{one.name}" is defined twice',
        detail=f"in {other.file} and in {one.file}",
        hint="remove one of the files, or give one of the views another name",
        code="defined-twice",
    )
