"""Views as people wrote them: files under `views/`, or texts that the registry keeps.

A text that is the one last compiled is not parsed again: what was remembered of it holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grebe.api.facts import Facts, text_digest
from grebe.config import Settings
from grebe.errors import ConfigError, DefinitionError, GrebeError
from grebe.model import Policy, TableName
from grebe.registry.records import ViewRecord

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from grebe.compiler.declarative.sql import Columns
    from grebe.compiler.statement import Statement

Session = Callable[[], "SparkSession"]
FOLDER = "views"
SUFFIXES = (".sql", ".json")


@dataclass
class Written:
    """One view, as it is written now and as it was known before."""

    name: TableName
    text: str
    settings: Settings = field(repr=False)
    file: str | None = None
    record: ViewRecord | None = None
    error: GrebeError | None = None
    """Why the text means nothing."""
    file_is_gone: bool = False
    columns: Columns | None = field(default=None, repr=False)
    """Gives the columns of a table, for definitions that name none."""

    @property
    def key(self) -> str:
        """The full name as text."""
        return str(self.name)

    @cached_property
    def facts(self) -> Facts | None:
        """What is remembered of it, whatever its text says now."""
        return Facts.from_json(self.record.compiled) if self.record else None

    @property
    def is_as_compiled(self) -> bool:
        """True when what is remembered was found out of this very text."""
        return self.facts is not None and self.facts.text == text_digest(self.text)

    @property
    def is_as_recorded(self) -> bool:
        """True when the text is the one that the record was made of."""
        return self.record is not None and self.record.definition == self.text

    @cached_property
    def statement(self) -> Statement:
        """The text, read."""
        return read_text(self.text, self.file, self.settings, self.columns)

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
        return digest_of(self.statement)

    @property
    def has_changed(self) -> bool:
        """True when it was compiled before, as something else."""
        return self.facts is not None and self.digest != self.facts.key

    @property
    def policy(self) -> Policy:
        """What a refresh may do."""
        if self.record and (self.is_as_recorded or self.file is None):
            return Policy(self.record.policy)
        return self.statement.policy or Policy.AUTO

    @property
    def lag(self) -> str | None:
        """How old the data may be."""
        known = self.record if self.is_as_recorded else None
        return known.lag if known else self.statement.lag

    @property
    def schedule(self) -> str | None:
        """When it is refreshed by itself."""
        known = self.record if self.is_as_recorded else None
        return known.schedule if known else self.statement.schedule

    @property
    def seen(self) -> ViewRecord | None:
        """What the registry said when the view was read."""
        return self.record

    @property
    def properties(self) -> tuple[tuple[str, str], ...]:
        """What is kept with it: of its text and of `alter`, whichever was said last."""
        text, known = (
            dict(self.statement.properties),
            dict(self.record.properties if self.record else ()),
        )
        merged = {**text, **known} if self.is_as_recorded else {**known, **text}
        return tuple(sorted(merged.items()))

    @property
    def tags(self) -> tuple[str, ...]:
        """Words to select it by."""
        return self.facts.tags if self.is_as_compiled and self.facts else self.statement.tags

    def parents_among(self, names: Mapping[str, Any]) -> tuple[str, ...]:
        """The views that it reads, of those that there are."""
        if self.is_as_compiled and self.facts:
            return tuple(name for name in self.facts.parents if name in names)
        return tuple(name for name in self.tables if name in names)

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """Every table that its query names, in full; none when it cannot be read."""
        from sqlglot import exp

        from grebe.compiler.parse import parse

        try:
            tree = parse(self.query, "spark")
            found = [
                self.settings.resolve([part.name for part in table.parts])
                for table in tree.find_all(exp.Table)
                if table.name
            ]
        except GrebeError:
            return ()
        return tuple(sorted({str(name) for name in found}))


def digest_of(statement: Statement) -> str:
    """A digest of a statement's meaning for the rows of the view."""
    from grebe.compiler.parse import normalised, parse
    from grebe.compiler.partitions import read_partitions

    text = normalised(parse(statement.query, "spark"), "spark")
    divided = [f"by {part}" for part in read_partitions(statement.partitioned_by)]
    parts = "\x1f".join([text, *statement.columns, *divided])
    return blake2b(parts.encode(), digest_size=16).hexdigest()


def is_declarative(text: str) -> bool:
    """True for a definition as JSON."""
    return text.lstrip().startswith("{")


def read_text(
    text: str, file: str | None, settings: Settings, columns: Columns | None = None
) -> Statement:
    """The statement that a text means: SQL, or a declarative definition as JSON."""
    from grebe.compiler.statement import read_statement

    if not is_declarative(text):
        return read_statement(text, file)
    from grebe.compiler.declarative.sql import statement_of

    document = _document(text, file)
    statement = statement_of(document, settings.links, columns or Lookup(settings, ()))
    return _as_divisible(statement, settings)


def _as_divisible(statement: Statement, settings: Settings) -> Statement:
    """A declared layout is a wish: without the partitions that the view's format does not have."""
    from grebe.compiler.partitions import read_partitions
    from grebe.engine.tables import Tables

    if statement.name is None or not statement.partitioned_by:
        return statement
    try:
        parts = read_partitions(statement.partitioned_by)
        Tables(settings).partitioning(settings.resolve(statement.name), parts)
    except DefinitionError:
        return replace(statement, partitioned_by=())
    return statement


def name_in(text: str, file: str | None) -> tuple[str, ...] | None:
    """The name that a text gives its view, if it does; no table is looked at."""
    from grebe.compiler.statement import read_statement

    if not is_declarative(text):
        return read_statement(text, file).name
    from grebe.compiler.declarative.declared import declared

    return tuple(declared(_document(text, file)).name.split("."))


def _document(text: str, file: str | None) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DefinitionError(
            f"{file or 'the definition'} is not JSON", detail=str(error), code="not-json"
        ) from None


class Lookup:
    """The columns of tables and views, as they are now."""

    def __init__(
        self, settings: Settings, records: Sequence[ViewRecord], spark: Session | None = None
    ) -> None:
        self.settings = settings
        self.records = records
        self.spark = spark or _no_spark

    def __call__(self, name: str) -> dict[str, str]:
        """Names and types, in order."""
        from grebe.engine.tables import Tables

        table = self.settings.resolve(name)
        for record in self.records:
            facts = Facts.from_json(record.compiled) if record.name == str(table) else None
            if facts is not None:
                return dict(facts.columns)
        head = Tables(self.settings).source(table, self.spark).head()
        return {column.name: column.type for column in head.schema.columns}


def _no_spark() -> SparkSession:
    raise ConfigError(
        "the columns of this table can only be read through Spark",
        hint="write the view as SQL",
    )


def all_written(
    settings: Settings, records: Sequence[ViewRecord], spark: Session | None = None
) -> dict[str, Written]:
    """Every view of a project by its full name: files first, then what only the registry knows."""
    found: dict[str, Written] = {}
    columns = Lookup(settings, records, spark)
    by_file = {facts.file: item for item in records if (facts := Facts.from_json(item.compiled))}
    for file in sorted(_files(settings.folder / FOLDER)):
        one = _from_file(file, settings, by_file)
        one.columns = columns
        _read(one)
        other = found.get(one.key)
        if other is not None:
            one.error = _twice(one, other)
            one = Written(other.name, other.text, settings, other.file, other.record, one.error)
        found[one.key] = one
    for record in records:
        if record.name in found:
            found[record.name].record = record
        else:
            facts = Facts.from_json(record.compiled)
            file_name = facts.file if facts else None
            found[record.name] = Written(
                _named(record, settings),
                record.definition,
                settings,
                record=record,
                file_is_gone=file_name is not None,
                columns=columns,
            )
    return dict(sorted(found.items()))


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        for suffix in SUFFIXES:
            yield from (file for file in folder.rglob(f"*{suffix}") if file.is_file())


def _from_file(file: Path, settings: Settings, by_file: Mapping[str | None, ViewRecord]) -> Written:
    shown = file.relative_to(settings.folder).as_posix()
    path = file.relative_to(settings.folder / FOLDER).with_suffix("")
    name = settings.resolve(path.parts)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = DefinitionError(f"{shown} cannot be read", detail=str(error))
        return Written(name, "", settings, shown, error=problem)
    known = by_file.get(shown)
    if known is not None and known.definition == text:
        return Written(_named(known, settings), text, settings, shown, known)
    try:
        parts = name_in(text, shown)
        if parts:
            name = settings.resolve(parts)
    except GrebeError as error:
        return Written(name, text, settings, shown, error=error)
    return Written(name, text, settings, shown)


def _read(one: Written) -> None:
    """Read a text that is new, so that what is wrong with it is known from now on."""
    if one.error is None and not one.is_as_recorded:
        try:
            one.statement  # noqa: B018  it is kept when it is first asked for
        except GrebeError as error:
            one.error = error


def _named(record: ViewRecord, settings: Settings) -> TableName:
    facts = Facts.from_json(record.compiled)
    if facts and facts.storage:
        schema = facts.storage
        prefix = f"{schema.catalog}.{schema.schema}."
        if record.name.startswith(prefix):
            return TableName(schema.catalog, schema.schema, record.name.removeprefix(prefix))
    return settings.resolve(record.name.split("."))


def _twice(one: Written, other: Written) -> DefinitionError:
    return DefinitionError(
        f'view "{one.name}" is defined twice',
        detail=f"in {other.file} and in {one.file}",
        hint="remove one of the files, or give one of the views another name",
        code="defined-twice",
    )
