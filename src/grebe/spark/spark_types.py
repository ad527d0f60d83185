"""Spark's types as text that Spark reads again, whatever the names inside them are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def type_text(kind: DataType) -> str:
    """The type as it can be written behind AS in a cast; field names are quoted where need be."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    match kind:
        case ArrayType():
            return f"array<{type_text(kind.elementType)}>"
        case MapType():
            return f"map<{type_text(kind.keyType)},{type_text(kind.valueType)}>"
        case StructType():
            fields = (f"{_name(field.name)}:{type_text(field.dataType)}" for field in kind.fields)
            return f"struct<{','.join(fields)}>"
    return kind.simpleString()


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote(name)
