"""Content keys as SQL: equal inputs have equal keys in every process, session and partitioning.

A key is a cryptographic hash: two inputs with one key would share a result. Every part is written with
its length and the class of its type, so no two tuples of values have one text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grebe.errors import DefinitionError
from grebe.sql_text import quote

_DIGITS: Final = 40
_TAGS: Final = {
    "string": "s",
    "char": "s",
    "varchar": "s",
    "binary": "b",
    "tinyint": "i",
    "smallint": "i",
    "int": "i",
    "bigint": "i",
    "decimal": "d",
    "float": "f",
    "double": "f",
    "boolean": "o",
    "date": "t",
    "timestamp": "m",
    "timestamp_ntz": "n",
    "array": "j",
    "map": "j",
    "struct": "j",
}
_JSON: Final = (
    "map('ignoreNullFields', 'false', 'timeZone', 'UTC', "
    "'timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\", "
    "'timestampNTZFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")"
)
"""Spark would leave out NULL fields, and all but milliseconds."""


def class_of(kind: str) -> str:
    """The class of a type in one letter: values of one class that are equal have one key.

    >>> class_of("int"), class_of("BIGINT"), class_of("array<int>"), class_of("decimal(10,2)")
    ('i', 'i', 'j', 'd')

    Raises:
        DefinitionError: its values have no text that tells them apart.
    """
    word = kind.lower().split("(")[0].split("<")[0].split(" ")[0]
    found = _TAGS.get(word)
    if found is None or (found == "j" and any(odd in kind.lower() for odd in _ODD)):
        raise DefinitionError(
            f"values of type {kind} cannot be told apart by a key",
            hint="cast it to a text or a number in the select",
            code="input-type",
        )
    return found


_ODD: Final = ("interval", "variant", "geography", "geometry")


def key_of(prefix: str, columns: Sequence[tuple[str, str]]) -> str:
    """The key of some columns, given as (name, type), as an SQL expression."""
    return f"unhex(substr(sha2({_bytes(prefix, columns)}, 256), 1, {_DIGITS}))"


def checksum_of(columns: Sequence[tuple[str, str]]) -> str:
    """A number that a change of any of these columns changes, as an SQL expression."""
    whole = _bytes("stored", columns, fast=True)
    return f"CAST(conv(substr(sha2({whole}, 256), 1, 15), 16, 10) AS BIGINT)"


def _bytes(prefix: str, columns: Sequence[tuple[str, str]], *, fast: bool = False) -> str:
    parts = [_literal(f"{len(prefix.encode())}:{prefix}")]
    for name, kind in columns:
        parts += [_literal(class_of(kind)), _part(quote(name), kind, fast=fast)]
    return f"concat({', '.join(parts)})"


def _part(column: str, kind: str, *, fast: bool) -> str:
    """A value with its length before it; N for NULL, which no length is."""
    value = _text(column, kind, fast=fast)
    length = f"CAST(CAST(octet_length({value}) AS STRING) AS BINARY)"
    return f"CASE WHEN {column} IS NULL THEN X'4E' ELSE concat({length}, X'3A', {value}) END"


def _text(column: str, kind: str, *, fast: bool) -> str:
    match class_of(kind):
        case "b":
            return column
        case "i":
            text = f"CAST(CAST({column} AS BIGINT) AS STRING)"
        case "m":
            text = f"CAST(unix_micros({column}) AS STRING)"
        case "f":
            number = f"CAST({column} AS DOUBLE)"
            # The hash is one to one; it takes -0.0 for 0.0, which a function tells apart.
            sign = (
                f"CASE WHEN {number} = 0 AND CAST({number} AS STRING) = '-0.0' THEN '-' ELSE '' END"
            )
            text = f"concat({sign}, CAST(xxhash64({number}) AS STRING))"
        case "j" if fast and "map<" not in kind.lower():
            text = f"CAST(xxhash64({column}) AS STRING)"
        case "j":
            text = f"to_json(named_struct('v', {column}), {_JSON})"
        case _:
            text = f"CAST({column} AS STRING)"
    return f"CAST({text} AS BINARY)"


def _literal(text: str) -> str:
    return f"X'{text.encode().hex().upper()}'"
