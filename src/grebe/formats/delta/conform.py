"""Arrow columns of a data file in the shape that a table's schema asks for.

A file keeps the names, types and columns of the day it was written. Physical names, or field
numbers, connect them: columns are renamed, widened, or NULL where the file is older than they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from grebe.formats.delta.schema import (
    Array,
    DeltaField,
    DeltaMap,
    DeltaPrimitive,
    DeltaStruct,
    Type,
)

_FIELD_ID = b"PARQUET:field_id"
_ARROW = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "string": pa.string(),
    "binary": pa.binary(),
}
_PARTITION: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), datetime.fromisoformat),
    "decimal": Decimal,
    "string": str,
    "boolean": lambda text: text.lower() == "true",
    "date": date.fromisoformat,
}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_ZONED = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


class NeedsSparkError(Exception):
    """What only Delta's own reader can make sense of."""


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type that Spark exchanges for a Delta type."""
    match kind:
        case DeltaPrimitive(name):
            if decimal := _DECIMAL.fullmatch(name):
                return pa.decimal128(int(decimal[1]), int(decimal[2]))
            return _ARROW[name]
        case DeltaStruct(fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in fields])
        case Array(element):
            return pa.list_(pa.field("element", arrow_type(element)))
        case DeltaMap(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))


def find(parts: list[pa.Field], want: DeltaField, *, by_number: bool) -> int | None:
    """The place of a field among a file's, None when the file is older than it."""
    if by_number and want.field_id is not None:
        numbers = [(part.metadata or {}).get(_FIELD_ID) for part in parts]
        if any(number is not None for number in numbers):
            text = str(want.field_id).encode()
            return numbers.index(text) if text in numbers else None
    names = [part.name for part in parts]
    if want.physical in names:
        return names.index(want.physical)
    folded = [name.casefold() for name in names]
    return folded.index(want.physical.casefold()) if want.physical.casefold() in folded else None


def project(array: pa.Array, want: Type, *, by_number: bool) -> pa.Array:
    """A file's column in the type of the table's."""
    target = arrow_type(want)
    match want:
        case DeltaPrimitive():
            return array if array.type.equals(target) else _widen(array, target)
        case DeltaStruct(fields):
            parts = [array.type.field(i) for i in range(array.type.num_fields)]
            columns = []
            for field in fields:
                place = find(parts, field, by_number=by_number)
                columns.append(
                    missing(field, len(array))
                    if place is None
                    else project(array.field(place), field.type, by_number=by_number)
                )
            shape = [pa.field(f.name, arrow_type(f.type)) for f in fields]
            return pa.StructArray.from_arrays(columns, fields=shape, mask=_nulls(array))
        case Array(element):
            if not pa.types.is_list(array.type):  # other writers store lists with wide offsets
                array = pc.cast(array, pa.list_(array.type.value_field))
            values = project(array.values, element, by_number=by_number)
            return pa.ListArray.from_arrays(array.offsets, values, target, mask=_nulls(array))
        case DeltaMap(key, value):
            keys = project(array.keys, key, by_number=by_number)
            items = project(array.items, value, by_number=by_number)
            return pa.MapArray.from_arrays(array.offsets, keys, items, target, mask=_nulls(array))


def missing(want: DeltaField, length: int) -> pa.Array:
    """A column that the file is older than."""
    return pa.nulls(length, arrow_type(want.type))


def constant(want: DeltaField, text: str | None, length: int) -> pa.Array:
    """A column whose one value stands in the log."""
    return pa.repeat(pa.scalar(partition_value(want, text), arrow_type(want.type)), length)


def partition_value(want: DeltaField, text: str | None) -> object:
    """The value of a partition column from its text; an empty text is NULL."""
    if text is None or text == "":
        return None
    name = want.type.name if isinstance(want.type, DeltaPrimitive) else "struct"
    parse = _PARTITION.get("decimal" if name.startswith("decimal") else name)
    if parse is None or (name == "timestamp" and not _ZONED.search(text)):
        # A timestamp without a zone is in whatever zone its writer had; binary has no one text.
        raise NeedsSparkError(f'partition value "{text}" of type {name}')
    return parse(text)


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _widen(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(target):
        return pc.cast(array, pa.timestamp("us", tz=target.tz), safe=False)
    return pc.cast(array, target)
