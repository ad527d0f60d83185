"""Positions of files as Spark sees them: paths in one spelling, weights as rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from grebe.formats.files import normal
from grebe.formats.frames import to_frame
from grebe.formats.weights import FileWeights
from grebe.sql_text import made

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PATH, POS, BASE, MARK, FILE = (made(word) for word in ("path", "pos", "base", "mark", "file"))
"""Columns beside those of a file: where a row lies, and what it counts."""
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")


def normal_path(path: Column) -> Column:
    """`files.normal` of an escaped location, in Spark. A plus sign stands for itself in a path."""
    from pyspark.sql import functions as sf

    decoded = sf.url_decode(sf.replace(path, sf.lit("+"), sf.lit("%2B")))
    bare = sf.regexp_replace(decoded, r"^[A-Za-z][A-Za-z0-9+.-]*:", "")
    return sf.concat(sf.lit("/"), sf.regexp_replace(bare, "^/+", ""))


def place_of_rows(paths: Sequence[str]) -> tuple[Column, Callable[[str], str]]:
    """What tells the file of a row, in Spark and for a path: its name where that is enough.

    A name costs nothing; a path in one spelling takes longer than all else that is done with a row.
    """
    from pyspark.sql import functions as sf

    if names_tell(paths):
        return sf.col("_metadata.file_name"), file_name
    return normal_path(sf.col("_metadata.file_path")), normal


def names_tell(paths: Sequence[str]) -> bool:
    """Whether the names of files alone tell them apart, and are spelled in one way only."""
    names = [file_name(path) for path in paths]
    return len(set(names)) == len(names) and all(_PLAIN.fullmatch(name) for name in names)


def without(
    spark: SparkSession, rows: DataFrame, deleted: Sequence[tuple[str, BitMap64]]
) -> DataFrame:
    """The rows of files but those at the deleted positions of each; names must tell the files."""
    from pyspark.sql import functions as sf

    places = [np.frombuffer(found.to_array(), np.uint64) for _, found in deleted]
    names = pa.array([file_name(path) for path, _ in deleted], pa.string())
    files = np.repeat(np.arange(len(places)), [len(found) for found in places])
    marks = pa.table(
        {
            FILE: names.take(pa.array(files)),
            POS: pa.array(np.concatenate(places).astype(np.int64)),
        }
    )
    gone = to_frame(spark, marks, {FILE: "string", POS: "bigint"})
    placed = rows.withColumns(
        {FILE: sf.col("_metadata.file_name"), POS: sf.col("_metadata.row_index")}
    )
    left = placed.join(sf.broadcast(gone), [FILE, POS], "left_anti")
    return left.drop(FILE, POS)


def file_name(path: str) -> str:
    """The last part of a location."""
    return path.rpartition("/")[2]


def mark_table(touched: Sequence[FileWeights[Any]], key: Callable[[str], str] = normal) -> pa.Table:
    """One row per position that has another weight than the rest of its file, known by a key."""
    paths: list[str] = []
    places: list[int] = []
    weights: list[int] = []
    for entry in touched:
        for weight, positions in entry.marks.items():
            paths += [key(entry.file.path)] * len(positions)
            places += list(positions)
            weights += [weight] * len(positions)
    return pa.table(
        {
            PATH: pa.array(paths, pa.string()).dictionary_encode().cast(pa.string()),
            POS: pa.array(places, pa.int64()),
            MARK: pa.array(weights, pa.int64()),
        }
    )
