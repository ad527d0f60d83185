"""Live rows of Parquet files, or those of them with some keys: row group by row group, by the driver itself.

A group whose statistics say that it holds none of the keys is not read; of the others the column of the
key is read first, and the rest only where a key was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from grebe.formats.weights import FileWeights

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ReadGroup = Callable[[int, Sequence[int]], "list[pa.Array]"]
"""The columns of a row group, by the places of the fields that are wanted."""


@dataclass(frozen=True, slots=True)
class NearKeys:
    """Keys that rows must have in one column: distinct values, NULL among them where it counts."""

    column: str
    values: pa.Array

    @property
    def sorted(self) -> np.ndarray[Any, Any] | None:
        """The keys in order, where a range can be looked up among them: of whole numbers."""
        import pyarrow as pa

        if not pa.types.is_integer(self.values.type) or self.values.null_count:
            return None
        return np.sort(self.values.to_numpy(zero_copy_only=False))

    def among(self, column: pa.Array) -> np.ndarray[Any, Any]:
        """Which values of a column are keys."""
        import pyarrow.compute as pc

        found = pc.is_in(column, value_set=self.values.cast(column.type))
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


@dataclass(frozen=True, slots=True)
class FileRows:
    """One opened file, and how its columns are read."""

    parquet: pq.ParquetFile
    weights: FileWeights[Any]
    schema: pa.Schema
    """The columns that are wanted."""
    read: ReadGroup
    key_name: str | None = None
    """What the file calls the column of the keys, if it has it."""


def rows_of_file(file: FileRows, near: NearKeys | None) -> list[pa.Table]:
    """The live rows of a file, in parts."""
    metadata = file.parquet.metadata
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    weights = np.full(sum(sizes), file.weights.base, np.int64)
    for weight, marked in file.weights.marks.items():
        weights[np.fromiter(marked, dtype=np.int64, count=len(marked))] += weight
    starts = [0, *accumulate(sizes)]
    ordered = None if near is None else near.sorted
    found: list[pa.Table] = []
    for group, size in enumerate(sizes):
        alive = weights[starts[group] : starts[group] + size]
        if alive.any() and _may_hold(file, group, ordered):
            found += _group(file, group, alive, near)
    return found


def _group(
    file: FileRows, group: int, alive: np.ndarray[Any, Any], near: NearKeys | None
) -> list[pa.Table]:
    import pyarrow as pa

    names = file.schema.names
    columns: dict[int, pa.Array] = {}
    wanted = alive
    if near is not None:
        place = names.index(near.column)
        (columns[place],) = file.read(group, [place])
        wanted = np.where(near.among(columns[place]), alive, 0)
    rows = np.repeat(np.arange(len(wanted)), wanted)
    if not len(rows):
        return []
    rest = [place for place in range(len(names)) if place not in columns]
    columns.update(zip(rest, file.read(group, rest), strict=True) if rest else ())
    whole = pa.Table.from_arrays(
        [columns[place] for place in range(len(names))], schema=file.schema
    )
    is_all = len(rows) == len(wanted) and bool((wanted == 1).all())
    return [whole if is_all else whole.take(pa.array(rows))]


def _may_hold(file: FileRows, group: int, ordered: np.ndarray[Any, Any] | None) -> bool:
    """False when statistics prove that none of the keys is in a row group."""
    if ordered is None or file.key_name is None:
        return True
    metadata = file.parquet.metadata
    for place in range(metadata.num_columns):
        if metadata.schema.column(place).path == file.key_name:
            known = metadata.row_group(group).column(place).statistics
            if known is None or not known.has_min_max:
                return True
            low, high = known.min, known.max
            if type(low) is not int or type(high) is not int:
                return True
            at = int(np.searchsorted(ordered, low))
            return at < len(ordered) and int(ordered[at]) <= high
    return True
