"""Settings of a Spark session for the length of a block: the session is used again for other work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITHOUT_CONSTRAINTS: Final = {"spark.sql.constraintPropagation.enabled": "false"}
"""Spark infers no filters from others: for plans with the shape of a refresh or a comparison.

What it infers grows exponentially with the columns that a plan renames, until memory is gone. And
it takes the answer of an EXISTS or IN that is a column for an equation, which it cannot carry through
a UNION ALL ("key not found"), as two of its other rules cannot (SPARK-59042, `session.BROKEN_RULES`). A
program runs in somebody else's session, so there the plan keeps such unions apart itself
(`compiler.plan.spark_marks`).
"""


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
