"""Positions of files as Spark sees them: paths in one spelling, weights as rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from grebe.formats.files import normal
from grebe.formats.weights import FileWeights

if TYPE_CHECKING:
    from pyspark.sql import Column

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

    names = [file_name(path) for path in paths]
    if len(set(names)) == len(names) and all(_PLAIN.fullmatch(name) for name in names):
        return sf.col("_metadata.file_name"), file_name
    return normal_path(sf.col("_metadata.file_path")), normal


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
            "__path": pa.array(paths, pa.string()).dictionary_encode().cast(pa.string()),
            "__pos": pa.array(places, pa.int64()),
            "__mark": pa.array(weights, pa.int64()),
        }
    )
