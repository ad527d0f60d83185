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
from grebe.formats.near_rows import FileRows, NearKeys, rows_of_file
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


def read_live(
    files: Files, live: Sequence[FileWeights[DataFile]], want: WantedRows, near: NearKeys | None
) -> pa.Table:
    """The live rows of some files, without weights; of those near some keys, no others."""
    schema = want.schema.remove(want.schema.get_field_index(WEIGHT))
    parts: list[pa.Table] = []
    for weights in live:
        path = weights.file.path
        try:
            with (
                files.open(path) as stream,
                pq.ParquetFile(
                    stream, coerce_int96_timestamp_unit="us", pre_buffer=False
                ) as opened,
            ):
                if opened.metadata.num_rows != weights.file.records:
                    rows = opened.metadata.num_rows
                    raise torn(path, f"{rows} rows instead of {weights.file.records}")
                parts += rows_of_file(_file_rows(opened, weights, want, schema, near), near)
        except (pa.ArrowException, OSError) as error:
            raise torn(path, error) from error
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _file_rows(
    parquet: pq.ParquetFile,
    weights: FileWeights[DataFile],
    want: WantedRows,
    schema: pa.Schema,
    near: NearKeys | None,
) -> FileRows:
    own = parquet.schema_arrow
    places = top_level_ids(own, want.mapping)
    fixed = identity_partition(want.specs, weights.file)

    def read(group: int, wanted: Sequence[int]) -> list[pa.Array]:
        fields = [want.fields[place] for place in wanted]
        used = [own.field(places[f.id]).name for f in fields if f.id in places]
        raw = parquet.read_row_groups([group], columns=used) if used else None
        count = parquet.metadata.row_group(group).num_rows
        return [_column(raw, own, places, fixed, field, want.mapping, count) for field in fields]

    ids = {field.name: field.id for field in want.fields}
    place = None if near is None else places.get(ids[near.column])
    name = None if place is None else own.field(place).name
    return FileRows(parquet, weights, schema, read, name)


def _column(  # noqa: PLR0913  # where a value comes from has that many sources
    raw: pa.Table | None,
    own: pa.Schema,
    places: dict[int, int],
    fixed: dict[int, Any],
    field: IcebergField,
    mapping: NameMapping | None,
    count: int,
) -> pa.Array:
    place = places.get(field.id)
    if raw is not None and place is not None:
        return _stored(raw, own.field(place), field, mapping)
    if field.id in fixed:
        return constant(field, from_partition(field.type, fixed[field.id]), count)
    return missing(field, count)


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
    columns = [
        _column(raw, schema, places, fixed, field, want.mapping, len(values))
        for field in want.fields
    ]
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
