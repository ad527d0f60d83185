"""Rows of a state as a Spark frame: plain files by Spark itself, the rest through DuckDB.

No `_jvm`, no RDD: everything here also runs over Spark Connect.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyroaring import BitMap64

from grebe import thresholds
from grebe.errors import SourceError
from grebe.formats.base import WEIGHT
from grebe.formats.ducklake.catalog_rows import Table, refuse_plain
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.duck_rows import rows_query
from grebe.formats.ducklake.schema import LakeField, selected, spark_text
from grebe.formats.ducklake.state import (
    LakeFile,
    Reading,
    TableState,
    deleted_positions,
    divided,
    earlier_types,
    name_mappings,
    steady_names,
)
from grebe.formats.files import escape_glob, local_path
from grebe.formats.frames import to_frame
from grebe.formats.spark_files import (
    BASE,
    MARK,
    PATH,
    POS,
    mark_table,
    names_tell,
    place_of_rows,
    without,
)
from grebe.formats.weights import FileWeights, Weights
from grebe.program.duckdb_text import literal
from grebe.sql_text import made, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

NONE = BitMap64()

_FIELD_ID = "parquet.field.id"
_BY_ID = "spark.sql.parquet.fieldId.read.enabled"


@dataclass(frozen=True, slots=True)
class FileSide:
    """Some files of a state that count with a sign, and the columns that are read of them."""

    table: Table
    """The table under the name that it has in the state."""
    state: TableState
    files: Sequence[LakeFile]
    fields: Sequence[LakeField]
    sign: int


def read_weighted(
    spark: SparkSession, session: Session, sides: Sequence[FileSide], names: Sequence[str]
) -> DataFrame:
    """All rows of the sides with their weights, in the names given; nothing runs yet."""
    table = sides[0].table
    earlier, mappings = earlier_types(session, table), name_mappings(session, table)
    known_names = steady_names(session, table)
    # Spark finds columns by id, but skips row groups by name: only where that is the same column's.
    steady = {
        field.id: field.name
        for field in sides[0].fields
        if field.id in known_names and not field.name.startswith("_")
    }
    readings = [divided(s.state, s.files, s.fields, earlier, mappings) for s in sides]
    groups: dict[int | None, Weights[LakeFile]] = {}
    for side, reading in zip(sides, readings, strict=True):
        deleted = deleted_positions(session, table, side.state, reading.native)
        for file in reading.native:
            weights = groups.setdefault(file.mapping, Weights())
            known = replace(file, path=as_spark_spells(file.path))
            weights.copy(known, side.sign, deleted.get(file.id, NONE))
    frames = [
        _native(
            spark,
            weights,
            sides[0].fields,
            names,
            steady if mapping is None else mappings.get(mapping),
            by_id=mapping is None,
        )
        for mapping, weights in groups.items()
        if weights.touched()
    ]
    frames += _special(spark, session, sides, readings, names)
    if not frames:
        return _empty(spark, sides[0].fields, names)
    return reduce(lambda left, right: left.unionAll(right), frames)


def as_spark_spells(path: str) -> str:
    """A path of the catalog as Spark gives it back: rows are found again by their file's path.

    >>> as_spark_spells("/lake//data/./t/x.parquet"), as_spark_spells("s3://lake//t/x.parquet")
    ('/lake/data/t/x.parquet', 's3://lake/t/x.parquet')
    """
    local = local_path(path)
    if local is not None:
        # Links stay what they are called: Spark does not follow them in a path.
        return "/" + os.path.normpath(Path.cwd() / local).lstrip("/")
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{re.sub('/+', '/', rest)}"


def _native(
    spark: SparkSession,
    weights: Weights[LakeFile],
    fields: Sequence[LakeField],
    names: Sequence[str],
    mapping: Mapping[int, str] | None,
    *,
    by_id: bool,
) -> DataFrame:
    """Rows of plain files, read from just those files, by field id or by the names in a file."""
    from pyspark.sql import functions as sf
    from pyspark.sql.types import IntegerType, StructField, StructType

    spark.conf.set(_BY_ID, "true")
    named = mapping or {}
    columns = [
        named.get(f.id, made(made(f"c{i}"))) if by_id else named[f.id] for i, f in enumerate(fields)
    ]
    shape = StructType(
        [
            StructField(
                column,
                _spark_type(field, by_id=by_id),
                True,
                {_FIELD_ID: field.id} if by_id else {},
            )
            for column, field in zip(columns, fields, strict=True)
        ]
        or [StructField(made("none"), IntegerType(), True, {_FIELD_ID: -1})]
    )
    touched = weights.touched()
    reader = spark.read.schema(shape).option("datetimeRebaseMode", "CORRECTED")
    reader = reader.option("int96RebaseMode", "CORRECTED").option("recursiveFileLookup", "true")

    def read(entries: Sequence[FileWeights[LakeFile]]) -> DataFrame:
        return reader.parquet(*[escape_glob(entry.file.path) for entry in entries])

    def weighted(rows: DataFrame, weight: Column) -> DataFrame:
        items = [sf.col(quote(c)).alias(name) for c, name in zip(columns, names, strict=True)]
        return rows.select(*items, weight.cast("bigint").alias(WEIGHT))

    # Files whose rows all count alike are only read: nobody asks for each row where it lies.
    frames = [
        weighted(read([e for e in touched if not e.marks and e.base == base]), sf.lit(base))
        for base in sorted({entry.base for entry in touched if not entry.marks})
    ]
    marked = [entry for entry in touched if entry.marks]
    live = [entry for entry in marked if _is_live(entry)]
    gone = [(entry.file.path, entry.marks[-1]) for entry in live]
    few = 0 < sum(len(positions) for _, positions in gone) <= thresholds.DELETED_ROWS
    if few and names_tell([path for path, _ in gone]):
        frames.append(weighted(without(spark, read(live), gone), sf.lit(1)))
        marked = [entry for entry in marked if not _is_live(entry)]
    if marked:
        frames.append(
            weighted(*_marked(spark, read(marked), marked, columns)).where(f"{quote(WEIGHT)} <> 0")
        )
    return reduce(lambda left, right: left.unionAll(right), frames)


def _is_live(entry: FileWeights[LakeFile]) -> bool:
    """Whether the rows of a file count once, and those that are marked not at all."""
    return entry.base == 1 and entry.marks.keys() == {-1}


def _marked(
    spark: SparkSession,
    files: DataFrame,
    entries: Sequence[FileWeights[LakeFile]],
    columns: Sequence[str],
) -> tuple[DataFrame, Column]:
    """Rows of files of which some positions count otherwise, and the weight of each."""
    from pyspark.sql import functions as sf

    where, key = place_of_rows([entry.file.path for entry in entries])
    rows = files.select(
        *[quote(column) for column in columns],
        where.alias(PATH),
        sf.col("_metadata.row_index").alias(POS),
    )
    listed = spark.createDataFrame(
        [(key(entry.file.path), entry.base) for entry in entries],
        f"{PATH} string, {BASE} bigint",
    )
    rows = rows.join(sf.broadcast(listed), PATH, "left")
    # A file that is read and not listed is one whose path is spelled in two ways.
    lost = sf.raise_error(sf.concat(sf.lit("file without a weight: "), sf.col(PATH)))
    weight = sf.coalesce(sf.col(BASE), lost.cast("bigint"))
    marks = spark.createDataFrame(mark_table(entries, key))
    rows = rows.join(marks, [PATH, POS], "left")
    return rows, weight + sf.coalesce(sf.col(MARK), sf.lit(0))


def _spark_type(field: LakeField, *, by_id: bool) -> DataType:
    """The Spark type, with the ids of nested parts in its metadata."""
    from pyspark.sql import types as st

    match field.type:
        case "struct":
            return st.StructType(
                [
                    st.StructField(
                        part.name,
                        _spark_type(part, by_id=by_id),
                        True,
                        {_FIELD_ID: part.id} if by_id else {},
                    )
                    for part in field.parts
                ]
            )
        case "list":
            return st.ArrayType(_spark_type(field.parts[0], by_id=by_id), True)
        case "map":
            key, value = field.parts
            return st.MapType(_spark_type(key, by_id=by_id), _spark_type(value, by_id=by_id), True)
        case _:
            return st.DataType.fromDDL(spark_text(field))


def _special(
    spark: SparkSession,
    session: Session,
    sides: Sequence[FileSide],
    readings: Sequence[Reading],
    names: Sequence[str],
) -> list[DataFrame]:
    """Rows that only DuckLake's own reader reads right, and inlined ones."""
    frames = []
    types = {name: spark_text(f) for name, f in zip(names, sides[0].fields, strict=True)}
    for side, reading in zip(sides, readings, strict=True):
        if not reading.special and not side.state.inlined:
            continue
        items = selected(side.fields, names)
        weight = f'CAST({side.sign} AS BIGINT) AS "{WEIGHT}"'
        items = f"{items}, {weight}" if items else weight
        query = rows_query(session, side.table, side.state, reading.special, items)
        if sum(file.size for file in reading.special) <= thresholds.DUCK_BYTES:
            frames.append(to_frame(spark, session.arrow(query), {**types, WEIGHT: "bigint"}))
        else:
            frames.append(_staged(spark, session, side.table, query, {**types, WEIGHT: "bigint"}))
    return frames


def _staged(
    spark: SparkSession, session: Session, table: Table, query: str, types: Mapping[str, str]
) -> DataFrame:
    """The rows of a query as Parquet files beside the table's own, gone at the process's end."""
    refuse_plain(session, f'table "{table.schema}.{table.name}"')
    root = local_path(table.folder)
    if root is None:
        raise SourceError(
            f'table "{table.schema}.{table.name}" holds many rows that only DuckDB can read',
            detail=f"they cannot be staged in {table.folder}",
            hint="call ducklake_flush_inlined_data and ducklake_rewrite_data_files",
        )
    folder = Path(root) / f"__grebe_stage_{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session.rows(
        f"COPY ({query}) TO {literal(str(folder / 'rows.parquet'))}"
        " (FORMAT parquet, ROW_GROUP_SIZE 122880)"
    )
    shape = ", ".join(f"{quote(name)} {kind}" for name, kind in types.items())
    return spark.read.schema(shape).parquet(escape_glob(str(folder)))


def _empty(spark: SparkSession, fields: Sequence[LakeField], names: Sequence[str]) -> DataFrame:
    items = [
        f"CAST(NULL AS {spark_text(field)}) AS {quote(name)}"
        for field, name in zip(fields, names, strict=True)
    ]
    items.append(f"CAST(0 AS BIGINT) AS {quote(WEIGHT)}")
    return spark.sql(f"SELECT {', '.join(items)} WHERE false")
