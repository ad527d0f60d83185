"""The types that small steps know: what Spark makes of two of them, and what DuckDB calls each.

A small step is computed by DuckDB instead of Spark. It may hold only what gives the same bits in both, and
that depends on types; so every expression of it has one, worked out here as Spark works it out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
MOST_DIGITS: Final = 38
_DIGITS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_WIDTHS: Final = tuple(_DIGITS)
_DUCKDB: Final = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
    "void": "INT",
}
"""A moment is held as UTC without its zone: what depends on a zone is not computed."""
_EXACT: Final = frozenset(_DUCKDB) - {"float", "double", "binary", "void"}


class NotSmallError(Exception):
    """A step is left to Spark; the text says why."""


@dataclass(frozen=True, slots=True)
class SmallKind:
    """A type of Spark's."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """As Spark spells it.

        >>> SmallKind("decimal", 10, 2).text
        'decimal(10,2)'
        """
        return f"decimal({self.precision},{self.scale})" if self.is_decimal else self.name

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"

    @property
    def is_whole(self) -> bool:
        return self.name in _DIGITS

    @property
    def is_number(self) -> bool:
        """True for the exact numbers."""
        return self.is_decimal or self.is_whole

    @property
    def is_void(self) -> bool:
        return self.name == "void"

    @property
    def has_identity(self) -> bool:
        """True where equal values are the same value, in both engines: not of 0.0 and -0.0."""
        return self.is_decimal or self.name in _EXACT

    @property
    def as_decimal(self) -> SmallKind:
        """The decimal that holds every value of an exact number."""
        return self if self.is_decimal else SmallKind("decimal", _DIGITS[self.name], 0)

    def to_duckdb(self) -> exp.DataType:
        """The type as DuckDB has it."""
        name = f"DECIMAL({self.precision}, {self.scale})" if self.is_decimal else ""
        return exp.DataType.build(name or _DUCKDB[self.name], dialect="duckdb")


BOOLEAN: Final = SmallKind("boolean")
INT: Final = SmallKind("int")
BIGINT: Final = SmallKind("bigint")
STRING: Final = SmallKind("string")
DATE: Final = SmallKind("date")
TIMESTAMP: Final = SmallKind("timestamp")
DOUBLE: Final = SmallKind("double")
VOID: Final = SmallKind("void")


def kind_of(text: str) -> SmallKind:
    """A type by Spark's text for it.

    Raises:
        NotSmallError: it is one that small steps do not know.
    """
    lowered = text.lower().strip()
    found = _DECIMAL.fullmatch(lowered)
    if found:
        return SmallKind("decimal", int(found[1]), int(found[2]))
    name = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(lowered)
    name = name or lowered
    if name not in _DUCKDB:
        raise NotSmallError(f"a value of type {text}")
    return SmallKind(name)


def decimal(precision: int, scale: int) -> SmallKind:
    """A decimal that Spark gives without rounding.

    Raises:
        NotSmallError: its digits do not all fit: Spark would round, in its own way.
    """
    if precision > MOST_DIGITS:
        # Spark gives up digits behind the point only where those before it leave no room for them.
        whole = precision - scale
        scale_left = max(MOST_DIGITS - whole, min(scale, 6))
        if scale_left < scale:
            raise NotSmallError("a decimal of more than 38 digits")
        precision = MOST_DIGITS
    return SmallKind("decimal", precision, scale)


def widest(kinds: tuple[SmallKind, ...]) -> SmallKind:
    """The type that holds values of all of these, as Spark chooses it.

    Raises:
        NotSmallError: there is none that both engines agree on.
    """
    found = VOID
    for kind in kinds:
        found = _wider(found, kind)
    return found


def _wider(one: SmallKind, other: SmallKind) -> SmallKind:
    if one == other or other.is_void:
        return one
    if one.is_void:
        return other
    if one.is_whole and other.is_whole:
        return max(one, other, key=lambda kind: _WIDTHS.index(kind.name))
    if one.is_number and other.is_number:
        left, right = one.as_decimal, other.as_decimal
        scale = max(left.scale, right.scale)
        whole = max(left.precision - left.scale, right.precision - right.scale)
        if whole + scale > MOST_DIGITS:
            raise NotSmallError("a decimal of more than 38 digits")
        return SmallKind("decimal", whole + scale, scale)
    raise NotSmallError(f"a {one} beside a {other}")
