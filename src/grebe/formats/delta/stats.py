"""What the log says of a file's values: bounds that let a filter skip the file, and whose there are.

Writers differ: delta-rs keeps decimals as doubles and leaves NaN out, Spark has no bounds of
booleans, and a reader (pyarrow's, by delta-rs) takes a bound that is missing for one that no row
meets. So storage tables have statistics of those columns only that all writers describe truly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal

from grebe.formats.base import KeyBounds
from grebe.formats.delta.actions import AddedFile
from grebe.formats.delta.conform import NeedsSparkError, partition_value
from grebe.formats.delta.schema import DeltaField, DeltaPrimitive, DeltaSchema, Type, spark_text
from grebe.sql_text import quote

_EXACT: dict[str, Callable[[object], object]] = {
    **dict.fromkeys(("byte", "short", "integer", "long", "string"), lambda value: value),
    "date": lambda value: date.fromisoformat(str(value)),
}
"""Types whose bounds in the log are bounds. Timestamps are cut off there, floats lack NaN."""

_DOUBLE_DIGITS = 15
"""Digits of a decimal that a double keeps."""
_LOST = Decimal("1e-14")
"""More than a double loses of a decimal, as a share of it; some writers store bounds as doubles."""
_CUT_OFF = 2**63 - 1
"""What some writers store for everything above."""


_BOUNDED = frozenset({"tinyint", "smallint", "int", "bigint", "date", "string"}) | {
    "timestamp",
    "timestamp_ntz",
}
"""Types, as Spark SQL spells them, of which every writer keeps true bounds."""
_DESCRIBED = 32
"""Columns with statistics at most: what Delta has unless told."""


def settings(columns: Mapping[str, str], divided: Iterable[str] = ()) -> dict[str, str]:
    """The properties of a storage table that say which of its columns have statistics.

    Those that it is divided by need none: each file has one value of them.
    """
    others = {name.lower() for name in divided}
    stored = {name: kind for name, kind in columns.items() if name.lower() not in others}
    named = [quote(name) for name, kind in stored.items() if is_bounded(kind)]
    if not named:
        return {"delta.dataSkippingNumIndexedCols": "0"}
    return {"delta.dataSkippingStatsColumns": ",".join(named[:_DESCRIBED])}


def true_bounds(schema: DeltaSchema, configuration: Mapping[str, str]) -> bool:
    """Whether a table has statistics only of columns that every writer describes truly."""
    types = {f.name: spark_text(f.type) for f in schema.fields if not schema.is_partition(f)}
    told = settings(types).items() <= configuration.items()
    return told or all(map(is_bounded, types.values()))


def is_bounded(kind: str) -> bool:
    """Whether every writer keeps true bounds of a type, given in Spark SQL."""
    name = kind.lower()
    return name in _BOUNDED or 0 < _precision(name) <= _DOUBLE_DIGITS


def is_wide(kind: Type) -> bool:
    """Whether a type is a decimal that a double does not keep."""
    return isinstance(kind, DeltaPrimitive) and _precision(kind.name) > _DOUBLE_DIGITS


def _precision(name: str) -> int:
    """The number of digits of a decimal type, 0 for any other."""
    return int(name[len("decimal(") :].partition(",")[0]) if name.startswith("decimal(") else 0


def bounds(
    files: Iterable[AddedFile], schema: DeltaSchema, fields: Iterable[DeltaField]
) -> dict[str, list[KeyBounds]]:
    """Per column, the bounds of each file."""
    wanted = list(fields)
    found: dict[str, list[KeyBounds]] = {field.name: [] for field in wanted}
    for file in files:
        stats = json.loads(file.stats, parse_float=Decimal) if file.stats and wanted else {}
        for field in wanted:
            found[field.name].append(_of_file(file, schema, field, stats))
    return found


def _of_file(
    file: AddedFile, schema: DeltaSchema, field: DeltaField, stats: dict[str, dict[str, object]]
) -> KeyBounds:
    if schema.is_partition(field):
        try:
            value = partition_value(field, file.partition.get(field.physical))
        except NeedsSparkError:
            return KeyBounds(field.name, None, None, bytes=file.size)
        return KeyBounds(field.name, value, value, value is None, file.size)
    nulls = stats.get("nullCount", {}).get(field.physical)
    low, high = (
        value.get(field.physical)
        for value in (stats.get("minValues", {}), stats.get("maxValues", {}))
    )
    return KeyBounds(
        field.name,
        _bound(field.type, low, -1),
        _bound(field.type, high, 1),
        nulls > 0 if isinstance(nulls, int) else None,
        file.size,
    )


def _bound(kind: Type, value: object, side: int) -> object:
    """The least or the greatest that a value in the log can stand for, None when it says nothing."""
    if value is None or not isinstance(kind, DeltaPrimitive):
        return None
    if not _precision(kind.name):
        parse = _EXACT.get(kind.name)
        return None if parse is None else parse(value)
    number = Decimal(str(value))
    if not is_wide(kind):
        return number
    return None if abs(number) >= _CUT_OFF else number + side * abs(number) * _LOST
