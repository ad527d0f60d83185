"""How each format creates a table and spells the operations that SQL does not have in common.

A format joins the suite by one adapter and one line in `ADAPTERS`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from formats.contract.histories import (
    COMPACT,
    REWRITE_DELETES,
    REWRITE_MANIFESTS,
    UPGRADE,
    History,
    Rollback,
)
from grebe.formats.base import WEIGHT, Source
from grebe.formats.iceberg.catalog import SparkLocator, locator_of
from grebe.formats.iceberg.files import DriverFiles, SparkFiles
from grebe.formats.iceberg.source import IcebergSource
from grebe.formats.memory import MemoryTable
from grebe.model import TableName, Version, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "contract"
_numbers = itertools.count()


class Adapter(Protocol):
    """One format, or one way of writing it."""

    kind: str
    features: frozenset[str]
    both_directions: bool

    def create(self, history: History) -> TableName:
        """Make an empty table for a history."""

    def run(self, name: TableName, step: str | Rollback, pinned: Sequence[Version]) -> None:
        """Do one step."""

    def source(self, name: TableName) -> Source:
        """The table as the product reads it."""

    def other_sources(self, name: TableName) -> list[tuple[Source, set[str]]]:
        """The same table by other ways of reading, each with what its `way` may say."""


@dataclass(frozen=True, slots=True)
class IcebergAdapter:
    """Iceberg in one format version and one mode of writing deletes."""

    spark: SparkSession
    kind: str
    format_version: int
    mode: str
    catalog: str = "lake"
    both_directions: bool = True
    features: frozenset[str] = frozenset(
        {"compact", "upgrade", "rollback", "columns", "evolve-partitions"}
    )

    def create(self, history: History) -> TableName:
        number = next(_numbers)
        name = TableName(self.catalog, SCHEMA, f"t{number}_{history.name.replace(' ', '_')}")
        properties = {
            "format-version": str(self.format_version),
            "commit.manifest-merge.enabled": "false",
            **{f"write.{verb}.mode": self.mode for verb in ("delete", "update", "merge")},
            **history.properties,
        }
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        partitioned = f" PARTITIONED BY ({history.partitioned})" if history.partitioned else ""
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self.catalog}.{SCHEMA}").collect()
        self.spark.sql(
            f"CREATE TABLE {name.quoted()} ({history.columns}) USING iceberg{partitioned}"
            f" TBLPROPERTIES ({listed})"
        ).collect()
        return name

    def run(self, name: TableName, step: str | Rollback, pinned: Sequence[Version]) -> None:
        target = f"table => '{SCHEMA}.{name.name}'"
        system = f"CALL {self.catalog}.system"
        if isinstance(step, Rollback):
            snapshot = pinned[step.to].partition("@")[0]
            text = f"{system}.set_current_snapshot({target}, snapshot_id => {snapshot})"
        else:
            options = "options => map('rewrite-all', 'true')"
            text = {
                COMPACT: f"{system}.rewrite_data_files({target}, {options})",
                REWRITE_DELETES: f"{system}.rewrite_position_delete_files({target}, {options})",
                REWRITE_MANIFESTS: f"{system}.rewrite_manifests({target})",
                UPGRADE: "ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')",
            }.get(step, step)
        self.spark.sql(text.replace("{t}", name.quoted())).collect()

    def source(self, name: TableName) -> IcebergSource:
        locator = locator_of(self.catalog, spark_properties(self.spark, self.catalog))
        return IcebergSource(name, locator, DriverFiles(), spark=self._session)

    def other_sources(self, name: TableName) -> list[tuple[Source, set[str]]]:
        """Rows and metadata by Spark; copies of files are the same in both modes of writing."""
        if self.mode == "copy-on-write":
            return []
        locator = SparkLocator(self._session)
        source = IcebergSource(name, locator, SparkFiles(self._session), spark=self._session)
        return [(source, {"end-to-end/spark", "by-commit/spark"})]

    def _session(self) -> SparkSession:
        return self.spark


@dataclass(slots=True)
class MemoryAdapter:
    """Tables in memory, which get each version's content from a scratch table."""

    scratch: IcebergAdapter
    kind: str = "memory"
    both_directions: bool = True
    features: frozenset[str] = frozenset()
    tables: dict[TableName, MemoryTable] = field(default_factory=dict)

    def create(self, history: History) -> TableName:
        name = self.scratch.create(history)
        columns = self.scratch.source(name).head().schema.columns
        self.tables[name] = MemoryTable(name, columns, spark=lambda: self.scratch.spark)
        return name

    def run(self, name: TableName, step: str | Rollback, pinned: Sequence[Version]) -> None:
        self.scratch.run(name, step, pinned)
        now = self.scratch.source(name)
        head = now.head()
        rows = now.changes(Window(None, head.version), [c.id for c in head.schema.columns]).arrow
        assert rows is not None
        copies = np.repeat(np.arange(rows.num_rows), rows[WEIGHT].to_numpy())
        self.tables[name].write(rows.drop_columns([WEIGHT]).take(pa.array(copies)))

    def source(self, name: TableName) -> Source:
        return self.tables[name]

    def other_sources(self, name: TableName) -> list[tuple[Source, set[str]]]:
        return []


def spark_properties(spark: SparkSession, catalog: str) -> dict[str, str]:
    """The properties by which Spark knows a catalog."""
    prefix = f"spark.sql.catalog.{catalog}."
    keys = ("type", "uri", "warehouse")
    found = {key: spark.conf.get(prefix + key, None) for key in keys}
    return {key: value for key, value in found.items() if value}


def iceberg(kind: str, version: int, mode: str) -> Callable[[SparkSession], Adapter]:
    return lambda spark: IcebergAdapter(spark, kind, version, mode)


ADAPTERS: dict[str, Callable[[SparkSession], Adapter]] = {
    "iceberg-v2-cow": iceberg("iceberg-v2-cow", 2, "copy-on-write"),
    "iceberg-v2-mor": iceberg("iceberg-v2-mor", 2, "merge-on-read"),
    "iceberg-v3-cow": iceberg("iceberg-v3-cow", 3, "copy-on-write"),
    "iceberg-v3-mor": iceberg("iceberg-v3-mor", 3, "merge-on-read"),
    "memory": lambda spark: MemoryAdapter(IcebergAdapter(spark, "", 2, "copy-on-write")),
}
