"""What a run staged beside DuckLake tables: folders, which say themselves how old they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from formats.ducklake.lakes import Lake
from grebe.formats.base import STAGED
from grebe.formats.ducklake.catalog import DuckLakeCatalog
from grebe.model import CatalogAddress, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def no_session() -> SparkSession:
    raise AssertionError("nothing here needs Spark")


def test_a_staged_folder_says_when_it_was_written(
    opened: Callable[..., Lake], tmp_path: Path
) -> None:
    lake = opened("sqlite")
    with lake.writing() as duckdb:
        duckdb.execute("SELECT 1")
    place = CatalogAddress("duck", str(tmp_path), lake.address.data_path, lake.address.target)
    tables = DuckLakeCatalog(place)
    name = TableName("duck", "main", f"{STAGED}run_0")
    assert tables.staged_at(name, no_session) is None
    folder = Path(str(lake.address.data_path)) / "main" / name.name
    folder.mkdir(parents=True)
    os.utime(folder, (1_000_000, 1_000_000))
    assert tables.staged_at(name, no_session) == datetime.fromtimestamp(1_000_000, UTC)
