"""How each format creates a table and spells the operations that SQL does not have in common.

A format joins the suite by one adapter and one line in `ADAPTERS`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from formats.contract.ducklake import DuckLakeAdapter
from formats.contract.histories import (
    COMPACT,
    REWRITE_DELETES,
    REWRITE_MANIFESTS,
    UPGRADE,
    History,
    Rollback,
)
from formats.memory import MemoryTable
from grebe.formats.base import WEIGHT, Source
from grebe.formats.delta.source import DeltaSource
from grebe.formats.files import DriverFiles, SparkFiles
from grebe.formats.iceberg.locators import SparkLocator, locator_of
from grebe.formats.iceberg.source import IcebergSource
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

    def own_reader(self, name: TableName) -> Source | None:
        """The table read by its format's own reader, where the product has one besides."""


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
        {"compact", "upgrade", "rollback", "columns", "evolve-partitions", "odd names"}
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

    def own_reader(self, name: TableName) -> Source | None:
        return None

    def _session(self) -> SparkSession:
        return self.spark


@dataclass(slots=True)
class MemoryAdapter:
    """Tables in memory, which get each version's content from a scratch table."""

    scratch: IcebergAdapter
    kind: str = "memory"
    both_directions: bool = True
    features: frozenset[str] = frozenset({"odd names"})
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

    def own_reader(self, name: TableName) -> Source | None:
        return None


@dataclass(slots=True)
class DeltaAdapter:
    """Delta with some of its features on: tables of Spark's own catalog, each in a folder."""

    spark: SparkSession
    kind: str
    properties: Mapping[str, str]
    both_directions: bool = True
    roots: dict[TableName, str] = field(default_factory=dict)

    @property
    def features(self) -> frozenset[str]:
        mapped = {"columns", "odd names"} if "delta.columnMapping.mode" in self.properties else ()
        return frozenset({"compact", "rollback", *mapped})

    def create(self, history: History) -> TableName:
        label = history.name.replace(" ", "_")
        name = TableName("spark_catalog", SCHEMA, f"d{next(_numbers)}_{label}")
        warehouse = str(self.spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")
        root = self.roots[name] = f"{warehouse}/folders/{name.name}"
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in self.properties.items())
        partitioned = f" PARTITIONED BY ({history.partitioned})" if history.partitioned else ""
        tail = f" TBLPROPERTIES ({listed})" if listed else ""
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS spark_catalog.{SCHEMA}").collect()
        self.spark.sql(
            f"CREATE TABLE {name.quoted()} ({history.columns}) USING delta{partitioned}"
            f" LOCATION '{root}'{tail}"
        ).collect()
        return name

    def run(self, name: TableName, step: str | Rollback, pinned: Sequence[Version]) -> None:
        if isinstance(step, Rollback):
            text = f"RESTORE TABLE {{t}} TO VERSION AS OF {pinned[step.to]}"
        else:
            text = {
                COMPACT: "OPTIMIZE {t}",
                REWRITE_DELETES: "REORG TABLE {t} APPLY (PURGE)",
                REWRITE_MANIFESTS: "ALTER TABLE {t} SET TBLPROPERTIES ('owner.note' = 'x')",
                "TRUNCATE TABLE {t}": "DELETE FROM {t}",
            }.get(step, step)
        self.spark.sql(text.replace("{t}", name.quoted())).collect()

    def source(self, name: TableName) -> DeltaSource:
        return DeltaSource(name, self.roots[name], DriverFiles(), spark=self._session)

    def other_sources(self, name: TableName) -> list[tuple[Source, set[str]]]:
        """Log, vectors and rows by Spark."""
        source = self.own_reader(name)
        return [(source, {"end-to-end/spark", "by-commit/spark", "change-feed/spark"})]

    def own_reader(self, name: TableName) -> DeltaSource:
        files = SparkFiles(self._session)
        return DeltaSource(name, self.roots[name], files, spark=self._session)

    def _session(self) -> SparkSession:
        return self.spark


def spark_properties(spark: SparkSession, catalog: str) -> dict[str, str]:
    """The properties by which Spark knows a catalog."""
    prefix = f"spark.sql.catalog.{catalog}."
    keys = ("type", "uri", "warehouse")
    found = {key: spark.conf.get(prefix + key, None) for key in keys}
    return {key: value for key, value in found.items() if value}


def iceberg(kind: str, version: int, mode: str) -> Callable[[SparkSession], Adapter]:
    return lambda spark: IcebergAdapter(spark, kind, version, mode)


def delta(kind: str, **features: str) -> Callable[[SparkSession], Adapter]:
    properties = {f"delta.{key.replace('__', '.')}": value for key, value in features.items()}
    return lambda spark: DeltaAdapter(spark, kind, properties)


def ducklake(kind: str, metadata: str) -> Callable[[SparkSession], Adapter]:
    return lambda spark: DuckLakeAdapter(spark, kind, metadata)


MAPPED = {"columnMapping__mode": "name", "enableTypeWidening": "true"}
ADAPTERS: dict[str, Callable[[SparkSession], Adapter]] = {
    "iceberg-v2-cow": iceberg("iceberg-v2-cow", 2, "copy-on-write"),
    "iceberg-v2-mor": iceberg("iceberg-v2-mor", 2, "merge-on-read"),
    "iceberg-v3-cow": iceberg("iceberg-v3-cow", 3, "copy-on-write"),
    "iceberg-v3-mor": iceberg("iceberg-v3-mor", 3, "merge-on-read"),
    "delta-cow": delta("delta-cow"),
    "delta-cdf": delta("delta-cdf", enableChangeDataFeed="true"),
    "delta-dv": delta("delta-dv", enableDeletionVectors="true"),
    "delta-rows": delta("delta-rows", enableRowTracking="true", enableDeletionVectors="true"),
    "delta-mapped": delta("delta-mapped", **MAPPED, enableChangeDataFeed="true"),
    "delta-mapped-dv": delta("delta-mapped-dv", **MAPPED, enableDeletionVectors="true"),
    "delta-full": delta(
        "delta-full", **MAPPED, enableDeletionVectors="true", enableChangeDataFeed="true"
    ),
    "memory": lambda spark: MemoryAdapter(IcebergAdapter(spark, "", 2, "copy-on-write")),
    **{
        f"ducklake-{metadata}": ducklake(f"ducklake-{metadata}", metadata)
        for metadata in ("duckdb", "sqlite", "postgres")
    },
}

LONG = (
    "delta-cow",
    "delta-cdf",
    "delta-dv",
    "delta-rows",
    "delta-mapped",
    "delta-full",
    "ducklake-sqlite",
    "ducklake-postgres",
)
"""Kinds that only the long run takes: others of their format stand for them."""

SHORT = tuple(kind for kind in ADAPTERS if kind not in LONG)
FEW = {
    "iceberg-v2-cow": {"dml", "duplicates", "upgrade", "partition evolution"},
    "iceberg-v2-mor": {"dml", "compaction", "upgrade", "partition deletes", "types"},
    "iceberg-v3-cow": {"dml", "rollback"},
    "delta-mapped-dv": {"odd names"},
}
"""The histories of some kinds: one kind of Iceberg plays all, tables of Delta have a suite of their own, and the long run
plays everything everywhere."""
