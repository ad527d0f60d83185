"""Which events count: `$filter` as a document, made into a question to each event. Pure.

A field that is not there is equal to null alone. Two values of different kinds are never equal, and
have no order: to ask for one makes the event a dead letter, as a filter that fails does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from grebe.errors import did_you_mean
from grebe.streams.event_paths import BadPathError, EventPlace, Read, read_path
from grebe.streams.event_text import kind_of

DEEPEST: Final = 30
Question = Callable[[EventPlace], bool]


class BadFilterError(ValueError):
    """A document that is no filter; ``field`` names the place."""

    def __init__(self, field: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.hint = hint


def read_filter(document: object, field: str = "$filter", depth: int = 0) -> Question:
    """The question that a document asks of each event.

    Raises:
        BadFilterError: it asks nothing.
    """
    if depth > DEEPEST:
        raise BadFilterError(field, f"conditions are more than {DEEPEST} deep")
    if not isinstance(document, Mapping) or not document:
        raise BadFilterError(field, "a filter maps fields to values or comparisons")
    asked = [_item(key, wanted, field, depth) for key, wanted in document.items()]
    return asked[0] if len(asked) == 1 else lambda place: all(one(place) for one in asked)


def _item(key: object, wanted: object, field: str, depth: int) -> Question:
    at = f"{field}.{key}"
    if key in ("$and", "$or"):
        if not isinstance(wanted, (list, tuple)) or not wanted:
            raise BadFilterError(at, f"{key} is a list of conditions")
        parts = [read_filter(item, at, depth + 1) for item in wanted]
        join = all if key == "$and" else any
        return lambda place: join(part(place) for part in parts)
    if key == "$not":
        inner = read_filter(wanted, at, depth + 1)
        return lambda place: not inner(place)
    try:
        read = read_path(key)
    except BadPathError as error:
        raise BadFilterError(at, str(error)) from error
    if not isinstance(wanted, Mapping):
        return _compared(read, "$eq", wanted, at)
    if not wanted:
        raise BadFilterError(at, "there is no comparison", 'write {"$gt": 5}')
    parts = [_compared(read, str(sign), operand, at) for sign, operand in wanted.items()]
    return lambda place: all(part(place) for part in parts)


def _compared(read: Read, sign: str, operand: object, at: str) -> Question:
    if sign not in _SIGNS:
        hint = did_you_mean(sign, list(_SIGNS)) or f"comparisons: {', '.join(_SIGNS)}"
        raise BadFilterError(at, f'"{sign}" is not a comparison', hint)
    if sign in ("$in", "$nin"):
        if not isinstance(operand, (list, tuple)) or not operand:
            raise BadFilterError(at, f"{sign} is a list of values")
        for item in operand:
            _check_plain(item, at)
    elif sign == "$exists":
        if not isinstance(operand, bool):
            raise BadFilterError(at, "$exists is true or false")
    elif operand is None and sign not in ("$eq", "$ne"):
        raise BadFilterError(at, f"nothing is {sign} null")
    else:
        _check_plain(operand, at)
    holds = _SIGNS[sign]
    return lambda place: holds(read(place), operand)


def _check_plain(value: object, at: str) -> None:
    if value is not None and not isinstance(value, (str, int, float, bool, Decimal)):
        raise BadFilterError(at, f"{value!r} is not a value")


def same_value(one: object, other: object) -> bool:
    """Equal, and of one kind: `true` is not 1."""
    return kind_of(one) == kind_of(other) and one == other


def _is_in(value: object, wanted: Sequence[object]) -> bool:
    return any(same_value(value, item) for item in wanted)


def _ordered(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(value: Any, operand: Any) -> bool:  # noqa: ANN401
        if value is None:
            return False
        if kind_of(value) != kind_of(operand) or kind_of(value) not in ("a number", "a text"):
            raise ValueError(f"{kind_of(value)} and {kind_of(operand)} have no order")
        return holds(value, operand)

    return compare


_SIGNS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$eq": same_value,
    "$ne": lambda value, operand: not same_value(value, operand),
    "$gt": _ordered(lambda value, operand: value > operand),
    "$gte": _ordered(lambda value, operand: value >= operand),
    "$lt": _ordered(lambda value, operand: value < operand),
    "$lte": _ordered(lambda value, operand: value <= operand),
    "$in": _is_in,
    "$nin": lambda value, operand: not _is_in(value, operand),
    "$exists": lambda value, operand: (value is not None) is operand,
}
