"""What a stream still holds: its inbox, or a topic; and views brought up to it, or made anew from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grebe.config import StreamSettings
from grebe.errors import DefinitionError
from grebe.model import TableName
from grebe.project.definitions import Definition
from grebe.project.stream_storage import StreamMeans, generation_of, make, new_writer
from grebe.sql_text import PREFIX
from grebe.streams.definition import StreamDefinition
from grebe.streams.inbox import Inbox
from grebe.streams.kafka_source import KafkaSource
from grebe.streams.open_events import event_table
from grebe.streams.pulling import EventSource, pull_all
from grebe.streams.totals import Ingested

if TYPE_CHECKING:
    from grebe.engine.compiled_view import CompiledView
    from grebe.project.workspace import Workspace


def stream_settings(workspace: Workspace, stream: str) -> StreamSettings:
    """What grebe.toml says of a stream."""
    return dict(workspace.settings.streams).get(stream, StreamSettings())


def inbox_name(view: TableName, stream: str) -> TableName:
    """The inbox of a stream: it lies beside its views."""
    return replace(view, name=f"{PREFIX}inbox_{stream.replace('-', '_')}")


def inbox_of(workspace: Workspace, beside: TableName, stream: str) -> Inbox:
    """The inbox of a stream, made when it is not there."""
    known = workspace.inboxes.get(stream)
    if known is not None:
        return known
    table = event_table(workspace.settings, inbox_name(beside, stream))
    found = Inbox(stream, table, stream_settings(workspace, stream).kept)
    found.create()
    workspace.inboxes[stream] = found
    return found


def source_of(workspace: Workspace, view: TableName, stream: str) -> EventSource | None:
    """What holds the events of a stream; None: they come by calls, and nothing holds them."""
    settings = stream_settings(workspace, stream)
    if settings.source == "kafka":
        return KafkaSource(
            settings.topic, settings.servers, settings.options, settings.on_gap, settings.max_events
        )
    if stream in workspace.inboxes:
        return workspace.inboxes[stream]
    name = inbox_name(view, stream)
    if workspace.tables.position(name, workspace.session) is None:
        return None
    return inbox_of(workspace, view, stream)


def replay(
    workspace: Workspace, means: StreamMeans, view: Definition, definition: StreamDefinition
) -> Ingested:
    """All rows made anew from what the stream still holds, in a table that takes the former one's place.

    Raises:
        DefinitionError: nothing holds the events of the stream.
    """
    source = source_of(workspace, view.name, definition.stream)
    if source is None:
        raise DefinitionError(
            f'nothing holds the events of stream "{definition.stream}"',
            detail="they came by calls, which nobody can make again",
            hint="send them again to a view of another name",
            code="nothing-to-replay",
        )
    generation = generation_of(means, view.name) + 1
    done = Ingested()

    def fill(compiled: CompiledView) -> None:
        nonlocal done
        writer = new_writer(means, view, definition, compiled)
        try:
            done = pull_all(writer, source)
        finally:
            writer.close()

    make(means, view, definition, generation, fill)
    return done
