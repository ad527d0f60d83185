"""All rows of a version, read by Spark from the files that the log names, without a question to Delta.

Delta's own reader asks its log by Spark jobs while a query is planned, about three for every version and one for
every scan: two of the three seconds that a small refresh took. The log is read here anyway.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyroaring import BitMap64

from grebe import thresholds
from grebe.formats.delta.actions import AddedFile
from grebe.formats.delta.log_state import LogState
from grebe.formats.delta.schema import DeltaField, DeltaSchema, without_identity
from grebe.formats.delta.spark_rows import named, stored_columns
from grebe.formats.spark_files import file_name, without

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEATURES: Final = frozenset(
    {"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
)
"""What a table may ask of its readers; types that changed, say, are left to Delta."""
_LISTED_AT_ONCE = "spark.sql.sources.parallelPartitionDiscovery.threshold"
Live = Sequence[tuple[AddedFile, BitMap64]]
"""Files with the deleted positions of each."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def suits(state: LogState, root: str) -> bool:
    """Whether files and their deleted positions are all there is to a version.

    A file's name must say which it is, and be one that Spark does not take for hidden; no column may
    have the name by which Spark gives it.
    """
    files = list(state.files.values())
    schema = DeltaSchema.of(state.metadata)
    names = [file_name(file.path) for file in files]
    below = [part for f in files for part in f.path.removeprefix(root).split("/")[:-1] if part]
    return (
        0 < len(files) <= thresholds.LIVE_FILES
        and sum(f.vector.cardinality for f in files if f.vector) <= thresholds.DELETED_ROWS
        and state.protocol.reader <= FEATURES
        and not schema.by_number
        and not schema.partition_columns
        and not any(map(without_identity, schema.fields))
        and all(field.physical.casefold() != "_metadata" for field in schema.fields)
        and len(set(names)) == len(names)
        and all(_PLAIN.fullmatch(name) for name in names)
        and not any(part.startswith(("_", ".")) for part in below)
    )


def read_live(
    spark: SparkSession,
    deleted: Live,
    schema: DeltaSchema,
    fields: Sequence[DeltaField],
) -> DataFrame:
    """The rows of files, but those at the deleted positions of each."""
    spark.conf.set(_LISTED_AT_ONCE, str(thresholds.LIVE_FILES))
    whole = [file.path for file, positions in deleted if not positions]
    marked = [(file, positions) for file, positions in deleted if positions]
    frames = []
    if whole:
        frames.append(named(stored_columns(spark, whole, schema, fields), fields))
    if marked:
        rows = stored_columns(spark, [file.path for file, _ in marked], schema, fields)
        gone = [(file.path, positions) for file, positions in marked]
        frames.append(named(without(spark, rows, gone), fields))
    return reduce(lambda left, right: left.unionAll(right), frames)
