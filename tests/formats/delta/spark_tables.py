"""Delta tables by Spark, for single cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from formats.contract.oracle import Bag, bag, difference
from formats.contract.replay import arrow_of
from grebe import thresholds
from grebe.formats.base import Changes
from grebe.formats.delta.source import DeltaSource
from grebe.formats.files import DriverFiles
from grebe.model import Reason, TableName, Version, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkFolder:
    """One table in a folder, by the SQL that is done to it."""

    spark: SparkSession
    path: Path

    @staticmethod
    def create(
        spark: SparkSession,
        path: Path,
        columns: str = "id BIGINT, v STRING",
        tail: str = "",
        **settings: str,
    ) -> SparkFolder:
        table = SparkFolder(spark, path)
        listed = ", ".join(
            f"'delta.{key.replace('__', '.')}' = '{value}'" for key, value in settings.items()
        )
        properties = f" TBLPROPERTIES ({listed})" if listed else ""
        table.sql(f"CREATE TABLE {{t}} ({columns}) USING delta{tail}{properties}")
        return table

    def sql(self, *statements: str) -> Version:
        """The version after the statements, in which {t} is the table."""
        for text in statements:
            self.spark.sql(text.replace("{t}", f"delta.`{self.path}`")).collect()
        return self.source().head().version

    def source(self, budget: int = thresholds.DRIVER_BYTES) -> DeltaSource:
        name = TableName("folder", "cases", self.path.name)
        return DeltaSource(
            name, str(self.path), DriverFiles(), spark=lambda: self.spark, driver_budget=budget
        )

    def rows(self, version: Version, columns: Sequence[str]) -> Bag:
        """The rows of a version by Delta's own reader."""
        frame = self.spark.read.format("delta").option("versionAsOf", version)
        return bag(frame.load(str(self.path)).toArrow(), columns)

    def refused(self, after: Version, upto: Version) -> Reason | None:
        source = self.source()
        columns = [column.id for column in source.schema_at(upto).columns]
        return source.unreadable(Window(after, upto), columns)

    def check(self, after: Version, upto: Version, source: DeltaSource | None = None) -> str:
        """The way by which a window was read, after it was compared with both versions."""
        changes = self.changes(after, upto, source)
        source = source or self.source()
        for version in (after, upto):
            columns = source.schema_at(version).columns
            rows = source.read_at(version, [column.id for column in columns]).toArrow()
            assert bag(rows) == self.rows(version, [column.name for column in columns]), version
        names = [column.name for column in source.schema_at(upto).columns]
        expected = difference(self.rows(upto, names), self.rows(after, names))
        assert bag(arrow_of(changes)) == expected, (after, upto, changes.way)
        return changes.way

    def changes(self, after: Version, upto: Version, source: DeltaSource | None = None) -> Changes:
        source = source or self.source()
        columns = [column.id for column in source.schema_at(upto).columns]
        return source.changes(Window(after, upto), columns)
