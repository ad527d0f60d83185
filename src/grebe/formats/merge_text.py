"""The parts of a MERGE in Spark SQL that do not depend on the format of its target. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grebe.formats.base import ACTION, CHANGE, TARGET, Merge
from grebe.formats.spark_text import comparable, type_sql
from grebe.sql_text import literal, quote

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def listed(schema: StructType) -> str:
    """All columns of a table as an SQL list."""
    return ", ".join(quote(field.name) for field in schema.fields)


def cast(schema: StructType) -> str:
    """All columns of a table, each cast to its type."""
    return ", ".join(
        f"CAST({quote(f.name)} AS {type_sql(f.dataType)}) AS {quote(f.name)}" for f in schema.fields
    )


def taken(schema: StructType) -> str:
    """All columns as the change has them."""
    return ", ".join(f"{CHANGE}.{quote(field.name)}" for field in schema.fields)


def condition(schema: StructType, write: Merge, *, but_inserts: bool) -> str:
    """When a stored row is the one that a change means."""
    types = {field.name: field.dataType for field in schema.fields}
    terms = [
        f"{comparable(f'{TARGET}.{quote(column)}', types[column])} <=> "
        f"{comparable(f'{CHANGE}.{quote(column)}', types[column])}"
        for column in write.on
    ]
    terms += [
        f"CAST({TARGET}.{quote(column)} AS STRING) <=> CAST({CHANGE}.{quote(column)} AS STRING)"
        for column in write.signed
    ]
    if but_inserts:
        terms.append(f"{CHANGE}.{quote(ACTION)} <> {literal('insert')}")
    if write.prune is not None:
        terms.append(f"({write.prune})")
    return " AND ".join(terms) or "true"


def update(schema: StructType, on: Sequence[str]) -> list[str]:
    """The clause that sets what is not in the key; none when everything is."""
    others = [field.name for field in schema.fields if field.name not in on]
    if not others:
        return []
    pairs = ", ".join(f"{TARGET}.{quote(name)} = {CHANGE}.{quote(name)}" for name in others)
    return [f"WHEN MATCHED AND {CHANGE}.{quote(ACTION)} = 'update' THEN UPDATE SET {pairs}"]
