"""DuckLake in the contract suite: the histories' SQL in DuckDB's words, on any kind of catalog."""

from __future__ import annotations

import atexit
import itertools
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import sqlglot

from formats.contract.histories import (
    COMPACT,
    REWRITE_DELETES,
    REWRITE_MANIFESTS,
    UPGRADE,
    History,
    Rollback,
)
from formats.ducklake.lakes import Lake, Servers, open_lake
from grebe.formats.base import Source
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.model import TableName, Version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "contract"
_numbers = itertools.count()
_UPKEEP = {
    COMPACT: [
        "CALL ducklake_merge_adjacent_files('lake')",
        "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    ],
    REWRITE_DELETES: ["CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)"],
    REWRITE_MANIFESTS: ["CALL ducklake_flush_inlined_data('lake')"],
    UPGRADE: ["CALL ducklake_merge_adjacent_files('lake')"],
}
_MERGE = (
    "WHEN MATCHED AND act = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET note = act"
    " WHEN NOT MATCHED THEN INSERT (id, note) VALUES (s.id, s.act)"
)


def statements(step: str) -> list[str]:
    """A step of a history as DuckDB says it, in one transaction."""
    if step in _UPKEEP:
        return _UPKEEP[step]
    if "TBLPROPERTIES" in step:
        return ["COMMENT ON TABLE {t} IS 'no rows'"]
    if step.endswith("FIRST"):
        return []  # DuckDB cannot move columns
    if "COLUMN s.a TYPE" in step:
        return ["ALTER TABLE {t} ALTER COLUMN s TYPE STRUCT(a BIGINT, b VARCHAR, c DOUBLE)"]
    if overwrite := re.match(r"INSERT OVERWRITE \{t\} (.*)", step, re.DOTALL):
        return ["BEGIN", "DELETE FROM {t}", _duckdb(f"INSERT INTO {{t}} {overwrite[1]}"), "COMMIT"]
    if _MERGE in step:
        # DuckLake's MERGE takes one action on matched rows.
        rows = "(VALUES (1, 'm'), (2, 'd'), (90, 'i'), (91, NULL)) AS s(id, act)"
        known = "(SELECT id FROM {t} WHERE id IS NOT NULL)"
        return [
            "BEGIN",
            f"CREATE OR REPLACE TEMP TABLE new AS FROM {rows} WHERE id NOT IN {known}",
            f"DELETE FROM {{t}} USING {rows} WHERE {{t}}.id = s.id AND act = 'd'",
            f"MERGE INTO {{t}} AS t USING {rows} ON t.id = s.id WHEN MATCHED"
            " THEN UPDATE SET note = act",
            "INSERT INTO {t} (id, note) FROM new",
            "COMMIT",
        ]
    return [_duckdb(step)]


def _duckdb(sql: str) -> str:
    positional = re.sub(r"(?<!named_)\bstruct\(", "row(", sql)
    (text,) = sqlglot.transpile(positional.replace("{t}", "__t"), read="spark", write="duckdb")
    text = re.sub(r"RANGE\((\d+)(?:, (\d+))?(?:, 1, 1)?\)", _range, text)
    return text.replace("__t", "{t}")


def _range(found: re.Match[str]) -> str:
    first, last = (found[1], found[2]) if found[2] else ("0", found[1])
    return f"RANGE({first}, {last}) AS r(id)"


@dataclass(slots=True)
class DuckLakeAdapter:
    """DuckLake in one kind of catalog."""

    spark: SparkSession
    kind: str
    metadata: str
    both_directions: bool = True
    features: frozenset[str] = frozenset({"compact", "columns"})
    _lake: Lake | None = field(default=None, repr=False)

    @property
    def lake(self) -> Lake:
        if self._lake is None:
            folder = Path(tempfile.mkdtemp())
            servers = Servers()
            self._lake = open_lake(self.metadata, folder / "lake", servers)
            self._lake.run(f"CREATE SCHEMA lake.{SCHEMA}")
            atexit.register(self._end, folder, self._lake, servers)
        return self._lake

    @staticmethod
    def _end(folder: Path, lake: Lake, servers: Servers) -> None:
        lake.close()
        servers.stop()
        shutil.rmtree(folder, ignore_errors=True)

    def create(self, history: History) -> TableName:
        name = TableName("lake", SCHEMA, f"t{next(_numbers)}_{history.name.replace(' ', '_')}")
        (text,) = sqlglot.transpile(
            f"CREATE TABLE __t ({history.columns})", read="spark", write="duckdb"
        )
        self.lake.run(text.replace("__t", _sql(name)))
        if history.partitioned:
            self.lake.run(f"ALTER TABLE {_sql(name)} SET PARTITIONED BY ({history.partitioned})")
        return name

    def run(self, name: TableName, step: str | Rollback, pinned: Sequence[Version]) -> None:
        assert isinstance(step, str)
        self.lake.run(*[text.replace("{t}", _sql(name)) for text in statements(step)])

    def source(self, name: TableName) -> DuckLakeSource:
        return DuckLakeSource(name, self.lake.address, spark=lambda: self.spark)

    def other_sources(self, name: TableName) -> list[tuple[Source, set[str]]]:
        """The same table when nothing fits on the driver."""
        source = DuckLakeSource(name, self.lake.address, spark=lambda: self.spark, driver_budget=-1)
        return [(source, {"files/spark"})]

    def own_reader(self, name: TableName) -> Source | None:
        return None


def _sql(name: TableName) -> str:
    return f'lake.{name.schema}."{name.name}"'
