"""Arrow columns of a data file in the shape that a table's schema asks for, matched by field id.

A file keeps the names, types and columns of the day it was written. The table's ids connect them:
columns are renamed, promoted, filled with their default, or taken from the partition.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from grebe.formats.iceberg.schema import (
    IcebergField,
    IcebergMap,
    IcebergPrimitive,
    IcebergStruct,
    List,
    Type,
    decimal_of,
    is_fixed,
)
from grebe.formats.iceberg.values import Value, from_default

_FIELD_ID = b"PARQUET:field_id"
_ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "string": pa.string(),
    "uuid": pa.string(),
    "binary": pa.binary(),
    "unknown": pa.null(),
}


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type that Spark exchanges for an Iceberg type."""
    match kind:
        case IcebergPrimitive(name):
            if decimal := decimal_of(name):
                return pa.decimal128(*decimal)
            return pa.binary() if is_fixed(name) else _ARROW[name]
        case IcebergStruct(fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in fields])
        case List(element):
            return pa.list_(pa.field("element", arrow_type(element.type)))
        case IcebergMap(key, value):
            return pa.map_(arrow_type(key.type), arrow_type(value.type))


@dataclass(frozen=True, slots=True)
class NameMapping:
    """Names that stand for field ids, for files that were written without ids."""

    ids: Mapping[str, int] = field(default_factory=dict)
    below: Mapping[str, NameMapping] = field(default_factory=dict)

    @staticmethod
    def parse(text: str | None) -> NameMapping | None:
        """The mapping of the table property, or None without one."""
        return NameMapping._of(json.loads(text)) if text else None

    @staticmethod
    def _of(entries: list[dict[str, Any]]) -> NameMapping:
        ids: dict[str, int] = {}
        below: dict[str, NameMapping] = {}
        for entry in entries:
            inner = NameMapping._of(entry.get("fields", []))
            for name in entry["names"]:
                below[name] = inner
                if "field-id" in entry:
                    ids[name] = int(entry["field-id"])
        return NameMapping(ids, below)

    def inside(self, name: str) -> NameMapping:
        """The mapping of the parts of a field."""
        return self.below.get(name, NameMapping())


def top_level_ids(schema: pa.Schema, mapping: NameMapping | None) -> dict[int, int]:
    """Positions of a file's columns by field id: its own ids, else the mapping, else the order."""
    own = {_own_id(schema.field(i)): i for i in range(len(schema))}
    if any(number is not None for number in own):
        return {number: index for number, index in own.items() if number is not None}
    if mapping is not None:
        names = {schema.field(i).name: i for i in range(len(schema))}
        return {mapping.ids[name]: i for name, i in names.items() if name in mapping.ids}
    return {index + 1: index for index in range(len(schema))}


def _own_id(part: pa.Field) -> int | None:
    text = (part.metadata or {}).get(_FIELD_ID)
    return None if text is None else int(text)


def constant(want: IcebergField, value: Value, length: int) -> pa.Array:
    """A column that holds one value in every row."""
    return pa.repeat(pa.scalar(value, arrow_type(want.type)), length)


def missing(want: IcebergField, length: int) -> pa.Array:
    """A column that the file is older than: its default, or NULL."""
    if isinstance(want.type, IcebergPrimitive) and want.default is not None:
        return constant(want, from_default(want.type, want.default), length)
    return pa.nulls(length, arrow_type(want.type))


def project(
    array: pa.Array, part: pa.Field, want: IcebergField, mapping: NameMapping | None
) -> pa.Array:
    """A file's column in the type of the table's field."""
    target = arrow_type(want.type)
    if array.type.equals(target) and _ids_agree(part, want.type):
        return array
    match want.type:
        case IcebergPrimitive():
            return _promote(array, want.type, target)
        case IcebergStruct(fields):
            return _struct(array, part, fields, mapping)
        case List(element):
            inner = part.type.value_field
            if not pa.types.is_list(array.type):  # other writers store lists with wide offsets
                array = pc.cast(array, pa.list_(inner))
            values = project(array.values, inner, element, _below(mapping, "element"))
            return pa.ListArray.from_arrays(array.offsets, values, target, mask=_nulls(array))
        case IcebergMap(key, value):
            keys = project(array.keys, part.type.key_field, key, _below(mapping, "key"))
            items = project(array.items, part.type.item_field, value, _below(mapping, "value"))
            return pa.MapArray.from_arrays(array.offsets, keys, items, target, mask=_nulls(array))


def _below(mapping: NameMapping | None, name: str) -> NameMapping | None:
    return None if mapping is None else mapping.inside(name)


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _ids_agree(part: pa.Field, want: Type) -> bool:
    """Whether the parts of a nested column are those that the table means."""
    match want:
        case IcebergPrimitive():
            return True
        case IcebergStruct(fields):
            parts = [part.type.field(i) for i in range(part.type.num_fields)]
            return len(parts) == len(fields) and all(
                _own_id(inner) == f.id and _ids_agree(inner, f.type)
                for inner, f in zip(parts, fields, strict=True)
            )
        case List(element):
            return _ids_agree(part.type.value_field, element.type)
        case IcebergMap(key, value):
            return _ids_agree(part.type.key_field, key.type) and _ids_agree(
                part.type.item_field, value.type
            )


def _struct(
    array: pa.Array, part: pa.Field, fields: tuple[IcebergField, ...], mapping: NameMapping | None
) -> pa.Array:
    parts = [part.type.field(i) for i in range(part.type.num_fields)]
    with_ids = mapping is None or any(_own_id(inner) is not None for inner in parts)
    found = {
        (_own_id(inner) if with_ids or mapping is None else mapping.ids.get(inner.name)): index
        for index, inner in enumerate(parts)
    }
    columns = []
    for want in fields:
        index = found.get(want.id)
        if index is None:
            columns.append(missing(want, len(array)))
        else:
            inner_mapping = _below(mapping, parts[index].name)
            columns.append(project(array.field(index), parts[index], want, inner_mapping))
    shape = [pa.field(want.name, arrow_type(want.type)) for want in fields]
    return pa.StructArray.from_arrays(columns, fields=shape, mask=_nulls(array))


def _promote(array: pa.Array, kind: IcebergPrimitive, target: pa.DataType) -> pa.Array:
    if kind.name == "uuid":
        stored = array.storage if isinstance(array, pa.ExtensionArray) else array
        if pa.types.is_fixed_size_binary(stored.type):
            texts = [None if v is None else str(uuid.UUID(bytes=v)) for v in stored.to_pylist()]
            return pa.array(texts, target)
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(target):
        return pc.cast(array, pa.timestamp("us", tz=target.tz), safe=False)
    return pc.cast(array, target)
