"""The random lake of the laws with a table in each format, and views stored in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import duckdb

from compiler.random_queries import COLUMNS
from engine.lawful import SPARKS_OWN, Lake, Text, hostile_names
from grebe import config
from grebe.engine.engine import Engine
from grebe.engine.public import public_sql
from grebe.program import load_extensions
from hostile import POOL, without_mapping

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

CATALOG_OF = {"r": "lake", "t": "folders", "u": "duck"}
TOML = """
[defaults]
catalog = "views"
schema = "law"
[catalogs.lake]
format = "iceberg"
spark_catalog = "lake"
[catalogs.folders]
format = "delta"
root = "folders"
[catalogs.duck]
format = "ducklake"
uri = "ducklake:sqlite:{folder}/duck.sqlite"
root = "{folder}/duck"
[catalogs.views]
"""
STORAGE = {
    "delta": 'format = "delta"\nroot = "views"\n',
    "ducklake": 'format = "ducklake"\nuri = "ducklake:sqlite:{folder}/views.sqlite"\n'
    'root = "{folder}/views"\n',
}
CHANGES = ("insert", "insert", "delete", "update", "update", "transient", "nothing", "truncate")
UPKEEP = (
    "CALL ducklake_flush_inlined_data('duck')",
    "CALL ducklake_merge_adjacent_files('duck')",
    "CALL ducklake_rewrite_data_files('duck', delete_threshold => 0)",
)


@dataclass(slots=True)
class MixedLake(Lake):
    """One table in Iceberg, one in Delta, one in DuckLake."""

    folder: Path = Path()
    duck: duckdb.DuckDBPyConnection | None = None

    @staticmethod
    def made(spark: SparkSession, folder: Path, schema: str, storage: str, seed: int) -> MixedLake:
        """The three tables with a few rows each."""
        folder.mkdir(parents=True)
        text = (TOML + STORAGE[storage]).format(folder=folder)
        (folder / "grebe.toml").write_text(text)
        duck = duckdb.connect(config={"threads": 1})
        load_extensions(duck, "ducklake", "sqlite_scanner")
        duck.execute(
            f"ATTACH 'ducklake:sqlite:{folder}/duck.sqlite' AS duck (DATA_PATH '{folder}/duck/',"
            " META_BUSY_TIMEOUT 10000, META_JOURNAL_MODE 'WAL')"
        )
        duck.execute(f"CREATE SCHEMA duck.{schema}")
        engine = Engine(config.load(folder), spark)
        names = hostile_names(seed, without=without_mapping(POOL))
        lake = MixedLake(spark, engine, schema, Random(seed), names=names, folder=folder, duck=duck)
        spark.sql(f"CREATE NAMESPACE lake.{schema}")
        for table in COLUMNS:
            lake.create(table)
            lake.insert(table, lake.rng.randint(1, 8))
        return lake

    def name(self, table: str) -> str:
        match CATALOG_OF[table]:
            case "lake":
                return f"lake.{self.schema}.{self.quoted(table)}"
            case "folders":
                return f"delta.`{self.folder}/folders/{self.schema}/{self.own(table)}`"
        return f"duck.{self.schema}.{self.quoted(table, 'duckdb')}"

    def columns(self, table: str) -> tuple[str, str]:
        first, second = COLUMNS[table]
        dialect = "duckdb" if CATALOG_OF[table] == "duck" else "spark"
        return self.quoted(first, dialect), self.quoted(second, dialect)

    def read_as(self, table: str) -> str:
        return f"{CATALOG_OF[table]}.{self.schema}.{self.quoted(table)}"

    def sql(self, text: str) -> None:
        if "duck" not in text.replace(str(self.folder), ""):
            Lake.sql(self, text)
            return
        self.log.append(text)
        assert self.duck is not None
        self.duck.execute(text)

    def create(self, table: str) -> None:
        dialect = "duckdb" if CATALOG_OF[table] == "duck" else "spark"
        first, second = self.columns(table)
        self.spare[table] = self.quoted("unused", dialect)
        columns = f"{first} INT, {second} INT, {self.spare[table]} STRING"
        match CATALOG_OF[table]:
            case "lake":
                Lake.create(self, table)
            case "folders":
                options = [f"'delta.enableDeletionVectors' = '{self._either()}'"]
                options.append(f"'delta.enableChangeDataFeed' = '{self._either()}'")
                properties = f"TBLPROPERTIES ({', '.join(options)})"
                self.sql(f"CREATE TABLE {self.name(table)} ({columns}) USING delta {properties}")
            case _:
                self.sql(f"CREATE TABLE {self.name(table)} ({columns})")

    def _either(self) -> str:
        return self.rng.choice(("true", "false"))

    def kinds(self, table: str) -> Sequence[str]:
        if self.rng.random() < 0.8:
            return CHANGES
        return ("upkeep",) if CATALOG_OF[table] == "duck" else ("compact", "merge")

    def _compact(self, table: str) -> None:
        if CATALOG_OF[table] == "folders":
            self.sql(f"OPTIMIZE {self.name(table)}")
        else:
            Lake._compact(self, table)

    def _upkeep(self, _: str) -> None:
        self.sql(self.rng.choice(UPKEEP))

    def _is_clear(self, text: Text) -> bool:
        return not SPARKS_OWN.search(text.composed)

    def held(self, table: str, columns: Sequence[str]) -> pa.Table:
        if CATALOG_OF[table] != "duck":
            return Lake.held(self, table, columns)
        assert self.duck is not None
        rows = self.duck.execute(f"SELECT {', '.join(columns)} FROM {self.name(table)}")
        return rows.to_arrow_table()

    def shown(self, name: str) -> str:
        """The public SELECT over the storage table, read by Spark as children read it."""
        view = self.engine.view(f"{self.schema}.{name}")
        position = self.engine.tables.position(view.storage_name, lambda: self.spark)
        assert position is not None
        assert position.version is not None
        source = self.engine.tables.source(view.storage_name, lambda: self.spark)
        ids = [column.id for column in source.schema_at(position.version).columns]
        source.read_at(position.version, ids).createOrReplaceTempView(f"__law_{name}")
        return f"({public_sql(view, f'__law_{name}')}) AS shown"
