"""Weighted rows of touched files, read by Arrow on the driver: no Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from grebe.formats.base import WEIGHT
from grebe.formats.files import Files, torn
from grebe.formats.iceberg.conform import (
    NameMapping,
    arrow_type,
    constant,
    missing,
    project,
    top_level_ids,
)
from grebe.formats.iceberg.manifests import DataFile
from grebe.formats.iceberg.metadata import TableMetadata
from grebe.formats.iceberg.schema import IcebergField
from grebe.formats.iceberg.values import from_partition
from grebe.formats.parquet_rows import chunk_bytes, selection
from grebe.formats.weights import FileWeights

NAME_MAPPING = "schema.name-mapping.default"


@dataclass(frozen=True, slots=True)
class WantedRows:
    """What is to be read of every file."""

    fields: tuple[IcebergField, ...]
    mapping: NameMapping | None
    specs: TableMetadata

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        columns = [pa.field(f.name, arrow_type(f.type)) for f in self.fields]
        return pa.schema([*columns, pa.field(WEIGHT, pa.int64(), nullable=False)])


def wanted(table: TableMetadata, fields: Sequence[IcebergField]) -> WantedRows:
    """The columns to read, with the table's name mapping parsed once."""
    mapping = NameMapping.parse(table.properties.get(NAME_MAPPING))
    return WantedRows(tuple(fields), mapping, table)


def identity_partition(table: TableMetadata, file: DataFile) -> dict[int, Any]:
    """Raw values of the columns that a file's partition fixes, by column id."""
    return {
        part.source_id: file.partition.get(part.id)
        for part in table.specs.get(file.spec_id, ())
        if part.transform == "identity"
    }


def read_weighted(
    files: Files, touched: Sequence[FileWeights[DataFile]], want: WantedRows
) -> tuple[pa.Table, int]:
    """All rows with a weight, and the number of bytes that were read."""
    read = [_read_file(files, weights, want) for weights in touched]
    tables = [table for table, _ in read]
    whole = pa.concat_tables(tables) if tables else want.schema.empty_table()
    return whole, sum(size for _, size in read)


def _read_file(
    files: Files, weights: FileWeights[DataFile], want: WantedRows
) -> tuple[pa.Table, int]:
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
    parquet: pq.ParquetFile, weights: FileWeights[DataFile], want: WantedRows
) -> tuple[pa.Table, int]:
    schema = parquet.schema_arrow
    places = top_level_ids(schema, want.mapping)
    fixed = identity_partition(want.specs, weights.file)
    used = [schema.field(places[f.id]).name for f in want.fields if f.id in places]
    groups, positions, values = selection(parquet.metadata, weights)
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
    return table, chunk_bytes(parquet.metadata, groups, used)


def _stored(
    raw: pa.Table, part: pa.Field, want: IcebergField, mapping: NameMapping | None
) -> pa.Array:
    column = raw.column(raw.schema.get_field_index(part.name)).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    inner = None if mapping is None else mapping.inside(part.name)
    return project(column, part, want, inner)
