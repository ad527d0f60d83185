"""Iceberg types and schemas, and their spelling in Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grebe import model
from grebe.sql_text import quote_odd

Json = Any
"""A part of a metadata document."""


@dataclass(frozen=True, slots=True)
class IcebergPrimitive:
    """A type without parts, by its Iceberg name, e.g. ``long`` or ``decimal(9, 2)``."""

    name: str


@dataclass(frozen=True, slots=True)
class IcebergField:
    """A column or a field of a struct. ``default`` fills rows older than the field (JSON form)."""

    id: int
    name: str
    type: Type
    required: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class IcebergStruct:
    """Named fields."""

    fields: tuple[IcebergField, ...]


@dataclass(frozen=True, slots=True)
class List:
    """Repeated values of one type."""

    element: IcebergField


@dataclass(frozen=True, slots=True)
class IcebergMap:
    """Keys to values."""

    key: IcebergField
    value: IcebergField


Type = IcebergPrimitive | IcebergStruct | List | IcebergMap


def parse_type(document: Json) -> Type:
    """The type that a schema's JSON spells."""
    if isinstance(document, str):
        return IcebergPrimitive(document.replace(" ", ""))
    match document["type"]:
        case "struct":
            return IcebergStruct(tuple(parse_field(field) for field in document["fields"]))
        case "list":
            return List(_part(document, "element", document["element-required"]))
        case "map":
            return IcebergMap(
                _part(document, "key", True), _part(document, "value", document["value-required"])
            )
        case other:
            return IcebergPrimitive(str(other))


def _part(document: Mapping[str, Any], role: str, required: bool) -> IcebergField:
    return IcebergField(int(document[f"{role}-id"]), role, parse_type(document[role]), required)


def parse_field(document: Mapping[str, Any]) -> IcebergField:
    """One field of a schema's JSON."""
    return IcebergField(
        id=int(document["id"]),
        name=document["name"],
        type=parse_type(document["type"]),
        required=bool(document["required"]),
        default=document.get("initial-default"),
    )


_SPARK_NAMES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "string": "string",
    "uuid": "string",
    "binary": "binary",
    "variant": "variant",
    "unknown": "void",
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_FIXED = re.compile(r"fixed\[(\d+)\]")


def decimal_of(name: str) -> tuple[int, int] | None:
    """Precision and scale when the name is a decimal's."""
    found = _DECIMAL.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else None


def is_fixed(name: str) -> bool:
    """Whether the name is that of bytes of a fixed length."""
    return _FIXED.fullmatch(name) is not None


def spark_text(kind: Type) -> str:
    """The type as Spark SQL spells it; types that Spark lacks keep their Iceberg name."""
    match kind:
        case IcebergPrimitive(name):
            if decimal := decimal_of(name):
                return f"decimal({decimal[0]},{decimal[1]})"
            return "binary" if is_fixed(name) else _SPARK_NAMES.get(name, name)
        case IcebergStruct(fields):
            inner = ",".join(f"{quote_odd(f.name)}:{spark_text(f.type)}" for f in fields)
            return f"struct<{inner}>"
        case List(element):
            return f"array<{spark_text(element.type)}>"
        case IcebergMap(key, value):
            return f"map<{spark_text(key.type)},{spark_text(value.type)}>"


def same_type(left: Type, right: Type) -> bool:
    """Whether values of both read alike: equal types, names and ids of all parts."""
    match left, right:
        case IcebergPrimitive(), IcebergPrimitive():
            return left == right
        case IcebergStruct(ours), IcebergStruct(theirs):
            return len(ours) == len(theirs) and all(
                a.id == b.id and a.name == b.name and same_type(a.type, b.type)
                for a, b in zip(ours, theirs, strict=True)
            )
        case List(ours_element), List(theirs_element):
            return same_type(ours_element.type, theirs_element.type)
        case IcebergMap(), IcebergMap():
            return same_type(left.key.type, right.key.type) and same_type(
                left.value.type, right.value.type
            )
        case _:
            return False


def leaves(field: IcebergField) -> Iterator[IcebergField]:
    """The fields under a field, itself included, that hold values."""
    match field.type:
        case IcebergPrimitive():
            yield field
        case IcebergStruct(fields):
            for inner in fields:
                yield from leaves(inner)
        case List(element):
            yield from leaves(element)
        case IcebergMap(key, value):
            yield from leaves(key)
            yield from leaves(value)


WITHOUT_IDENTITY = frozenset({"variant", "geometry", "geography", "time", "timestamp_ns"}) | {
    "timestamptz_ns"
}
"""Types that have no canonical form, or that Spark cannot read: their rows cannot be compared."""


def without_identity(field: IcebergField) -> str | None:
    """The name of a type inside the field whose values cannot be compared, or None."""
    for leaf in leaves(field):
        name = leaf.type.name if isinstance(leaf.type, IcebergPrimitive) else ""
        if name.split("(")[0] in WITHOUT_IDENTITY:
            return name
    return None


@dataclass(frozen=True, slots=True)
class IcebergSchema:
    """A table's columns at some point, with its number in the metadata."""

    id: int
    fields: tuple[IcebergField, ...]

    @staticmethod
    def parse(document: Mapping[str, Any]) -> IcebergSchema:
        """The schema that a metadata file's JSON spells."""
        fields = tuple(parse_field(field) for field in document["fields"])
        return IcebergSchema(int(document.get("schema-id", 0)), fields)

    def field(self, number: int) -> IcebergField | None:
        """The column with an id, or None."""
        return next((field for field in self.fields if field.id == number), None)

    def to_model(self) -> model.Schema:
        """The schema in the words of the rest of the program."""
        columns = tuple(
            model.Column(f.id, f.name, spark_text(f.type), not f.required) for f in self.fields
        )
        return model.Schema(str(self.id), columns)
