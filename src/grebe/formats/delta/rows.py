"""Weighted rows of a plan's files, read by Arrow on the driver: no Spark job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from grebe.formats.base import WEIGHT
from grebe.formats.delta.actions import AddedFile
from grebe.formats.delta.conform import (
    NeedsSparkError,
    arrow_type,
    constant,
    find,
    missing,
    project,
)
from grebe.formats.delta.schema import DeltaField, DeltaSchema
from grebe.formats.delta.window import DeltaWindow, Feed
from grebe.formats.files import Files, torn
from grebe.formats.near_rows import FileRows, NearKeys, rows_of_file
from grebe.formats.parquet_calendar import in_old_calendar
from grebe.formats.parquet_rows import chunk_bytes, selection
from grebe.formats.weights import FileWeights

CHANGE_TYPE = "_change_type"
_SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
_Read = tuple[pa.Table, int]


@dataclass(frozen=True, slots=True)
class WantedFileRows:
    """What is to be read of every file."""

    fields: tuple[DeltaField, ...]
    schema: DeltaSchema

    @property
    def shape(self) -> pa.Schema:
        """The Arrow schema of the result."""
        columns = [pa.field(f.name, arrow_type(f.type)) for f in self.fields]
        return pa.schema([*columns, pa.field(WEIGHT, pa.int64(), nullable=False)])


def read_weighted(files: Files, plan: DeltaWindow, want: WantedFileRows) -> _Read:
    """All rows with a weight, and the number of bytes that were read.

    Raises:
        NeedsSparkError: when only Delta's own reader makes sense of a file.
    """
    read = [_data_file(files, weights, want) for weights in plan.touched]
    read += [_feed_file(files, feed, want) for feed in plan.feeds]
    whole = pa.concat_tables([t for t, _ in read]) if read else want.shape.empty_table()
    return whole, sum(size for _, size in read)


def read_live(
    files: Files,
    live: Sequence[FileWeights[AddedFile]],
    want: WantedFileRows,
    near: NearKeys | None,
) -> pa.Table:
    """The live rows of some files, without weights; of those near some keys, no others.

    Raises:
        NeedsSparkError: when only Delta's own reader makes sense of a file.
    """
    shape = want.shape.remove(want.shape.get_field_index(WEIGHT))
    parts: list[pa.Table] = []
    for weights in live:
        path, records = weights.file.path, weights.file.records
        with _Opened(files, path) as parquet:
            if parquet.metadata.num_rows != records:
                raise torn(path, f"{parquet.metadata.num_rows} rows instead of {records}")
            parts += rows_of_file(_file_rows(parquet, weights, want, shape, near), near)
    return pa.concat_tables(parts) if parts else shape.empty_table()


def _file_rows(
    parquet: pq.ParquetFile,
    weights: FileWeights[AddedFile],
    want: WantedFileRows,
    shape: pa.Schema,
    near: NearKeys | None,
) -> FileRows:
    def read(group: int, places: Sequence[int]) -> list[pa.Array]:
        part = WantedFileRows(tuple(want.fields[place] for place in places), want.schema)
        used = _used(parquet, part)
        raw = parquet.read_row_groups([group], columns=used) if used else None
        count = parquet.metadata.row_group(group).num_rows
        return _columns(raw, weights.file.partition, part, count)

    key = [field for field in want.fields if near is not None and field.name == near.column]
    names = _used(parquet, WantedFileRows(tuple(key), want.schema))
    return FileRows(parquet, weights, shape, read, names[0] if names else None)


def feed_rows(files: Files, plan: DeltaWindow) -> list[int]:
    """The number of rows in each file of the feed."""
    found = []
    for feed in plan.feeds:
        with _Opened(files, feed.file.path) as parquet:
            found.append(parquet.metadata.num_rows)
    return found


class _Opened:
    """A Parquet file whose troubles carry its name."""

    def __init__(self, files: Files, path: str) -> None:
        self._path = path
        self._files = files

    def __enter__(self) -> pq.ParquetFile:
        self._stream = self._files.open(self._path)
        try:
            self._parquet = pq.ParquetFile(
                self._stream, coerce_int96_timestamp_unit="us", pre_buffer=False
            )
        except (pa.ArrowException, OSError) as error:
            self._stream.close()
            raise torn(self._path, error) from error
        return self._parquet

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._parquet.close()
        self._stream.close()
        if isinstance(error, pa.ArrowException | OSError):
            raise torn(self._path, error) from error


def _data_file(files: Files, weights: FileWeights[AddedFile], want: WantedFileRows) -> _Read:
    path, records = weights.file.path, weights.file.records
    with _Opened(files, path) as parquet:
        if parquet.metadata.num_rows != records:
            raise torn(path, f"{parquet.metadata.num_rows} rows instead of {records}")
        groups, positions, values = selection(parquet.metadata, weights)
        used = _used(parquet, want)
        raw = parquet.read_row_groups(groups, columns=used) if used and groups else None
        if raw is not None and len(positions) < raw.num_rows:
            raw = raw.take(positions)
        columns = _columns(raw, weights.file.partition, want, len(values))
        table = pa.Table.from_arrays([*columns, pa.array(values, pa.int64())], schema=want.shape)
        return table, chunk_bytes(parquet.metadata, groups, used)


def _feed_file(files: Files, feed: Feed, want: WantedFileRows) -> _Read:
    path = feed.file.path
    with _Opened(files, path) as parquet:
        used = [*_used(parquet, want), CHANGE_TYPE]
        raw = parquet.read(columns=used)
        kinds = pa.array(list(_SIGNS), pa.string())
        signs = pa.array([sign * feed.sign for sign in _SIGNS.values()], pa.int64())
        values = pc.take(signs, pc.index_in(raw[CHANGE_TYPE].cast(pa.string()), kinds))
        if values.null_count:
            raise torn(path, "an unknown kind of change")
        columns = _columns(raw, feed.file.partition, want, raw.num_rows)
        table = pa.Table.from_arrays([*columns, values.combine_chunks()], schema=want.shape)
        groups = list(range(parquet.metadata.num_row_groups))
        return table, chunk_bytes(parquet.metadata, groups, used)


def _used(parquet: pq.ParquetFile, want: WantedFileRows) -> list[str]:
    """The file's own names of the columns that are wanted and that it has."""
    if in_old_calendar(parquet.metadata.metadata):
        raise NeedsSparkError("dates in the calendar of an old Spark")
    parts = list(parquet.schema_arrow)
    places = [
        find(parts, field, by_number=want.schema.by_number)
        for field in want.fields
        if not want.schema.is_partition(field)
    ]
    return [parts[place].name for place in places if place is not None]


def _columns(
    raw: pa.Table | None, partition: Mapping[str, str | None], want: WantedFileRows, length: int
) -> list[pa.Array]:
    parts = [] if raw is None else list(raw.schema)
    by_number = want.schema.by_number
    columns = []
    for field in want.fields:
        if want.schema.is_partition(field):
            columns.append(constant(field, partition.get(field.physical), length))
            continue
        place = find(parts, field, by_number=by_number)
        if raw is None or place is None:
            columns.append(missing(field, length))
        else:
            whole = raw.column(place).combine_chunks()
            if isinstance(whole, pa.ChunkedArray):
                whole = pa.concat_arrays(whole.chunks)
            columns.append(project(whole, field.type, by_number=by_number))
    return columns
