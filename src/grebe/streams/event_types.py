"""Types of fields: `'string!'` to a type, and a value of an event to the value that is stored. Pure.

Nothing is made to fit: a value that is not of its type is told, with its field.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isfinite, isinf, isnan
from typing import Any, Final

from grebe.sql_text import quote
from grebe.streams.event_text import Dead, DeadCode, dump, kind_of


class BadValueError(Exception):
    """A value that is not of its field's type; caught where the event becomes a dead letter."""

    def __init__(self, code: DeadCode, field: str, text: str) -> None:
        super().__init__(text)
        self.dead = Dead(code, field, text)


class BadTypeError(ValueError):
    """A text that names no type; the definition says of which field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


Convert = Callable[[Any, str], Any]
"""The stored value of a value that is not null; the text names its field."""

_NAME: Final = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_]*")
_TYPE: Final = re.compile(r"([a-z]+(?:\(\s*\d+\s*,\s*\d+\s*\))?!?)((?:\[\])*)([!?]?)")
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_STAMP: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?(Z|z|[+-]\d\d:?\d\d)?"
)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MILLISECOND: Final = int((datetime(2200, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds() * 1000)
_MOST_DIGITS: Final = 38
_NANOSECOND_DIGITS: Final = 6
"""Digits of a second that a timestamp keeps."""


@dataclass(frozen=True, slots=True)
class EventType:
    """The type of a field: its text for Spark, and how values become stored ones."""

    spark: str
    convert: Convert
    required: bool = False


@dataclass(frozen=True, slots=True)
class EventField:
    """One field of a schema."""

    name: str
    type: EventType


def schema_fields(schema: Mapping[str, Any], at: str = "") -> tuple[EventField, ...]:
    """The fields of a schema.

    Raises:
        BadTypeError: for the first that has no type.
    """
    found = []
    seen: set[str] = set()
    for name, written in schema.items():
        field = f"{at}{name}"
        if not _NAME.fullmatch(name):
            raise BadTypeError(field, f"{name!r} is not the name of a field")
        if name.lower() in seen:
            raise BadTypeError(field, f'"{name}" is there twice, letter case apart')
        seen.add(name.lower())
        found.append(EventField(name, type_of(written, field)))
    return tuple(found)


def type_of(written: object, field: str) -> EventType:
    """The type that a text, a nested schema, or a list of one of these means."""
    if isinstance(written, Mapping):
        return _object(written, field)
    if isinstance(written, (list, tuple)):
        if len(written) != 1:
            raise BadTypeError(field, "a list of types holds one, that of its elements")
        return _array(type_of(written[0], f"{field}[]"))
    found = _TYPE.fullmatch(written) if isinstance(written, str) else None
    if found is None:
        raise BadTypeError(field, f"{written!r} is not a type")
    base, brackets, mark = found.groups()
    if not brackets and base.endswith("!") and mark:
        raise BadTypeError(field, f"{written!r} is not a type")
    made = _scalar(base.rstrip("!"), field)
    inner_required = base.endswith("!")
    if not brackets:
        return EventType(made.spark, made.convert, inner_required or mark == "!")
    made = EventType(made.spark, made.convert, inner_required)
    for _ in range(len(brackets) // 2):
        made = _array(made)
    return EventType(made.spark, made.convert, mark == "!")


def _scalar(name: str, field: str) -> EventType:
    if found := _DECIMAL.fullmatch(name):
        precision, scale = int(found[1]), int(found[2])
        if not 0 < precision <= _MOST_DIGITS or scale > precision:
            raise BadTypeError(field, f"{name} has no such digits: at most {_MOST_DIGITS}")
        return EventType(f"DECIMAL({precision},{scale})", _decimal(precision, scale))
    if name not in _SCALARS:
        raise BadTypeError(field, f'"{name}" is not a type')
    spark, convert = _SCALARS[name]
    return EventType(spark, convert)


def _object(schema: Mapping[str, Any], field: str) -> EventType:
    fields = schema_fields(schema, f"{field}.")
    if not fields:
        raise BadTypeError(field, "an object has at least one field")
    parts = ", ".join(f"{quote(item.name)}: {item.type.spark}" for item in fields)

    def convert(value: Any, at: str) -> dict[str, Any]:  # noqa: ANN401
        if not isinstance(value, Mapping):
            raise _wrong(at, "an object", value)
        return {
            item.name: stored(item.type, value.get(item.name), f"{at}.{item.name}")
            for item in fields
        }

    return EventType(f"STRUCT<{parts}>", convert)


def _array(element: EventType) -> EventType:
    def convert(value: Any, at: str) -> list[Any]:  # noqa: ANN401
        if not isinstance(value, (list, tuple)):
            raise _wrong(at, "an array", value)
        return [stored(element, item, f"{at}[{place}]") for place, item in enumerate(value)]

    return EventType(f"ARRAY<{element.spark}>", convert)


def stored(kind: EventType, value: object, field: str) -> object:
    """The stored value of a value of an event.

    Raises:
        BadValueError: it is not of the type.
    """
    if value is None:
        if kind.required:
            raise BadValueError(DeadCode.MISSING_FIELD, field, "the field is required")
        return None
    return kind.convert(value, field)


def row_of(
    fields: Sequence[EventField], found: Mapping[str, Any], *, extra: bool = True
) -> dict[str, Any]:
    """The stored row of a mapping.

    Raises:
        BadValueError: for the first field that has no value of its type, or that nobody asked for.
    """
    if not extra:
        names = {item.name for item in fields}
        for name in found:
            if name not in names:
                raise BadValueError(DeadCode.EXTRA_FIELD, str(name)[:200], "no field of the view")
    return {item.name: stored(item.type, found.get(item.name), item.name) for item in fields}


# --- single values ------------------------------------------------------------------------------


def _wrong(field: str, wanted: str, value: object) -> BadValueError:
    shown = _shown(value)
    return BadValueError(DeadCode.WRONG_TYPE, field, f"{shown} is {kind_of(value)}, not {wanted}")


def _outside(field: str, why: str) -> BadValueError:
    return BadValueError(DeadCode.OUT_OF_RANGE, field, why)


def _shown(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    text = text.encode("utf-8", errors="backslashreplace").decode().replace("\0", "\\0")
    return text if len(text) <= 80 else f"{text[:77]}…"


def _string(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise _wrong(field, "a text", value)
    if "\0" in value:
        raise BadValueError(DeadCode.BAD_TEXT, field, "the text holds NUL")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            text = "the text holds half of a character"
            raise BadValueError(DeadCode.BAD_TEXT, field, text) from None
    return str(value)


def _whole(value: object, field: str) -> int:
    """A whole number, however it is written."""
    match value:
        case bool():
            raise _wrong(field, "a whole number", value)
        case int():
            return value
        case float() if isfinite(value) and value.is_integer():
            return int(value)
        case Decimal() if value.is_finite():
            # One with a large exponent would be millions of digits.
            if value.adjusted() > _MOST_DIGITS:
                raise _outside(field, f"{_shown(value)} is too large")
            if value == value.to_integral_value():
                return int(value)
    raise _wrong(field, "a whole number", value)


def _integer(bits: int) -> Convert:
    limit = 1 << (bits - 1)

    def convert(value: Any, field: str) -> int:  # noqa: ANN401
        found = _whole(value, field)
        if not -limit <= found < limit:
            raise _outside(field, f"{_shown(value)} does not fit into {bits} bits")
        return found

    return convert


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _double(value: Any, field: str) -> float:  # noqa: ANN401
    if not _is_number(value):
        raise _wrong(field, "a number", value)
    try:
        found = float(value)
    except OverflowError:
        found = float("inf")
    if isinf(found) and not (isinstance(value, float) and isinf(value)):
        raise _outside(field, f"{_shown(value)} is larger than every double")
    if isinstance(value, int) and int(found) != value:
        raise _outside(field, f"{value} is not a double: the nearest one is {int(found)}")
    if isinstance(value, Decimal) and value and not found:
        raise _outside(field, f"{_shown(value)} is smaller than every double")
    return found


def _float(value: Any, field: str) -> float:  # noqa: ANN401
    found = _double(value, field)
    if not isfinite(found):
        return found
    try:
        near = float(struct.unpack("<f", struct.pack("<f", found))[0])
    except OverflowError:
        raise _outside(field, f"{_shown(value)} is larger than every float") from None
    if isinstance(value, int) and near != found:
        raise _outside(field, f"{value} is not a float: the nearest one is {int(near)}")
    if found and not near:
        raise _outside(field, f"{_shown(value)} is smaller than every float")
    return near


def _decimal(precision: int, scale: int) -> Convert:
    def convert(value: Any, field: str) -> Decimal:  # noqa: ANN401
        if not _is_number(value) or (isinstance(value, float) and not isfinite(value)):
            raise _wrong(field, "an exact number", value)
        found = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        if not found.is_finite():
            raise _wrong(field, "an exact number", value)
        if found and found.adjusted() >= precision - scale:
            raise _outside(field, f"{_shown(value)} has more than {precision - scale} digits")
        digits, exponent = found.as_tuple().digits, int(found.as_tuple().exponent)
        cut = -exponent - scale
        if cut > 0 and any(digits[-cut:]):
            raise _outside(field, f"{_shown(value)} has more than {scale} digits after the point")
        return _scaled(found, scale)

    return convert


def _scaled(value: Decimal, scale: int) -> Decimal:
    """The same number with so many digits after the point; exact at any length."""
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits)) or "0")
    shift = int(exponent) + scale
    number = number * 10**shift if shift >= 0 else number // 10**-shift
    return Decimal((sign, tuple(map(int, str(number))), -scale))


def _boolean(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(field, "true or false", value)
    return value


def _timestamp(value: object, field: str) -> datetime:
    """ISO 8601, in UTC where it names no offset; or whole milliseconds since 1970."""
    match value:
        case datetime():
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        case str():
            return _read_stamp(value, field)
        case bool() | None:
            raise _wrong(field, "a timestamp", value)
        case int() | float() | Decimal():
            if isinstance(value, float) and not isfinite(value):
                raise _wrong(field, "a timestamp", value)
            found = _whole(value, field)
            if not 0 <= found < _LAST_MILLISECOND:
                raise _outside(field, f"{_shown(value)} ms are not between 1970 and 2200")
            return _EPOCH + timedelta(milliseconds=found)
    raise _wrong(field, "a timestamp", value)


def _read_stamp(text: str, field: str) -> datetime:
    found = _STAMP.fullmatch(text)
    if found is None:
        raise _wrong(field, "a timestamp such as 2026-01-31T09:30:00Z", text)
    day, clock, fraction, zone = found.groups()
    fraction = (fraction or "").rstrip("0")
    if len(fraction) > _NANOSECOND_DIGITS:
        raise _outside(field, f'"{text}" is finer than a microsecond')
    zone = {None: "+00:00", "Z": "+00:00", "z": "+00:00"}.get(zone, zone)
    try:
        made = datetime.fromisoformat(f"{day}T{clock}{zone}")
        return made.astimezone(UTC).replace(microsecond=int(fraction.ljust(6, "0") or 0))
    except (ValueError, OverflowError) as error:
        raise _outside(field, f'"{text}": {error}') from None


def _date(value: object, field: str) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        raise _wrong(field, "a date such as 2026-01-31", value)
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        raise _outside(field, f'"{value}": {error}') from None


def _binary(value: object, field: str) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if not isinstance(value, str):
        raise _wrong(field, "bytes in base64", value)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(field, "bytes in base64", value) from None


def _json(value: object, field: str) -> str:
    """Any value as JSON; texts in it are held to the rules of texts."""
    try:
        _check_texts(value, field)
        return dump(value)
    except (TypeError, ValueError) as error:
        raise BadValueError(DeadCode.WRONG_TYPE, field, str(error)) from None


def _check_texts(value: object, field: str) -> None:
    if isinstance(value, str):
        _string(value, field)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            _check_texts(name, field)
            _check_texts(item, field)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check_texts(item, field)
    elif isinstance(value, float) and (isnan(value) or isinf(value)):
        raise BadValueError(DeadCode.OUT_OF_RANGE, field, f"{value} is no number of JSON")


_SCALARS: Final[dict[str, tuple[str, Convert]]] = {
    "string": ("STRING", _string),
    "int": ("INT", _integer(32)),
    "long": ("BIGINT", _integer(64)),
    "float": ("FLOAT", _float),
    "double": ("DOUBLE", _double),
    "boolean": ("BOOLEAN", _boolean),
    "timestamp": ("TIMESTAMP", _timestamp),
    "date": ("DATE", _date),
    "binary": ("BINARY", _binary),
    "json": ("STRING", _json),
}
TYPES: Final = (*_SCALARS, "decimal(p,s)")
"""The names of single types."""
