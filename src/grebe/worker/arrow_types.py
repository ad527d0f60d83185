"""The text of a Spark type as an Arrow type."""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa

_PLAIN: Final = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL: Final = re.compile(r"(?:decimal|dec|numeric)\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_NESTED: Final = re.compile(r"(array|map|struct)\s*<(.*)>", re.DOTALL)
_FIELD: Final = re.compile(r"\s*(`(?:[^`]|``)+`|\w+)\s*:?\s*(.*)", re.DOTALL)


def arrow_type(text: str) -> Any:  # noqa: ANN401  Arrow publishes no types
    """The Arrow type that a Spark type is exchanged as.

    >>> print(arrow_type("ARRAY<FLOAT>"), arrow_type("struct<a: int, b: decimal(10, 2)>"))
    list<item: float> struct<a: int32, b: decimal128(10, 2)>

    Raises:
        ValueError: there is no such type, or none that a function can give.
    """
    word = text.strip()
    lowered = word.lower()
    if lowered in _PLAIN:
        return _PLAIN[lowered]
    if found := _DECIMAL.fullmatch(lowered):
        return pa.decimal128(int(found[1]), int(found[2]))
    nested = _NESTED.fullmatch(word) or _NESTED.fullmatch(lowered)
    if nested is None:
        raise ValueError(f'"{text}" is not a type that a function can give')
    inside = _split(nested[2])
    match nested[1].lower(), inside:
        case "array", [item]:
            return pa.list_(arrow_type(item))
        case "map", [key, value]:
            return pa.map_(arrow_type(key), arrow_type(value))
        case "struct", _ if all(item.strip() for item in inside):
            return pa.struct([_field(item) for item in inside])
    raise ValueError(f'"{text}" is not a type that a function can give')


def _field(text: str) -> Any:  # noqa: ANN401
    found = _FIELD.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is not a field: write name: type')
    name = found[1].strip("`").replace("``", "`") if found[1].startswith("`") else found[1]
    return pa.field(name, arrow_type(found[2]))


def _split(text: str) -> list[str]:
    """The items between commas that stand in no inner brackets."""
    items, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            items.append(text[start:place])
            start = place + 1
    return [*items, text[start:]]
