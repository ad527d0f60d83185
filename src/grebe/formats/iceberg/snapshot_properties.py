"""Snapshot properties of a session: on for one statement, never left behind."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from grebe.formats.session_settings import session_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "spark.sql.iceberg.snapshot-property."


def snapshot_properties(
    session: SparkSession, properties: Mapping[str, str]
) -> AbstractContextManager[None]:
    """A block in which every Iceberg commit of the session carries the properties."""
    return session_settings(session, {PREFIX + key: value for key, value in properties.items()})
