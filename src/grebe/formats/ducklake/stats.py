"""Smallest and largest values of columns per data file, from the catalog's statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from grebe.formats.base import KeyBounds
from grebe.formats.ducklake.catalog_rows import Table
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.schema import LakeField
from grebe.formats.ducklake.state import TableState

_VALUES: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(
        ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"], int
    ),
    "varchar": str,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamptz": datetime.fromisoformat,
}


def file_bounds(
    session: Session, table: Table, state: TableState, fields: Sequence[LakeField]
) -> dict[str, list[KeyBounds]]:
    """Per column, one entry per data file."""
    found: dict[str, list[KeyBounds]] = {}
    for field in fields:
        rows = session.rows(
            "SELECT data_file_id, min_value, max_value, null_count"
            f" FROM {session.meta}.ducklake_file_column_stats"
            f" WHERE table_id = {table.id} AND column_id = {field.id}"
        )
        known = {row[0]: row[1:] for row in rows}
        found[field.name] = [
            _bounds(field, file.size, *known.get(file.id, (None, None, None)))
            for file in state.files
        ]
    return found


def _bounds(
    field: LakeField, size: int, low: str | None, high: str | None, nulls: int | None
) -> KeyBounds:
    return KeyBounds(
        field.name,
        _value(field, low),
        _value(field, high),
        None if nulls is None else nulls > 0,
        size,
    )


def _value(field: LakeField, text: str | None) -> object | None:
    """The value of a bound, None where its text does not say it for sure."""
    if text is None:
        return None
    make = Decimal if field.type.startswith("decimal") else _VALUES.get(field.type)
    try:
        return None if make is None else make(text)
    except (ValueError, InvalidOperation):
        return None
