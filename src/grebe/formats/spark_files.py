"""Positions of files as Spark sees them: paths in one spelling, weights as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from grebe.formats.files import normal
from grebe.formats.weights import FileWeights

if TYPE_CHECKING:
    from pyspark.sql import Column


def normal_path(path: Column) -> Column:
    """`files.normal` of an escaped location, in Spark. A plus sign stands for itself in a path."""
    from pyspark.sql import functions as sf

    decoded = sf.url_decode(sf.replace(path, sf.lit("+"), sf.lit("%2B")))
    bare = sf.regexp_replace(decoded, r"^[A-Za-z][A-Za-z0-9+.-]*:", "")
    return sf.concat(sf.lit("/"), sf.regexp_replace(bare, "^/+", ""))


def mark_table(touched: Sequence[FileWeights[Any]]) -> pa.Table:
    """One row per position that has another weight than the rest of its file."""
    paths: list[str] = []
    places: list[int] = []
    weights: list[int] = []
    for entry in touched:
        for weight, positions in entry.marks.items():
            paths += [normal(entry.file.path)] * len(positions)
            places += list(positions)
            weights += [weight] * len(positions)
    return pa.table(
        {
            "__path": pa.array(paths, pa.string()).dictionary_encode().cast(pa.string()),
            "__pos": pa.array(places, pa.int64()),
            "__mark": pa.array(weights, pa.int64()),
        }
    )
