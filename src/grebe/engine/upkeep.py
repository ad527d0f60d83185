"""Upkeep of storage tables, off the critical path: many small refreshes leave many small files."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from grebe import thresholds
from grebe.engine.compiled_view import CompiledView
from grebe.engine.tables import Tables
from grebe.formats.base import VersionStats
from grebe.stored_properties import KEYS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


log = logging.getLogger(__name__)


LEAST: Final = KEYS["least_files"]
"""The property that says how many files a compaction left, where it left many."""


def is_due(stats: VersionStats, least: int = 0) -> bool:
    """Whether metadata says that a table has fallen into small files, more than the least it had.

    >>> is_due(VersionStats(None, thresholds.UPKEEP_FILES, thresholds.UPKEEP_FILES * 1000, {}))
    True
    >>> is_due(VersionStats(None, thresholds.UPKEEP_FILES - 1, 1000, {})), is_due(VersionStats(None, 99, 99 << 30, {}))
    (False, False)
    >>> is_due(VersionStats(None, 200, 1000, {}), 199)
    False
    """
    return (
        stats.files >= least + thresholds.UPKEEP_FILES
        and stats.bytes < stats.files * thresholds.UPKEEP_BYTES
    )


def keep_up(view: CompiledView, tables: Tables, session: Callable[[], SparkSession]) -> bool:
    """True when the view's storage table was compacted. A failure harms nobody: it is told.

    Nobody has to wait for it: a refresh that meets the compaction applies itself again on top.
    """
    try:
        spark = session()
        stats = _stats(view, tables, spark)
        if not is_due(stats) or not is_due(stats, _least(view, tables, spark)):
            return False
        tables.storage(view.storage_name, spark).compact()
        left = _stats(view, tables, spark).files
        if (
            left > thresholds.UPKEEP_FILES // 2
        ):  # a file for each partition, say: not to be tried every time
            tables.keep(view.storage_name, lambda: spark, {LEAST: str(left)})
    except Exception:  # the rows are right either way; the next refresh looks again
        log.warning('the files of view "%s" stay as they are', view.name, exc_info=True)
        return False
    return True


def _stats(view: CompiledView, tables: Tables, spark: SparkSession) -> VersionStats:
    position = tables.position(view.storage_name, lambda: spark)
    if position is None or position.version is None:
        return VersionStats(0, 0, 0, {})
    source = tables.source(view.storage_name, lambda: spark)
    return source.version_stats(position.version, [])


def _least(view: CompiledView, tables: Tables, spark: SparkSession) -> int:
    found = tables.properties(view.storage_name, lambda: spark) or {}
    return int(found.get(LEAST, "0"))
