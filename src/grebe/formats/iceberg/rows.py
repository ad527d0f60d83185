"""Weighted rows of touched files, read by Arrow on the driver: no Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from grebe.formats.base import WEIGHT
from grebe.formats.iceberg.diff import FileWeights
from grebe.formats.iceberg.files import Files, torn
from grebe.formats.iceberg.manifests import DataFile
from grebe.formats.iceberg.metadata import TableMetadata
from grebe.formats.iceberg.projection import (
    NameMapping,
    arrow_type,
    constant,
    missing,
    project,
    top_level_ids,
)
from grebe.formats.iceberg.schema import Field
from grebe.formats.iceberg.values import from_partition

NAME_MAPPING = "schema.name-mapping.default"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be read of every file."""

    fields: tuple[Field, ...]
    mapping: NameMapping | None
    specs: TableMetadata

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        columns = [pa.field(f.name, arrow_type(f.type)) for f in self.fields]
        return pa.schema([*columns, pa.field(WEIGHT, pa.int64(), nullable=False)])


def wanted(table: TableMetadata, fields: Sequence[Field]) -> Wanted:
    """The columns to read, with the table's name mapping parsed once."""
    mapping = NameMapping.parse(table.properties.get(NAME_MAPPING))
    return Wanted(tuple(fields), mapping, table)


def identity_partition(table: TableMetadata, file: DataFile) -> dict[int, Any]:
    """Raw values of the columns that a file's partition fixes, by column id."""
    return {
        part.source_id: file.partition.get(part.id)
        for part in table.specs.get(file.spec_id, ())
        if part.transform == "identity"
    }


def read_weighted(
    files: Files, touched: Sequence[FileWeights], want: Wanted
) -> tuple[pa.Table, int]:
    """All rows with a weight, and the number of bytes that were read."""
    read = [_read_file(files, weights, want) for weights in touched]
    tables = [table for table, _ in read]
    whole = pa.concat_tables(tables) if tables else want.schema.empty_table()
    return whole, sum(size for _, size in read)


def _read_file(files: Files, weights: FileWeights, want: Wanted) -> tuple[pa.Table, int]:
    path = weights.file.path
    try:
        with (
            files.open(path) as stream,
            pq.ParquetFile(stream, coerce_int96_timestamp_unit="us", pre_buffer=False) as parquet,
        ):
            if parquet.metadata.num_rows != weights.file.records:
                raise torn(
                    path, f"{parquet.metadata.num_rows} rows instead of {weights.file.records}"
                )
            return _read_parquet(parquet, weights, want)
    except (pa.ArrowException, OSError) as error:
        raise torn(path, error) from error


def _read_parquet(
    parquet: pq.ParquetFile, weights: FileWeights, want: Wanted
) -> tuple[pa.Table, int]:
    schema = parquet.schema_arrow
    places = top_level_ids(schema, want.mapping)
    fixed = identity_partition(want.specs, weights.file)
    used = [schema.field(places[f.id]).name for f in want.fields if f.id in places]
    groups, positions, values = _selection(parquet.metadata, weights)
    raw = parquet.read_row_groups(groups, columns=used) if used and groups else None
    if raw is not None:
        raw = raw.take(positions) if len(positions) < raw.num_rows else raw
    columns = []
    for field in want.fields:
        place = places.get(field.id)
        if raw is not None and place is not None:
            columns.append(_stored(raw, schema.field(place), field, want.mapping))
        elif field.id in fixed:
            value = from_partition(field.type, fixed[field.id])
            columns.append(constant(field, value, len(values)))
        else:
            columns.append(missing(field, len(values)))
    table = pa.Table.from_arrays([*columns, pa.array(values, pa.int64())], schema=want.schema)
    return table, _chunk_bytes(parquet.metadata, groups, used)


def _selection(
    metadata: pq.FileMetaData, weights: FileWeights
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


def _stored(raw: pa.Table, part: pa.Field, want: Field, mapping: NameMapping | None) -> pa.Array:
    column = raw.column(raw.schema.get_field_index(part.name)).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    inner = None if mapping is None else mapping.inside(part.name)
    return project(column, part, want, inner)


def _chunk_bytes(metadata: pq.FileMetaData, groups: list[int], used: list[str]) -> int:
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
