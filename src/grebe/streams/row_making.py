"""From an event to its rows, in whatever process: parse, filter, transform, check. Pure but for the functions of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from grebe.streams.definition import StreamDefinition
from grebe.streams.event_paths import EventPlace
from grebe.streams.event_text import Dead, DeadCode, kind_of, parse_event
from grebe.streams.event_types import BadValueError, row_of

_MOST_SIGNS: Final = 500
Function = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of a definition, imported."""

    filter: Function | None = None
    transform: Function | None = None


@dataclass(frozen=True, slots=True)
class EventRows:
    """What became of one event: rows, a dead letter, or nothing because it does not count."""

    rows: tuple[dict[str, Any], ...] = ()
    dead: Dead | None = None


def make_rows(
    definition: StreamDefinition, functions: Functions, text: bytes | Dead, position: str
) -> EventRows:
    """The rows of one event."""
    event = text if isinstance(text, Dead) else parse_event(text)
    if isinstance(event, Dead):
        return EventRows(dead=event)
    place = EventPlace(event, event, position)
    try:
        if not _counts(definition, functions, place, text):
            return EventRows()
    except MemoryError:
        raise
    except Exception as error:  # whatever a person's condition raises
        return EventRows(dead=Dead(DeadCode.FILTER_FAILED, "", _told(error)))
    try:
        found = _made(definition, functions, place)
    except MemoryError:
        raise
    except Exception as error:  # whatever a person's function raises
        return EventRows(dead=Dead(DeadCode.TRANSFORM_FAILED, "", _told(error)))
    try:
        checked = [row_of(definition.fields, row, extra=definition.takes_extra) for row in found]
    except BadValueError as error:
        return EventRows(dead=error.dead)
    except RecursionError:
        deep = "values lie too deep in each other"
        return EventRows(dead=Dead(DeadCode.TRANSFORM_FAILED, "", deep))
    return EventRows(tuple(checked))


def _counts(
    definition: StreamDefinition, functions: Functions, place: EventPlace, text: bytes | Dead
) -> bool:
    if functions.filter is not None and isinstance(text, bytes):
        # A copy: what a filter changes in its event is none of the transform's business.
        return bool(functions.filter(parse_event(text)))
    question = definition.question
    return question is None or question(place)


def _made(
    definition: StreamDefinition, functions: Functions, place: EventPlace
) -> list[Mapping[str, Any]]:
    if functions.transform is None:
        return definition.mapping(place) if definition.mapping else []
    found = functions.transform(place.event)
    rows = [found] if isinstance(found, Mapping) else found
    if rows is None:
        return []
    if not isinstance(rows, list):
        raise TypeError(f"it returns {kind_of(found)}, not a dict, a list of dicts or None")
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"it returns a list with {kind_of(row)}, not a dict")
    return [
        {name: _placed(value, place, index) for name, value in row.items()}
        for index, row in enumerate(rows)
    ]


class EventPosition:
    """What a function returns where a row's own name is to stand: position and index, in one text.

    >>> _placed(EventPosition(), EventPlace(None, None, "0:17"), 2)
    '0:17-2'
    """


def _placed(value: object, place: EventPlace, index: int) -> object:
    return f"{place.position}-{index}" if isinstance(value, EventPosition) else value


def _told(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"[:_MOST_SIGNS]
    return text.encode("utf-8", errors="backslashreplace").decode().replace("\0", "\\0")
