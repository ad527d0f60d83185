"""DuckLake's columns and types: what Spark calls them, and how DuckDB gives them to Spark."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grebe.errors import SourceError
from grebe.model import Column, Schema
from grebe.program.duckdb_text import ident
from grebe.sql_text import quote

_SPARK = {
    "boolean": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "float32": "float",
    "float64": "double",
    "varchar": "string",
    "json": "string",
    "uuid": "string",
    "blob": "binary",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamp_s": "timestamp_ntz",
    "timestamp_ms": "timestamp_ntz",
    "timestamptz": "timestamp",
}
_DUCKDB = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp_ntz": "TIMESTAMP",
    "timestamp": "TIMESTAMPTZ",
}
_NATIVE = frozenset(
    [
        "boolean",
        "int8",
        "int16",
        "int32",
        "int64",
        "float32",
        "float64",
        "varchar",
        "blob",
        "date",
        "timestamp",
        "timestamptz",
    ]
)
"""Types whose Parquet form Spark reads as what it is."""
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


@dataclass(frozen=True, slots=True)
class LakeField:
    """A column or a part of one, with the id that outlives its name."""

    id: int
    name: str
    type: str
    begin: int
    nullable: bool = True
    default: str | None = None
    """What rows have that are older than the column."""
    parts: tuple[LakeField, ...] = ()

    def leaves(self) -> Iterator[LakeField]:
        """The field and all its parts."""
        yield self
        for part in self.parts:
            yield from part.leaves()

    @property
    def identity(self) -> tuple[object, ...]:
        """What must not differ for values to be comparable: its own name may, those inside not.

        A part that was dropped and made anew has the old name and type and another id: what it
        held before is gone.
        """
        inside = ((leaf.id, leaf.name, leaf.type) for part in self.parts for leaf in part.leaves())
        return self.id, self.type, *inside


def fields_of(rows: Iterable[Sequence[Any]]) -> tuple[LakeField, ...]:
    """The top-level fields of rows (id, parent, name, type, begin, nullable, default), in order."""
    children: dict[int | None, list[Sequence[Any]]] = {}
    for row in rows:
        children.setdefault(row[1], []).append(row)

    def built(row: Sequence[Any]) -> LakeField:
        parts = tuple(built(child) for child in children.get(row[0], ()))
        return LakeField(row[0], row[2], row[3], row[4], bool(row[5]), row[6], parts)

    return tuple(built(row) for row in children.get(None, ()))


def spark_text(field: LakeField) -> str:
    """The Spark type of a field; of what Spark has no exact type for, DuckLake's own name."""
    match field.type:
        case "struct":
            parts = (f"{_nested(part.name)}:{spark_text(part)}" for part in field.parts)
            return f"struct<{','.join(parts)}>"
        case "list":
            return f"array<{spark_text(field.parts[0])}>"
        case "map":
            key, value = field.parts
            return f"map<{spark_text(key)},{spark_text(value)}>"
        case kind if found := _DECIMAL.fullmatch(kind):
            return f"decimal({found[1]},{found[2]})"
        case kind:
            return _SPARK.get(kind, kind)


def _nested(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else quote(name)


def inexact(field: LakeField) -> str | None:
    """The type in a field that cannot be read exactly, or None.

    A HUGEINT is a DOUBLE in DuckLake's files and so changes when inlined rows are flushed; Spark
    has no nanoseconds, no time of day, no interval.
    """
    for part in field.leaves():
        known = part.type in _SPARK or part.type in ("struct", "list", "map")
        if not known and not _DECIMAL.fullmatch(part.type):
            return part.type
    return None


def is_native(field: LakeField) -> bool:
    """Whether Spark's Parquet reader gives what the field means."""
    return all(
        part.type in _NATIVE
        or part.type in ("struct", "list", "map")
        or _DECIMAL.fullmatch(part.type) is not None
        for part in field.leaves()
    )


def duckdb_text(field: LakeField) -> str:
    """The DuckDB type whose Arrow form is the field's Spark type."""
    match field.type:
        case "struct":
            parts = (f"{ident(part.name)} {duckdb_text(part)}" for part in field.parts)
            return f"STRUCT({', '.join(parts)})"
        case "list":
            return f"{duckdb_text(field.parts[0])}[]"
        case "map":
            key, value = field.parts
            return f"MAP({duckdb_text(key)}, {duckdb_text(value)})"
        case _:
            kind = spark_text(field)
            return _DUCKDB.get(kind, kind)


def selected(fields: Sequence[LakeField], names: Sequence[str]) -> str:
    """The items of a DuckDB SELECT of fields in types that Spark has, under other names."""
    return ", ".join(
        f"{_read(field)} AS {ident(name)}" for field, name in zip(fields, names, strict=True)
    )


def _read(field: LakeField) -> str:
    if is_native(field):
        return ident(field.name)
    return f"CAST({ident(field.name)} AS {duckdb_text(field)})"


def to_model(fields: Sequence[LakeField]) -> Schema:
    """The schema for the rest of grebe; equal columns, equal id."""
    columns = tuple(Column(f.id, f.name, spark_text(f), f.nullable) for f in fields)
    return Schema(hashlib.sha256(repr(columns).encode()).hexdigest()[:12], columns)


def chosen(fields: Sequence[LakeField], ids: Sequence[int]) -> list[LakeField]:
    """The fields of some ids, in the order asked for.

    Raises:
        SourceError: a column that is not there, or whose type cannot be read exactly.
    """
    known: Mapping[int, LakeField] = {field.id: field for field in fields}
    found = []
    for number in ids:
        if number not in known:
            raise SourceError(f"there is no column with id {number}", code="schema-changed")
        field = known[number]
        if odd := inexact(field):
            raise SourceError(
                f'column "{field.name}" cannot be read',
                detail=f"its type {odd} has no exact form in Spark",
                hint="cast it in the source table, a HUGEINT to DECIMAL(38,0) or BIGINT",
                code="type-without-identity",
            )
        found.append(field)
    return found
