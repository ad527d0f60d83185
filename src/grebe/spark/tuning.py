"""Settings of a Spark session for the length of a block: the session is used again for other work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def tune(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """A block with the settings, and the session as it was afterwards."""
    before = {key: spark.conf.get(key) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, former in before.items():
            spark.conf.set(key, former or "")
