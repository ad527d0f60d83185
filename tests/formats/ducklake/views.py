"""Storage tables in DuckLake under test, and how others see them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from formats.commit.client import arrow
from formats.commit.lake import COLUMNS, NAMESPACE, Row, frontier
from formats.ducklake.lakes import Lake
from grebe.formats.base import Append, Committed, Merge, Rows
from grebe.formats.ducklake.storage import DuckLakeStorage
from grebe.model import Column, Schema, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


@dataclass(slots=True)
class View:
    """One storage table."""

    lake: Lake
    spark: SparkSession | None = None
    columns: Sequence[Column] = COLUMNS
    name: TableName = field(
        default_factory=lambda: TableName("lake", NAMESPACE, f"v{next(_numbers)}")
    )

    @property
    def storage(self) -> DuckLakeStorage:
        return DuckLakeStorage(self.spark, self.name, self.lake.address)

    @property
    def sql_name(self) -> str:
        return f'lake.{NAMESPACE}."{self.name.name}"'

    def create(self) -> View:
        self.storage.create(Schema("0", tuple(self.columns)), {"grebe.view": "test"})
        return self

    def build(self, rows: list[list[Any]], run: str = "base") -> Committed:
        storage = self.storage
        write = Append(Rows(arrow=arrow(rows)))
        return storage.commit([write], frontier(run), storage.position())

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """A statement by somebody else, in which {t} is the table."""
        return self.lake.rows(text.replace("{t}", self.sql_name))

    def rows(self) -> list[Row]:
        found = self.sql("SELECT k, v, n FROM {t}")
        return sorted(found, key=lambda row: [(v is not None, str(v)) for v in row])

    def left_behind(self) -> set[str]:
        return {orphan.run_id for orphan in self.storage.orphans()}

    def upkeep(self) -> None:
        """Everything that maintenance can do."""
        self.lake.run(
            "CALL ducklake_flush_inlined_data('lake')",
            "CALL ducklake_merge_adjacent_files('lake')",
            "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
        )


def merge(rows: list[list[Any]], **options: Any) -> Merge:
    wanted = {"on": ("k",), "expect_updated": 1, "expect_deleted": 1, **options}
    return Merge(Rows(arrow=arrow(rows, actions=True)), **wanted)


@dataclass(slots=True)
class Views:
    """Makes storage tables in one lake."""

    lake: Lake

    def create(self) -> View:
        return View(self.lake).create()
