"""One event as the text it came as, and as the values that it says. Pure.

A number of JSON is kept as it is written: where the nearest double says something else, it stays a
`Decimal`, so that no column holds another number than the event.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from hashlib import blake2b
from math import isinf
from typing import Any, Final

LARGEST: Final = 1_000_000
"""Bytes of one event; a larger one is a dead letter."""
DEEPEST: Final = 200
"""Values in values; nobody means more, and Python's own parser stands about a thousand."""
_DIGITS: Final = 4_000
"""Digits of one number; Python refuses to read longer ones, too."""


class DeadCode(StrEnum):
    """Why an event did not become rows."""

    NOT_JSON = "not-json"
    TOO_LARGE = "too-large"
    BAD_TEXT = "bad-text"
    MISSING_FIELD = "missing-field"
    WRONG_TYPE = "wrong-type"
    OUT_OF_RANGE = "out-of-range"
    EXTRA_FIELD = "extra-field"
    FILTER_FAILED = "filter-failed"
    TRANSFORM_FAILED = "transform-failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"


@dataclass(frozen=True, slots=True)
class Dead:
    """Why an event is a dead letter: a code, the field at fault if there is one, and what was found."""

    code: DeadCode
    field: str
    text: str

    def to_json(self) -> str:
        """What is kept with the event."""
        document = {"code": self.code, "field": self.field, "text": self.text}
        return json.dumps(document, ensure_ascii=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Dead:
        """What `to_json` wrote."""
        document = json.loads(text)
        return Dead(DeadCode(document["code"]), document["field"], document["text"])


def text_of_event(event: object) -> bytes | Dead:
    """The text of an event: its own bytes, or the values of a program as JSON."""
    if isinstance(event, (bytes, bytearray, memoryview)):
        return bytes(event)
    if isinstance(event, str):
        return event.encode("utf-8", errors="surrogatepass")
    try:
        return dump(event).encode("utf-8", errors="surrogatepass")
    except (TypeError, ValueError, RecursionError) as error:
        return Dead(DeadCode.NOT_JSON, "", f"the event is no JSON: {error}")


def parse_event(text: bytes) -> Any:  # noqa: ANN401  whatever JSON says
    """What an event says; a `Dead` for a text that says nothing."""
    if len(text) > LARGEST:
        return Dead(
            DeadCode.TOO_LARGE, "", f"the event has {len(text):,} bytes, at most {LARGEST:,}"
        )
    try:
        value = json.loads(
            text.decode("utf-8"), parse_float=_number, parse_int=_integer, object_pairs_hook=_pairs
        )
    except UnicodeDecodeError as error:
        return Dead(DeadCode.BAD_TEXT, "", f"the event is not UTF-8: {error.reason}")
    except RecursionError:
        return Dead(DeadCode.TOO_LARGE, "", f"values lie more than {DEEPEST} deep in each other")
    except ValueError as error:
        return Dead(DeadCode.NOT_JSON, "", str(error))
    if not isinstance(value, dict):
        return Dead(DeadCode.NOT_JSON, "", f"an event is an object, not {kind_of(value)}")
    if _is_deep(value):
        return Dead(DeadCode.TOO_LARGE, "", f"values lie more than {DEEPEST} deep in each other")
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that says two things of one name says nothing."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the name "{twice[:100]}" stands twice in one object')
    return found


def _number(text: str) -> float | Decimal:
    """A number with a point or an exponent: a float where that says the same, else a Decimal."""
    if len(text) > _DIGITS:
        raise ValueError(f"a number has {len(text):,} signs")
    near = float(text)
    written = Decimal(text)
    if isinf(near) or Decimal(repr(near)) != written:
        return written
    return near


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"a number has {len(text):,} signs")
    return int(text)


def _is_deep(value: object) -> bool:
    """Whether values lie too deep in each other; without calling itself."""
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [inner for item in level for inner in _inside(item)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return [item for item in value.values() if isinstance(item, (dict, list))]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, (dict, list))]
    return ()


def kind_of(value: object) -> str:
    """What JSON calls a value.

    >>> [kind_of(item) for item in (None, True, 3, 2.5, "a", [], {})]
    ['null', 'a boolean', 'a number', 'a number', 'a text', 'an array', 'an object']
    """
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float() | Decimal():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "an array"
        case dict():
            return "an object"
    return type(value).__name__


def dump(value: object) -> str:
    """Values as JSON: numbers as they were written, names in the order that they had."""
    match value:
        case Decimal():
            return str(value)
        case Mapping():
            for name in value:
                if not isinstance(name, str):
                    raise TypeError(f"the name of a field is {kind_of(name)}")
            items = (f"{json.dumps(name)}:{dump(item)}" for name, item in value.items())
            return "{" + ",".join(items) + "}"
        case list() | tuple():
            return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value)


def digest_of_events(texts: Iterable[bytes]) -> str:
    """What tells the events of a batch from others."""
    found = blake2b(digest_size=12)
    for text in texts:
        found.update(len(text).to_bytes(8, "big"))
        found.update(text)
    return found.hexdigest()
