"""Types and comparisons as Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grebe.errors import InternalError, StepFailedError
from grebe.sql_text import literal, made, quote

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


def type_sql(type_: DataType) -> str:
    """A Spark type as SQL text, nested names quoted."""
    from pyspark.sql import types as t

    match type_:
        case t.StructType():
            inner = (f"{quote(f.name)}: {type_sql(f.dataType)}" for f in type_.fields)
            return f"STRUCT<{', '.join(inner)}>"
        case t.ArrayType():
            return f"ARRAY<{type_sql(type_.elementType)}>"
        case t.MapType():
            return f"MAP<{type_sql(type_.keyType)}, {type_sql(type_.valueType)}>"
        case _:
            return type_.simpleString()


def comparable(expression: str, type_: DataType, depth: int = 0) -> str:
    """An expression that `<=>` can compare and that is equal exactly when the value is.

    Spark compares no maps: they become arrays of entries sorted by key.
    """
    from pyspark.sql import types as t

    match type_:
        case t.VariantType():
            raise StepFailedError(
                "rows cannot be matched on a variant column",
                hint="give the view a key, or cast the variant to a string",
            )
        case _ if not _holds_map(type_):
            return expression
        case t.MapType():
            entry = t.StructType().add("key", type_.keyType).add("value", type_.valueType)
            entries = comparable(f"map_entries({expression})", t.ArrayType(entry), depth)
            return f"array_sort({entries})"
        case t.ArrayType():
            item = made(f"x{depth}")
            inner = comparable(item, type_.elementType, depth + 1)
            return expression if inner == item else f"transform({expression}, {item} -> {inner})"
        case t.StructType():
            fields = ", ".join(
                f"{literal(f.name)}, {comparable(f'{expression}.{quote(f.name)}', f.dataType, depth)}"
                for f in type_.fields
            )
            return f"IF({expression} IS NULL, NULL, named_struct({fields}))"
        case _:
            raise InternalError.broken(f"no comparison for type {type_.simpleString()}")


def _holds_map(type_: DataType) -> bool:
    from pyspark.sql import types as t

    match type_:
        case t.MapType() | t.VariantType():
            return True
        case t.ArrayType():
            return _holds_map(type_.elementType)
        case t.StructType():
            return any(_holds_map(field.dataType) for field in type_.fields)
        case _:
            return False
