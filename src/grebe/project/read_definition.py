"""What a text means: SQL, or a declarative definition as JSON, read with or without its tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from grebe.config import Settings
from grebe.errors import DefinitionError, GrebeError

if TYPE_CHECKING:
    from grebe.compiler.text.declarative.declared import Declared
    from grebe.compiler.text.declarative.sql import Columns
    from grebe.compiler.text.statement import Statement
    from grebe.streams.definition import StreamDefinition

_FULL_NAME = 3
"""A name of catalog, schema and table; a shorter one takes the defaults."""


def digest_of(statement: Statement, settings: Settings) -> str:
    """A digest of a statement's meaning for the rows of the view."""
    from grebe.compiler.plan.layout_items import read_partitions

    divided = [f"by {part}" for part in read_partitions(statement.partitioned_by)]
    near = [f"in {_defaults(settings)}"] if _uses_defaults(statement.query) else []
    rows = [_rows_digest(statement.rows)] if statement.rows else []
    parts = "\x1f".join([_normal(statement.query), *statement.columns, *divided, *near, *rows])
    return blake2b(parts.encode(), digest_size=16).hexdigest()


def context_of(text: str, settings: Settings) -> str:
    """What else than its text makes a definition mean what it means: defaults, and links it uses."""
    from grebe.compiler.text.declarative.paths import used_links

    if not is_declarative(text) or is_rows(text):
        return _defaults(settings)
    try:
        used = used_links(_declared(text, None), settings.links)
    except GrebeError:
        return _defaults(settings)  # what it means is told as an error, whatever it stands in
    return "\n".join([_defaults(settings), *(f"{at}.{name}: {link}" for at, name, link in used)])


def _defaults(settings: Settings) -> str:
    return f"{settings.defaults.catalog}.{settings.defaults.schema}"


def _normal(query: str) -> str:
    """The query in one spelling; as it is, where the parser does not read it."""
    from grebe.compiler.parser.parse import normalised, parse

    try:
        return normalised(parse(query, "spark"), "spark")
    except DefinitionError:
        return query


def _uses_defaults(query: str) -> bool:
    from grebe.compiler.text.verbatim import tables_in as named_in

    return any(len(parts) < _FULL_NAME for parts in named_in(query, "spark"))


def is_declarative(text: str) -> bool:
    """True for a definition as JSON."""
    return text.lstrip().startswith("{")


def is_rows(text: str) -> bool:
    """True for the text of a row view."""
    from grebe.compiler.rows.row_definition import DOCUMENT

    return text.lstrip().startswith(f'{{"{DOCUMENT}"')


def _rows_statement(text: str, file: str | None) -> Statement:
    from grebe.compiler.rows.row_definition import row_definition
    from grebe.compiler.text.statement import Statement

    definition = row_definition(_document(text, file))
    return Statement(definition.query, rows=text, text=definition.query, file=file)


def _rows_digest(text: str) -> str:
    from grebe.compiler.rows.row_definition import row_definition

    return row_definition(json.loads(text)).digest


def read_text(text: str, file: str | None, settings: Settings, columns: Columns) -> Statement:
    """The statement that a text means: SQL, or a declarative definition as JSON."""
    from grebe.compiler.text.statement import read_statement

    if not is_declarative(text):
        return read_statement(text, file)
    if is_rows(text):
        return _rows_statement(text, file)
    from grebe.compiler.text.declarative.sql import statement_of

    stream = stream_in(text, file)
    if stream is not None:
        return stream_statement(stream, settings)
    statement = statement_of(_document(text, file), settings.links, columns)
    return _as_divisible(statement, settings)


def read_header(text: str, file: str | None) -> Statement:
    """What a text says around its query; of a declarative one the query is left out.

    No table is looked at, so it can be read before the views that it reads are compiled.
    """
    from grebe.compiler.text.statement import read_statement

    if not is_declarative(text):
        return read_statement(text, file)
    if is_rows(text):
        return _rows_statement(text, file)
    from grebe.compiler.text.declarative.sql import header_of

    stream = stream_in(text, file)
    if stream is not None:
        return stream_statement(stream)
    return header_of(_declared(text, file))


def tables_in(text: str, query: Callable[[], str], settings: Settings) -> tuple[str, ...]:
    """Every table that a text names, in full; none when it cannot be read."""
    from grebe.compiler.text.declarative.paths import named_tables
    from grebe.compiler.text.verbatim import tables_in as named_in

    try:
        if stream_in(text, None) is not None:
            return ()
        if is_declarative(text) and not is_rows(text):
            named = named_tables(_declared(text, None), settings.links)
            found = [settings.resolve(name) for name in named]
        else:
            found = [settings.resolve(parts) for parts in named_in(query(), "spark")]
    except GrebeError:
        return ()
    return tuple(sorted({str(name) for name in found}))


def stream_in(text: str, file: str | None) -> StreamDefinition | None:
    """The definition of a stream view that a text is; None for any other text.

    Raises:
        DeclarationError: it is one, and breaks a rule.
    """
    if not is_declarative(text) or not any(word in text for word in ('"$stream"', '"$schema"')):
        return None
    from grebe.streams.definition import declared_stream, is_stream

    document = _document(text, file)
    return declared_stream(document) if is_stream(document) else None


def stream_statement(stream: StreamDefinition, settings: Settings | None = None) -> Statement:
    """What a stream view says around its events; with the settings also in which catalog it is."""
    from grebe.compiler.text.statement import Statement
    from grebe.streams.open_events import stream_name

    parts = tuple(stream.name.split("."))
    if settings is not None:
        name = stream_name(settings, stream)
        parts = (name.catalog, *name.schema.split("."), name.name)
    return Statement(query="", name=parts)


def stream_digest(stream: StreamDefinition) -> str:
    """What tells a stream view's text from another one that means something else."""
    return stream.digest(dict.fromkeys(stream.functions, ""))


def _as_divisible(statement: Statement, settings: Settings) -> Statement:
    """A declared layout is a wish: without the partitions that the view's format does not have."""
    from grebe.compiler.plan.layout_items import read_partitions
    from grebe.engine.tables import Tables

    if statement.name is None or not statement.partitioned_by:
        return statement
    try:
        parts = read_partitions(statement.partitioned_by)
        Tables(settings).partitioning(settings.resolve(statement.name), parts)
    except DefinitionError:
        return replace(statement, partitioned_by=())
    return statement


def _declared(text: str, file: str | None) -> Declared:
    from grebe.compiler.text.declarative.declared import declared

    return declared(_document(text, file))


def _document(text: str, file: str | None) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DefinitionError(
            f"{file or 'the definition'} is not JSON",
            detail=str(error),
            hint='correct it at that place; a definition is one object: {"$type": …, "$from": …}',
            code="not-json",
        ) from None


def unreadable(shown: object, error: OSError | UnicodeDecodeError) -> DefinitionError:
    """The error for a file whose text cannot be had."""
    match error:
        case UnicodeDecodeError():
            hint = "save the file as text in UTF-8"
        case FileNotFoundError():
            hint = "give the path of a file, or the name of a view: see `grebe status`"
        case PermissionError():
            hint = "change its permissions, so that you may read it"
        case _:
            hint = "check the path and the disk"
    detail = error.strerror if isinstance(error, OSError) else str(error)
    return DefinitionError(f"{shown} cannot be read", detail=detail, hint=hint)
