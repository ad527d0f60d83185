"""Rows as bags that Python itself compares: independent of how the product compares rows."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from grebe.formats.base import WEIGHT

Bag = Counter[Any]


def canonical(value: Any) -> Any:
    """The value so that equal means the same: NaN is NaN, -0.0 is not 0.0, maps have no order."""
    match value:
        case float():
            return "NaN" if value != value else struct.pack(">d", value)
        case dict():
            return tuple((key, canonical(inner)) for key, inner in value.items())
        case list():
            return ("list", *map(canonical, value))
        case tuple():
            return tuple(map(canonical, value))
        case _:
            return value


def _column(column: pa.ChunkedArray) -> list[Any]:
    return [_maps(value, column.type) for value in column.to_pylist()]


def _maps(value: Any, kind: pa.DataType) -> Any:
    """The value with every map's entries in one order."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        entries = [(_maps(k, kind.key_type), _maps(v, kind.item_type)) for k, v in value]
        return ("map", *sorted(map(canonical, entries), key=repr))
    if pa.types.is_list(kind):
        return [_maps(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {f.name: _maps(value[f.name], f.type) for f in kind}
    return value


def bag(table: pa.Table, columns: Sequence[str] | None = None) -> Bag:
    """The rows with how often each occurs; a weight column counts instead of one."""
    names = [n for n in (table.column_names if columns is None else columns) if n != WEIGHT]
    weights = table[WEIGHT].to_pylist() if WEIGHT in table.column_names else [1] * table.num_rows
    lists = [_column(table[name]) for name in names]
    found: Bag = Counter()
    for index, weight in enumerate(weights):
        found[tuple(canonical(values[index]) for values in lists)] += weight
    return found


def difference(new: Bag, old: Bag) -> Bag:
    """What changed between two bags, with signed weights and without zeros."""
    changed = Counter(new)
    changed.subtract(old)
    return Counter({row: weight for row, weight in changed.items() if weight})
