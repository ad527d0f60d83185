"""Footers and rows of Parquet files, read by Arrow on the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from grebe.errors import HistoryExpiredError
from grebe.formats.base import WEIGHT
from grebe.formats.files import missing, torn
from grebe.formats.parquet.listing import FileEntry, Listing
from grebe.formats.parquet.partitions import PARSE, raw_values
from grebe.formats.parquet.schema import columns_of, spark_shape
from grebe.formats.parquet_calendar import OldCalendarError, in_old_calendar
from grebe.formats.parquet_rows import chunk_bytes
from grebe.model import Column

_ARROW = {"int": pa.int32(), "bigint": pa.int64(), "date": pa.date32(), "string": pa.string()}


@contextmanager
def _opened(path: str) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us", memory_map=True) as parquet:
            yield parquet
    except FileNotFoundError as error:
        raise missing(path) from error
    except (pa.ArrowException, OSError) as error:
        raise torn(path, error) from error


def footer(root: str, path: str, size: int, time: int) -> FileEntry:
    """A file with what its footer says."""
    with _opened(f"{root}/{path}") as parquet:
        rows = parquet.metadata.num_rows
        return FileEntry(path, size, time, rows, tuple(columns_of(parquet)))


def same_as_listed(root: str, files: Sequence[FileEntry]) -> None:
    """Nothing, or HistoryExpiredError when a file is no longer the one that was listed."""
    for file in files:
        try:
            stat = Path(root, file.path).stat()
        except FileNotFoundError as error:
            raise missing(f"{root}/{file.path}") from error
        if (stat.st_size, stat.st_mtime_ns) != (file.size, file.time):
            raise HistoryExpiredError(
                f'file "{root}/{file.path}" was written again',
                detail="a version that was to be read names it as it was before",
                hint="refresh in full, and add new files instead of changing old ones",
            )


def read(
    root: str, files: Sequence[FileEntry], columns: Sequence[Column], listing: Listing
) -> tuple[pa.Table, int]:
    """All rows of some files, each with weight 1, and the number of bytes that were read.

    Raises:
        OldCalendarError: only Spark reads a file's dates right.
    """
    same_as_listed(root, files)
    shape = _shape(root, files, columns, listing)
    tables, total = [shape.empty_table()], 0
    for file in files:
        with _opened(f"{root}/{file.path}") as parquet:
            table, size = _rows(parquet, file, shape, listing)
        tables.append(table)
        total += size
    same_as_listed(root, files)
    return pa.concat_tables(tables), total


def _shape(
    root: str, files: Sequence[FileEntry], columns: Sequence[Column], listing: Listing
) -> pa.Schema:
    """The Arrow types of the columns, from the first file that has each."""
    fields = []
    for column in columns:
        kind = listing.partition_types.get(column.name)
        if kind is not None:
            fields.append(pa.field(column.name, _ARROW[kind]))
            continue
        holder = next(
            file
            for file in (*files, *listing.files)
            if any(name == column.name for name, _ in file.columns)
        )
        with _opened(f"{root}/{holder.path}") as parquet:
            fields.append(spark_shape(parquet).field(column.name))
    return pa.schema([*fields, pa.field(WEIGHT, pa.int64(), nullable=False)])


def _rows(
    parquet: pq.ParquetFile, file: FileEntry, shape: pa.Schema, listing: Listing
) -> tuple[pa.Table, int]:
    if in_old_calendar(parquet.metadata.metadata):
        raise OldCalendarError(file.path)
    stored = set(parquet.schema_arrow.names) - set(listing.partition_types)
    used = [name for name in shape.names if name in stored]
    groups = list(range(parquet.metadata.num_row_groups))
    raw = parquet.read_row_groups(groups, columns=used) if used else None
    fixed = raw_values(file.path)
    arrays = []
    for field in shape:
        text = fixed.get(field.name)
        if field.name == WEIGHT:
            arrays.append(pa.repeat(pa.scalar(1, pa.int64()), file.rows))
        elif field.name in listing.partition_types and text is not None:
            value = PARSE[listing.partition_types[field.name]](text)
            arrays.append(pa.repeat(pa.scalar(value, field.type), file.rows))
        elif raw is not None and field.name in stored:
            arrays.append(_cast(raw[field.name], field.type))
        else:
            arrays.append(pa.nulls(file.rows, field.type))
    return pa.Table.from_arrays(arrays, schema=shape), chunk_bytes(parquet.metadata, groups, used)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type.equals(kind):
        return column
    return column.cast(kind, safe=not pa.types.is_timestamp(kind))
