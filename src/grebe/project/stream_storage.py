"""Where a stream view's events lie: its table, its public name and its record, made and opened without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grebe.config import Settings
from grebe.engine.public import kept_properties, public_sql
from grebe.engine.public_name import shown_storage
from grebe.engine.tables import Tables
from grebe.errors import DeclarationError, DefinitionError
from grebe.formats.base import Session
from grebe.model import Position, Reason, TableName
from grebe.project.definitions import Definition
from grebe.project.ownership import project_id
from grebe.project.summary import Summary, text_digest
from grebe.registry.records import ViewRecord
from grebe.sql_text import PREFIX
from grebe.stored_properties import StoredProperties, pairs_text
from grebe.streams.callables import definition_digest
from grebe.streams.definition import StreamDefinition
from grebe.streams.ingest import CHANGED, EventWriter
from grebe.streams.isolate import row_maker
from grebe.streams.open_events import event_table
from grebe.streams.stream_compiled import compiled_stream, stream_fingerprint

if TYPE_CHECKING:
    from grebe.engine.compiled_view import CompiledView
    from grebe.registry import Registry

GENERATIONS = 200
"""How many tables of one view are looked for: each replay makes one."""


@dataclass(frozen=True, slots=True)
class StreamMeans:
    """What the table of a stream view is reached by."""

    tables: Tables
    session: Session
    registry: Registry

    @property
    def settings(self) -> Settings:
        """The project's settings."""
        return self.tables.settings


def refuse_other_columns(
    means: StreamMeans, known: Definition, definition: StreamDefinition
) -> None:
    """Nothing when the stored rows are rows of the new schema as well: optional fields may be added.

    Raises:
        DeclarationError: with the statement that makes the rows anew.
    """
    if known.facts is None or known.facts.storage is None or known.stream is None:
        return
    stored = event_table(means.settings, known.facts.storage).columns()
    by_name = {name.lower(): kind for name, kind in stored.items()}
    before = {item.name: item.type for item in known.stream.fields}
    for item in definition.fields:
        was = by_name.get(item.name.lower())
        field = f"$schema.{item.name}"
        hint = f"grebe replay {known.name} makes all rows anew from what the stream still holds"
        if was is None:
            if item.type.required:
                message = "a required field that the stored rows lack"
                raise DeclarationError("INVALID_SCHEMA", field, message, hint=hint)
            continue
        if _normal(was) != _normal(item.type.spark):
            message = f"it is stored as {was}, not as {item.type.spark}"
            raise DeclarationError("INVALID_TYPE", field, message, hint=hint)
        if item.type.required and item.name in before and not before[item.name].required:
            message = "it was optional, so stored rows may lack it"
            raise DeclarationError("INVALID_SCHEMA", field, message, hint=hint)


def _normal(kind: str) -> str:
    return "".join(kind.lower().replace("`", "").split())


def make(
    means: StreamMeans,
    view: Definition,
    definition: StreamDefinition,
    generation: int | None = None,
    fill: Callable[[CompiledView], None] | None = None,
) -> CompiledView:
    """The view with its table, its public name and its record, whatever of them was there.

    Of another generation the table is made anew, and filled before the name shows it.
    """
    number = generation_of(means, view.name) if generation is None else generation
    compiled = compile_stream(view, definition, number)
    table = event_table(means.settings, compiled.storage_name)
    if fill is not None:  # what an earlier attempt left
        means.tables.remove(compiled.storage_name, means.session)
    table.create(compiled.stored, kept_properties(compiled))
    table.widen(compiled.stored)
    writer = new_writer(means, view, definition, compiled)
    try:
        writer.begin()
    finally:
        writer.close()
    if fill is not None:
        fill(compiled)
    _publish(means, compiled)
    kept = kept_properties(compiled)
    found = means.tables.properties(compiled.storage_name, means.session) or {}
    lost = {key: value for key, value in kept.items() if found.get(key) != value}
    if lost:
        table.keep(lost)
    _record(means, view, definition, compiled)
    return compiled


def _publish(means: StreamMeans, compiled: CompiledView) -> None:
    relation = means.tables.relation(compiled.storage_name)
    select = public_sql(compiled, relation)
    shown = means.tables.shown(compiled.name, means.session)
    if shown != select:
        event_table(means.settings, compiled.storage_name).publish(compiled.name, select)


def current_storage(means: StreamMeans, view: Definition) -> TableName:
    """The table that holds the events of a view."""
    mark = stream_fingerprint(view.name, generation_of(means, view.name))[:8]
    return replace(view.name, name=f"{PREFIX}{view.name.name}_{mark}")


def generation_of(means: StreamMeans, name: TableName) -> int:
    """Which of the tables of a view its name shows; the first where it shows none."""
    shown = shown_storage(name, means.tables.shown(name, means.session))
    if shown is None:
        return 0
    for number in range(GENERATIONS):
        if shown.name.endswith(stream_fingerprint(name, number)[:8]):
            return number
    raise DefinitionError(
        f'the name "{name}" shows the rows of a view that is no stream',
        detail=str(shown),
        hint="give the stream view another name",
        code="name-taken",
    )


def compile_stream(view: Definition, definition: StreamDefinition, generation: int) -> CompiledView:
    """The view as its children see it."""
    properties = StoredProperties(
        definition=view.text,
        file=view.file,
        project=project_id(view.settings),
        properties=pairs_text(view.properties),
    )
    return compiled_stream(view.name, definition.columns, generation, properties)


def _record(
    means: StreamMeans, view: Definition, definition: StreamDefinition, made: CompiledView
) -> None:
    """What the registry keeps, if it is not what it has."""
    from grebe.compiler.explain import explain

    facts = Summary(
        key=view.digest,
        text=text_digest(view.text),
        file=view.file,
        columns=definition.columns,
        strategy=str(made.plan.strategy),
        explanation=json.dumps(explain(made.plan).to_dict()),
        storage=made.storage_name,
        context=view.context,
    )
    record = ViewRecord(
        str(view.name),
        view.text,
        fingerprint=made.fingerprint,
        storage=str(made.storage_name),
        properties=view.properties,
        compiled=facts.to_json(),
    )
    before = means.registry.view(str(view.name))
    if before is None or replace(before, updated_at=None, state=None) != record:
        means.registry.change_view(record, before)


def new_writer(
    means: StreamMeans, view: Definition, definition: StreamDefinition, made: CompiledView
) -> EventWriter:
    """What stores events in a view whose table is there."""
    folder = str(means.settings.folder)
    return EventWriter(
        definition,
        definition_digest(definition, folder),
        made.fingerprint,
        event_table(means.settings, made.storage_name),
        row_maker(definition, folder),
    )


def changed_from(position: Position | None) -> Reason | None:
    """That some rows were made by a former definition, if so."""
    if position is None or position.frontier is None:
        return None
    since = dict(position.frontier.values).get(CHANGED)
    if since is None:
        return None
    text = f"rows received before {since} were made by a former definition"
    return Reason("changed-from", text)
