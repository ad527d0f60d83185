"""Single values as metadata spells them: bounds in manifests, defaults in schemas, partitions."""

from __future__ import annotations

import struct
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from grebe.formats.iceberg.schema import IcebergPrimitive, Type, decimal_of, is_fixed

Value = Any
"""A Python value of whatever type its column has."""

_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PACKED = {"int": "<i", "long": "<q", "float": "<f", "double": "<d", "date": "<i"}
_PACKED |= {"timestamp": "<q", "timestamptz": "<q"}


def from_bound(kind: Type, data: bytes) -> Value:
    """The value of a lower or upper bound, or None for types whose bounds are not used."""
    if not isinstance(kind, IcebergPrimitive):
        return None
    name = kind.name
    if name in _PACKED:
        return _unpacked(name, data)
    if name == "string":
        return data.decode(errors="replace")
    if decimal := decimal_of(name):
        return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-decimal[1])
    if name == "boolean":
        return data != b"\x00"
    return data if name == "binary" or is_fixed(name) else None


def _unpacked(name: str, data: bytes) -> Value:
    # A bound that was written before a promotion has the width of the old type.
    if name == "long" and len(data) == struct.calcsize("<i"):
        return int(struct.unpack("<i", data)[0])
    if name == "double" and len(data) == struct.calcsize("<f"):
        return float(struct.unpack("<f", data)[0])
    try:
        return _timed(name, struct.unpack(_PACKED[name], data)[0])
    except OverflowError:  # Spark has dates outside of the years that Python knows
        return None


def from_partition(kind: Type, value: Value) -> Value:
    """The column's value that an identity partition holds, as Arrow takes it."""
    if value is None or not isinstance(kind, IcebergPrimitive):
        return None
    if decimal := decimal_of(kind.name):
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-decimal[1])
    if kind.name == "uuid":
        return str(uuid.UUID(bytes=value)) if isinstance(value, bytes) else str(value)
    return _timed(kind.name, value)


def from_default(kind: Type, value: Value) -> Value:
    """The value of a field's default, from its JSON form."""
    if value is None or not isinstance(kind, IcebergPrimitive):
        return None
    name = kind.name
    if name == "date":
        return date.fromisoformat(value)
    if name in ("timestamp", "timestamptz"):
        return datetime.fromisoformat(value)
    if decimal_of(name):
        return Decimal(value)
    if name == "binary" or is_fixed(name):
        return bytes.fromhex(value)
    return float(value) if name in ("float", "double") else value


def _timed(name: str, value: Value) -> Value:
    if name == "date":
        return _EPOCH_DAY + timedelta(days=value)
    if name == "timestamp":
        return (_EPOCH + timedelta(microseconds=value)).replace(tzinfo=None)
    if name == "timestamptz":
        return _EPOCH + timedelta(microseconds=value)
    return value
