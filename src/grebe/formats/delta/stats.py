"""What the log says of a file's values: bounds that let a key filter skip the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal

from grebe.formats.base import KeyBounds
from grebe.formats.delta.actions import DataFile
from grebe.formats.delta.projection import NeedsSparkError, partition_value
from grebe.formats.delta.schema import Field, Primitive, TableSchema

_EXACT: dict[str, Callable[[object], object]] = {
    **dict.fromkeys(("byte", "short", "integer", "long", "string"), lambda value: value),
    "date": lambda value: date.fromisoformat(str(value)),
    "decimal": lambda value: Decimal(str(value)),
}
"""Types whose bounds in the log are bounds. Timestamps are cut off there, floats lack NaN."""


def bounds(
    files: Iterable[DataFile], schema: TableSchema, fields: Iterable[Field]
) -> dict[str, list[KeyBounds]]:
    """Per column, the bounds of each file."""
    wanted = list(fields)
    found: dict[str, list[KeyBounds]] = {field.name: [] for field in wanted}
    for file in files:
        stats = json.loads(file.stats) if file.stats and wanted else {}
        for field in wanted:
            found[field.name].append(_of_file(file, schema, field, stats))
    return found


def _of_file(
    file: DataFile, schema: TableSchema, field: Field, stats: dict[str, dict[str, object]]
) -> KeyBounds:
    if schema.is_partition(field):
        try:
            value = partition_value(field, file.partition.get(field.physical))
        except NeedsSparkError:
            return KeyBounds(field.name, None, None, bytes=file.size)
        return KeyBounds(field.name, value, value, value is None, file.size)
    nulls = stats.get("nullCount", {}).get(field.physical)
    kind = field.type.name if isinstance(field.type, Primitive) else "struct"
    parse = _EXACT.get("decimal" if kind.startswith("decimal") else kind)
    low, high = (
        value.get(field.physical)
        for value in (stats.get("minValues", {}), stats.get("maxValues", {}))
    )
    return KeyBounds(
        field.name,
        None if parse is None or low is None else parse(low),
        None if parse is None or high is None else parse(high),
        nulls > 0 if isinstance(nulls, int) else None,
        file.size,
    )
