"""Where in an event a value lies: `event.request.url`, `exceptions[0].name`, `^.scriptName`. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_STEP: Final = re.compile(r"([^.\[\]^$][^.\[\]]*)((?:\[\d{1,6}\])*)")
_INDEX: Final = re.compile(r"\[(\d+)\]")


class BadPathError(ValueError):
    """A text that is no path."""


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Where a row is made: the event, the part of it that the row is of, and which they are."""

    item: Any
    event: Any
    position: str
    index: int = 0


Read = Callable[[EventPlace], Any]
"""The value at a place; None where there is none."""


def read_path(text: object) -> Read:
    """What reads a path.

    >>> read_path("a[1].b")(EventPlace({"a": [0, {"b": 7}]}, None, "0"))
    7
    """
    if not isinstance(text, str) or not text:
        raise BadPathError(f"{text!r} is not a path")
    if text == "$position":
        return lambda place: place.position
    if text == "$index":
        return lambda place: place.index
    if text == "^":
        return lambda place: place.event
    if text == "$item":
        return lambda place: place.item
    outer = text.startswith("^.")
    steps = _steps(text[2:] if outer else text)
    if outer:
        return lambda place: _follow(place.event, steps)
    return lambda place: _follow(place.item, steps)


def _steps(text: str) -> tuple[str | int, ...]:
    found: list[str | int] = []
    for part in text.split("."):
        step = _STEP.fullmatch(part)
        if step is None:
            raise BadPathError(f'"{text}" is not a path: write "a.b", "a[0].b" or "^.a"')
        found.append(step[1])
        found += [int(number) for number in _INDEX.findall(step[2])]
    return tuple(found)


def _follow(value: Any, steps: tuple[str | int, ...]) -> Any:  # noqa: ANN401
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is None:
            return None
    return value
