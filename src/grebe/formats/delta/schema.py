"""Delta types and schemas, and their spelling in Spark SQL.

A column's id is a hash of its *physical* name. Without column mapping that is its name; with it, a
rename keeps the physical name and a column that is dropped and added again gets a new one. So ids
stay the same when mapping is switched on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grebe import model
from grebe.formats.column_ids import id_of
from grebe.formats.delta.actions import Json, Metadata
from grebe.sql_text import quote_odd

_MODE = "delta.columnMapping.mode"
_PHYSICAL = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"
_COLLATIONS = "__COLLATIONS"
_CHARS = "__CHAR_VARCHAR_TYPE_STRING"
_PADDED = re.compile(r"(?<!var)char\(", re.IGNORECASE)
_SPARK_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


@dataclass(frozen=True, slots=True)
class DeltaPrimitive:
    """A type without parts, by its Delta name, e.g. ``long`` or ``decimal(9,2)``."""

    name: str


@dataclass(frozen=True, slots=True)
class DeltaField:
    """A column or a field of a struct."""

    physical: str
    """Its name in the files."""
    name: str
    type: Type
    nullable: bool = True
    field_id: int | None = None
    """Its number in the files, where the table finds columns by number."""

    @property
    def id(self) -> int:
        """The stable id of the column."""
        return id_of(self.physical)


@dataclass(frozen=True, slots=True)
class DeltaStruct:
    """Named fields."""

    fields: tuple[DeltaField, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """Repeated values of one type."""

    element: Type


@dataclass(frozen=True, slots=True)
class DeltaMap:
    """Keys to values."""

    key: Type
    value: Type


Type = DeltaPrimitive | DeltaStruct | Array | DeltaMap


@dataclass(frozen=True, slots=True)
class DeltaSchema:
    """A table's columns at some version."""

    id: str
    fields: tuple[DeltaField, ...]
    by_number: bool
    """Files are matched by field number, not by physical name."""
    partition_columns: tuple[str, ...]

    @staticmethod
    def of(metadata: Metadata) -> DeltaSchema:
        """The schema that a table's metadata spells."""
        mode = metadata.configuration.get(_MODE, "none")
        document = json.loads(metadata.schema)
        fields = tuple(_field(part, mapped=mode != "none") for part in document["fields"])
        number = hashlib.blake2b(metadata.schema.encode(), digest_size=8).hexdigest()
        return DeltaSchema(number, fields, mode == "id", metadata.partition_columns)

    def field(self, number: int) -> DeltaField | None:
        """The column with an id, or None."""
        return next((field for field in self.fields if field.id == number), None)

    def is_partition(self, field: DeltaField) -> bool:
        """Whether the column's values stand in the log and not in the files."""
        return field.name in self.partition_columns

    def to_model(self) -> model.Schema:
        """The schema in the words of the rest of the program."""
        columns = tuple(
            model.Column(f.id, f.name, spark_text(f.type), f.nullable) for f in self.fields
        )
        return model.Schema(self.id, columns)


def _field(document: Mapping[str, Json], *, mapped: bool) -> DeltaField:
    notes = document.get("metadata") or {}
    name = str(document["name"])
    kind = _type(document["type"], mapped=mapped)
    if _COLLATIONS in notes:
        kind = DeltaPrimitive("collated string")
    if _PADDED.search(str(notes.get(_CHARS, ""))):
        kind = DeltaPrimitive(
            str(notes[_CHARS])
        )  # compared without its blanks, as no plain text is
    number = notes.get(_ID) if mapped else None
    physical = str(notes.get(_PHYSICAL, name)) if mapped else name
    return DeltaField(physical, name, kind, bool(document.get("nullable", True)), number)


def _type(document: Json, *, mapped: bool) -> Type:
    if isinstance(document, str):
        return DeltaPrimitive(document)
    match document["type"]:
        case "struct":
            return DeltaStruct(tuple(_field(part, mapped=mapped) for part in document["fields"]))
        case "array":
            return Array(_type(document["elementType"], mapped=mapped))
        case "map":
            return DeltaMap(
                _type(document["keyType"], mapped=mapped),
                _type(document["valueType"], mapped=mapped),
            )
        case other:
            return DeltaPrimitive(str(other))


def spark_text(kind: Type) -> str:
    """The type as Spark SQL spells it."""
    match kind:
        case DeltaPrimitive(name):
            return _SPARK_NAMES.get(name, name)
        case DeltaStruct(fields):
            inner = ",".join(f"{quote_odd(f.name)}:{spark_text(f.type)}" for f in fields)
            return f"struct<{inner}>"
        case Array(element):
            return f"array<{spark_text(element)}>"
        case DeltaMap(key, value):
            return f"map<{spark_text(key)},{spark_text(value)}>"


def same_type(left: Type, right: Type) -> bool:
    """Whether values of both read alike: equal types, names and physical names of all parts."""
    match left, right:
        case DeltaPrimitive(), DeltaPrimitive():
            return left == right
        case DeltaStruct(ours), DeltaStruct(theirs):
            return len(ours) == len(theirs) and all(
                (a.physical, a.name) == (b.physical, b.name) and same_type(a.type, b.type)
                for a, b in zip(ours, theirs, strict=True)
            )
        case Array(ours_element), Array(theirs_element):
            return same_type(ours_element, theirs_element)
        case DeltaMap(), DeltaMap():
            return same_type(left.key, right.key) and same_type(left.value, right.value)
        case _:
            return False


def primitives(kind: Type) -> Iterator[str]:
    """The names of all types without parts inside a type."""
    match kind:
        case DeltaPrimitive(name):
            yield name
        case DeltaStruct(fields):
            for field in fields:
                yield from primitives(field.type)
        case Array(element):
            yield from primitives(element)
        case DeltaMap(key, value):
            yield from primitives(key)
            yield from primitives(value)


WITH_IDENTITY = frozenset(
    {
        "boolean",
        "byte",
        "short",
        "integer",
        "long",
        "float",
        "double",
        "date",
        "timestamp",
        "timestamp_ntz",
        "string",
        "binary",
    }
)


def without_identity(field: DeltaField) -> str | None:
    """The name of a type inside the field whose values cannot be compared, or None."""
    return next(
        (
            name
            for name in primitives(field.type)
            if name not in WITH_IDENTITY and not name.startswith("decimal(")
        ),
        None,
    )
