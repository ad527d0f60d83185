"""Which row groups and rows of a Parquet file hold the positions that have a weight."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pyroaring import BitMap64

from grebe.formats.weights import FileWeights


def selection(
    metadata: pq.FileMetaData, weights: FileWeights[Any]
) -> tuple[list[int], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Row groups to read, rows to keep of what they hold, and the weight of each kept row."""
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    starts = [0, *accumulate(sizes)]
    if weights.base:
        all_weights = np.full(starts[-1], weights.base, dtype=np.int64)
        for weight, marked in weights.marks.items():
            all_weights[_as_array(marked)] += weight
        kept = np.flatnonzero(all_weights)
        return list(range(len(sizes))), kept, all_weights[kept]
    marks = [(_as_array(marked), weight) for weight, marked in weights.marks.items()]
    places = np.concatenate([positions for positions, _ in marks])
    values = np.concatenate([np.full(len(p), w, dtype=np.int64) for p, w in marks])
    order = np.argsort(places, kind="stable")
    places, values = places[order], values[order]
    group_of = np.searchsorted(np.array(starts[1:]), places, side="right")
    groups = np.unique(group_of)
    shift = np.zeros(len(sizes), dtype=np.int64)
    before = 0
    for group in groups.tolist():
        shift[group] = before - starts[group]
        before += sizes[group]
    return groups.tolist(), places + shift[group_of], values


def _as_array(positions: BitMap64) -> np.ndarray[Any, Any]:
    return np.fromiter(positions, dtype=np.int64, count=len(positions))


def chunk_bytes(metadata: pq.FileMetaData, groups: list[int], used: list[str]) -> int:
    """Compressed bytes of the columns that were read."""
    indexes = _leaf_indexes(metadata, frozenset(used))
    return sum(
        metadata.row_group(group).column(index).total_compressed_size
        for group in groups
        for index in indexes
    )


def _leaf_indexes(metadata: pq.FileMetaData, used: frozenset[str]) -> list[int]:
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    return [
        i
        for i, path in enumerate(paths)
        if any(path == name or path.startswith(f"{name}.") for name in used)
    ]
