"""Upkeep of storage tables, off the critical path: many small refreshes leave many small files."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from grebe.engine.tables import Tables
from grebe.engine.views import View
from grebe.formats.base import VersionStats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES: Final = 32
"""Files from which a table is looked at: every refresh adds one or two."""
SMALL_BYTES: Final = 16 << 20
"""Files that are larger on average are left as they are."""

log = logging.getLogger(__name__)


def is_due(stats: VersionStats) -> bool:
    """Whether metadata says that a table has fallen into small files.

    >>> is_due(VersionStats(None, FILES, FILES * 1000, {}))
    True
    >>> is_due(VersionStats(None, FILES - 1, 1000, {})), is_due(VersionStats(None, 99, 99 << 30, {}))
    (False, False)
    """
    return stats.files >= FILES and stats.bytes < stats.files * SMALL_BYTES


def keep_up(view: View, tables: Tables, spark: SparkSession) -> bool:
    """True when the view's storage table was compacted. A failure harms nobody: it is told.

    Nobody has to wait for it: a refresh that meets the compaction applies itself again on top.
    """
    try:
        position = tables.position(view.storage_name, lambda: spark)
        if position is None or position.version is None:
            return False
        source = tables.source(view.storage_name, lambda: spark)
        if not is_due(source.version_stats(position.version, [])):
            return False
        tables.storage(view.storage_name, spark).compact()
    except Exception:  # the rows are right either way; the next refresh looks again
        log.warning('the files of view "%s" stay as they are', view.name, exc_info=True)
        return False
    return True
