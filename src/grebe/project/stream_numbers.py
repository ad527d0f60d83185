"""How the streams of a project fare: counts of every view, dead letters, and rows made anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from grebe.errors import DefinitionError, GrebeError
from grebe.project.definitions import Definition
from grebe.project.stream_sources import replay as replay_stream
from grebe.project.stream_storage import current_storage
from grebe.project.stream_views import means_of, redefined, stream_of, views_of, writer_of
from grebe.streams.event_filters import BadFilterError, read_filter
from grebe.streams.event_memory import dead_letters
from grebe.streams.event_paths import EventPlace
from grebe.streams.letters import DeadLetter
from grebe.streams.open_events import event_table
from grebe.streams.totals import Ingested, Totals
from grebe.tabular import Tabular

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace

Where = Mapping[str, Any] | Callable[[DeadLetter], bool] | None
"""Which dead letters are meant: a filter over what each says, or a question to it."""


@dataclass(frozen=True, slots=True)
class StreamStatus(Tabular):
    """What became of the events of one view."""

    stream: str
    view: str
    totals: Totals
    positions: str
    last: datetime | None
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        totals = {name: int(value) for name, value in _numbers(self.totals).items()}
        return {
            "stream": self.stream,
            "view": self.view,
            **totals,
            "positions": self.positions,
            "last": self.last.isoformat() if self.last else None,
            "error": self.error,
        }

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line of the table of streams."""
        return HEADINGS, [status_cells(self)]


HEADINGS = (
    "stream", "view", "received", "rows", "filtered", "dead", "duplicates", "batches", "last"
)  # fmt: skip


def status_cells(item: StreamStatus) -> tuple[object, ...]:
    """The cells of one view."""
    found = item.totals
    numbers = (found.received, found.rows, found.filtered, found.dead, found.duplicates)
    last = item.last.strftime("%Y-%m-%d %H:%M:%S") if item.last else ""
    return (
        item.stream,
        item.view,
        *(f"{number:,}" for number in numbers),
        f"{found.batches:,}",
        item.error or last,
    )


class StreamStatuses(list[StreamStatus], Tabular):
    """Every stream view, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per view."""
        return HEADINGS, [status_cells(item) for item in self]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [item.to_dict() for item in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


class DeadLetters(list[DeadLetter], Tabular):
    """Dead letters, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per letter."""
        headings = ("received", "code", "field", "what was found", "event")
        return headings, [
            (
                item.at.strftime("%Y-%m-%d %H:%M:%S"),
                item.code,
                item.field,
                item.text,
                item.raw[:60].decode("utf-8", errors="replace"),
            )
            for item in self
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [item.to_dict() for item in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


def _numbers(totals: Totals) -> dict[str, str]:
    return {key.rpartition(".")[2]: value for key, value in totals.values()}


def stream_statuses(workspace: Workspace, stream: str | None = None) -> StreamStatuses:
    """What became of the events of every stream view, by its own table; needs no Spark."""
    found = StreamStatuses()
    for key, view in views_of(workspace, stream).items():
        definition = stream_of(view)
        known = workspace.stream_writers.get(key)
        waiting = known[1].waiting if known else Totals()
        try:
            storage = current_storage(means_of(workspace), view)
            frontier = event_table(workspace.settings, storage).position().frontier
        except GrebeError as error:
            text = f"never fed  [{error.code}]"
            found.append(StreamStatus(definition.stream, key, Totals(), "{}", None, text))
            continue
        values = dict(frontier.values) if frontier else {}
        point = frontier.sources[0][1] if frontier and frontier.sources else None
        found.append(
            StreamStatus(
                definition.stream,
                key,
                Totals.of(values).plus(waiting),
                point.version if point else "{}",
                point.committed_at if point else None,
            )
        )
    return found


def letters_of(workspace: Workspace, view: Definition, where: Where = None) -> DeadLetters:
    """The dead letters of a view that are meant, oldest first."""
    stream_of(view)
    table = event_table(workspace.settings, current_storage(means_of(workspace), view))
    return DeadLetters(item for item in dead_letters(table) if _is_meant(item, where))


def _is_meant(letter: DeadLetter, where: Where) -> bool:
    if where is None:
        return True
    if callable(where):
        return bool(where(letter))
    try:
        asked = read_filter(where, "where")
    except BadFilterError as error:
        hint = 'write {"code": "wrong-type"}'
        raise DefinitionError(f"{error.field}: {error}", hint=hint, code="bad-where") from None
    return asked(EventPlace(letter.to_dict(), letter.to_dict(), letter.position))


def redrive(workspace: Workspace, view: Definition, where: Where = None) -> Ingested:
    """Run dead letters again; what becomes rows now takes their place, in one commit."""
    return writer_of(workspace, view).redrive(letters_of(workspace, view, where))


def replay(
    workspace: Workspace, view: Definition, definition: Mapping[str, Any] | None = None
) -> Ingested:
    """All rows of a view made anew from what its stream still holds; perhaps by another definition."""
    if definition is not None:
        view = redefined(workspace, view, definition)
    return replay_stream(workspace, means_of(workspace), view, stream_of(view))


def retire(workspace: Workspace, view: Definition, now: datetime | None = None) -> int:
    """Remove what is older than the view keeps, and give its disk back; the number of rows."""
    writer = writer_of(workspace, view)
    kept = writer.definition.retention
    moment = now or datetime.now(UTC)
    gone = writer.retire(moment - kept) if kept is not None else 0
    writer.table.compact()
    return gone


def keep_up(workspace: Workspace, view: Definition, needed_since: datetime) -> None:
    """Few files instead of many, and the disk of versions that nobody needs any more."""
    writer = writer_of(workspace, view)
    writer.table.compact()
    writer.table.expire(min(needed_since, datetime.now(UTC) - timedelta(hours=1)))
