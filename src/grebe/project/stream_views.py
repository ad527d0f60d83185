"""The stream views of a project: defined, opened, fed, and shown beside the others."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from grebe.engine.public_name import shown_storage
from grebe.engine.result import RefreshResult
from grebe.errors import DeclarationError, DefinitionError, GrebeError
from grebe.model import Outcome, Reason, RunId, TableName
from grebe.project.definitions import Definition
from grebe.project.stream_sources import source_of
from grebe.project.stream_storage import StreamMeans, make, new_writer, refuse_other_columns
from grebe.streams.callables import definition_digest
from grebe.streams.definition import StreamDefinition, declared_stream, named_function
from grebe.streams.feed import BATCH_SIZE, feed_events
from grebe.streams.ingest import EventWriter
from grebe.streams.open_events import stream_name
from grebe.streams.pulling import pull_all
from grebe.streams.totals import Ingested

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace


def means_of(workspace: Workspace) -> StreamMeans:
    """What the tables of a project's stream views are reached by."""
    return StreamMeans(workspace.tables, workspace.session, workspace.registry)


def define(workspace: Workspace, spec: Mapping[str, Any], *, replaces: bool = False) -> TableName:
    """A stream view that is known from now on; its table is there, and empty or as it was.

    Raises:
        DeclarationError: with the code and the field of what is wrong; nothing was made.
        DefinitionError: the name is taken.
    """
    document = plain_document(spec)
    definition = declared_stream(document)
    folder = str(workspace.settings.folder)
    definition_digest(definition, folder)  # its functions can be imported and read
    name = stream_name(workspace.settings, definition)
    text = json.dumps(document, ensure_ascii=False)
    known = workspace.written().get(str(name))
    if known is not None:
        _refuse_known(known, text, replaces=replaces)
        refuse_other_columns(means_of(workspace), known, definition)
    elif workspace.tables.taken(name, workspace.session):
        raise DefinitionError(
            f'the name "{name}" is taken by a table',
            hint="give the view another name, or rename the table",
            code="name-taken",
        )
    record = known.record if known else None
    view = Definition(name, text, workspace.settings, record=record)
    make(means_of(workspace), view, definition)
    return name


def redefined(workspace: Workspace, view: Definition, spec: Mapping[str, Any]) -> Definition:
    """The same view with another definition, which no stored row has to fit."""
    document = plain_document(spec)
    definition = declared_stream(document)
    definition_digest(definition, str(workspace.settings.folder))
    if view.file or stream_name(workspace.settings, definition) != view.name:
        raise DefinitionError(
            f'the definition is not one that view "{view.name}" can be given',
            detail=f"it is defined in {view.file}" if view.file else None,
            hint="a view keeps its name, and its file if it has one",
            code="other-name",
        )
    text = json.dumps(document, ensure_ascii=False)
    return Definition(view.name, text, workspace.settings, record=view.record)


def plain_document(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A definition as plain data: functions by the names that they can be imported by."""
    if not isinstance(spec, Mapping):
        raise DeclarationError("INVALID_DEFINITION", "", "a definition is an object")
    found = dict(spec)
    for at, code in (("$filter", "INVALID_FILTER"), ("$transform", "INVALID_TRANSFORM")):
        if callable(found.get(at)):
            found[at] = named_function(found[at], code, at)
    try:
        return dict(json.loads(json.dumps(found)))
    except (TypeError, ValueError) as error:
        declared_stream(found)  # says where
        message = f"the definition is not plain data: {error}"
        raise DeclarationError("INVALID_DEFINITION", "", message) from error


def _refuse_known(known: Definition, text: str, *, replaces: bool) -> None:
    if known.file:
        raise DefinitionError(
            f'view "{known.name}" is defined in a file',
            detail=str(known.file),
            hint="edit the file; the next batch follows it",
            code="view-in-file",
        )
    if known.stream is None or (not replaces and known.text != text):
        raise DefinitionError(
            f'view "{known.name}" exists already',
            hint="alter or drop it, or define it with replace",
            code="view-exists",
        )


def stream_of(view: Definition) -> StreamDefinition:
    """The definition of a stream view.

    Raises:
        DefinitionError: the view is none.
    """
    if view.error is not None:
        raise view.error
    if view.stream is None:
        raise DefinitionError(
            f'view "{view.name}" is no stream view',
            hint="refresh it: its rows come from its query",
            code="no-stream",
        )
    return view.stream


def writer_of(workspace: Workspace, view: Definition) -> EventWriter:
    """What stores events in a view; kept as long as the view says the same, over the same table."""
    definition = stream_of(view)
    shown = workspace.tables.shown(view.name, workspace.session)
    sign = (view.text, shown_storage(view.name, shown))
    known = workspace.stream_writers.get(view.key)
    if known is not None and known[0] == sign and sign[1] is not None:
        return known[1]
    if known is not None:
        known[1].close()
    if view.record is not None and view.file and view.facts:
        before = Definition(view.name, view.record.definition, view.settings, record=view.record)
        refuse_other_columns(means_of(workspace), before, definition)
    made = make(means_of(workspace), view, definition)
    writer = new_writer(means_of(workspace), view, definition, made)
    sign = (view.text, made.storage_name)
    workspace.stream_writers[view.key] = (sign, writer)
    return writer


# --- fed ------------------------------------------------------------------------------------------


def ingest_into(
    workspace: Workspace,
    view: Definition,
    events: Iterable[object],
    *,
    batch: str | None = None,
    on_error: str = "dead",
    size: int = BATCH_SIZE,
) -> Ingested:
    """Store events in one view."""
    return feed_events(
        writer_of(workspace, view), events, batch=batch, on_error=on_error, size=size
    )


def ingest(
    workspace: Workspace, stream: str, events: Iterable[object], *, batch: str | None = None
) -> dict[str, Ingested]:
    """Store events in every view of a stream, each by itself: what one refuses, the others keep.

    Raises:
        GrebeError: the first error, after all views were tried.
    """
    views = views_of(workspace, stream)
    if not views:
        raise DefinitionError(
            f'no view is of stream "{stream}"',
            hint="define one: project.define_stream_view({…})",
            code="unknown-stream",
        )
    from grebe.streams.feed import slices

    found: dict[str, Ingested] = {}
    errors: dict[str, GrebeError] = {}
    writers: dict[str, EventWriter] = {}
    for key, view in views.items():
        try:
            writers[key] = writer_of(workspace, view)
        except GrebeError as error:
            errors[key] = error
    for part in slices(events, batch):
        for key, writer in writers.items():
            if key in errors:
                continue
            try:
                done = writer.store(part)
            except GrebeError as error:
                errors[key] = error
                continue
            found[key] = found[key].plus(done) if key in found else done
    if errors:
        raise next(iter(errors.values()))
    return found


def views_of(workspace: Workspace, stream: str | None = None) -> dict[str, Definition]:
    """The stream views of the project, or those of one stream."""
    return {
        key: view
        for key, view in workspace.written().items()
        if view.stream is not None and stream in (None, view.stream.stream)
    }


# --- shown beside the others ----------------------------------------------------------------------


def refreshed(workspace: Workspace, view: Definition, run_id: RunId) -> RefreshResult:
    """The result of refreshing a stream view: its table is there, and what waits for it is stored."""
    begun = time.monotonic()
    try:
        writer = writer_of(workspace, view)
        source = source_of(workspace, view.name, writer.definition.stream)
        done = Ingested() if source is None else pull_all(writer, source)
        position = writer.position()
    except GrebeError as error:
        reason = Reason(error.code, error.explain())
        took = time.monotonic() - begun
        return RefreshResult(view.name, Outcome.FAILED, run_id, took, (reason,), error=error)
    return RefreshResult(
        view.name,
        Outcome.INCREMENTAL if done.received else Outcome.NO_OP,
        run_id,
        time.monotonic() - begun,
        rows_in=done.received,
        rows_out=done.rows,
        frontier=position.frontier,
        version=position.version,
    )
