"""Small Iceberg tables for single cases, and a source that says which files it opened."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from formats.contract.adapters import spark_properties
from formats.contract.oracle import Bag, bag, difference
from formats.contract.replay import arrow_of
from formats.recording_files import RecordingFiles
from grebe import thresholds
from grebe.formats.base import Changes
from grebe.formats.iceberg.locators import locator_of
from grebe.formats.iceberg.source import IcebergSource
from grebe.model import TableName, Version, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG, SCHEMA = "lake", "cases"
_numbers = itertools.count()


@dataclass
class Table:
    """One table, by the SQL that is done to it."""

    spark: SparkSession
    name: TableName
    files: RecordingFiles = field(default_factory=RecordingFiles)

    @staticmethod
    def create(
        spark: SparkSession,
        columns: str = "id BIGINT, v STRING",
        *,
        tail: str = "",
        catalog: str = CATALOG,
        **properties: str,
    ) -> Table:
        """An empty table, v3 and merge-on-read unless told otherwise."""
        name = TableName(catalog, SCHEMA, f"c{next(_numbers)}")
        modes = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
        chosen = {"format-version": "3", **modes}
        chosen |= {key.replace("__", "-").replace("_", "."): v for key, v in properties.items()}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in chosen.items())
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.{SCHEMA}").collect()
        table = Table(spark, name)
        table.sql(f"CREATE TABLE {{t}} ({columns}) USING iceberg {tail} TBLPROPERTIES ({listed})")
        return table

    def sql(self, text: str) -> Version:
        """The version after a statement."""
        self.spark.sql(text.replace("{t}", self.name.quoted())).collect()
        return self.source().head().version

    def call(self, procedure: str, **arguments: str) -> Version:
        """The version after a procedure of Iceberg's."""
        target = f"table => '{self.name.schema}.{self.name.name}'"
        rest = "".join(f", {key} => {value}" for key, value in arguments.items())
        return self.sql(f"CALL {self.name.catalog}.system.{procedure}({target}{rest})")

    def source(self, budget: int = thresholds.DRIVER_BYTES) -> IcebergSource:
        """A source that knows nothing yet."""
        properties = spark_properties(self.spark, self.name.catalog)
        locator = locator_of(self.name.catalog, properties, lambda: self.spark)
        return IcebergSource(
            self.name, locator, self.files, spark=lambda: self.spark, driver_budget=budget
        )

    def checked(
        self,
        window: Window,
        columns: Sequence[int] = (1, 2),
        *,
        budget: int = thresholds.DRIVER_BYTES,
    ) -> Changes:
        """The changes of a window, after a comparison with what Iceberg's own reader gives."""
        source = self.source(budget)
        changes = source.changes(window, columns)
        expected = self.rows(window.upto, columns)
        if window.after is not None:
            expected = difference(expected, self.rows(window.after, columns))
        assert bag(arrow_of(changes)) == expected
        return changes

    def rows(self, version: Version, columns: Sequence[int] = (1, 2)) -> Bag:
        """The rows of a version."""
        return bag(self.source().read_at(version, columns).toArrow())

    def folder(self) -> Path:
        """Where the table's files are."""
        location = self.source()._refreshed().location
        return Path(location.removeprefix("file:")).parent.parent
