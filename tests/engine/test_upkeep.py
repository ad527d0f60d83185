"""Many small refreshes do not leave many small files, and nobody notices how they went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grebe import config, thresholds
from grebe.engine.engine import Engine
from grebe.model import Outcome, Policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOML = """
[defaults]
catalog = "{storage}"
schema = "keep"
[catalogs.lake]
format = "iceberg"
spark_catalog = "lake"
[catalogs.folders]
format = "delta"
root = "folders"
[catalogs.duck]
format = "ducklake"
uri = "ducklake:sqlite:{folder}/meta.sqlite"
root = "{folder}/data"
"""


def files_of(engine: Engine, name: str) -> int:
    view = engine.view(name)
    source = engine.tables.source(view.storage_name, lambda: engine.spark)
    return source.version_stats(source.head().version, []).files


@pytest.mark.parametrize(
    "storage",
    ["lake", *(pytest.param(name, marks=pytest.mark.laws) for name in ("folders", "duck"))],
)
def test_small_files_are_compacted_between_refreshes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: str
) -> None:
    monkeypatch.setattr(thresholds, "UPKEEP_FILES", 3)
    monkeypatch.setattr(
        thresholds, "REWRITTEN_ROWS", 0
    )  # written anew, a table has one file anyway
    (tmp_path / "grebe.toml").write_text(TOML.format(storage=storage, folder=tmp_path))
    table = f"lake.keep.source_{storage}"
    for text in (
        "CREATE NAMESPACE IF NOT EXISTS lake.keep",
        f"CREATE OR REPLACE TABLE {table} (id BIGINT, g STRING) USING iceberg",
        f"INSERT INTO {table} SELECT id, concat('g', id % 3) FROM range(30)",
    ):
        spark.sql(text).collect()
    engine = Engine(config.load(tmp_path), spark)
    engine.define("rows", f"SELECT id, g FROM {table} WHERE id >= 0", Policy.INCREMENTAL)
    engine.define("sums", "SELECT g, COUNT(*) AS n FROM keep.rows GROUP BY g", Policy.INCREMENTAL)
    engine.refresh()
    most = 0
    for step in range(3):
        # More rows at once than DuckLake keeps in its catalog.
        spark.sql(
            f"INSERT INTO {table} SELECT id, 'g{step}' FROM range({step * 100 + 100}, {step * 100 + 150})"
        ).collect()
        spark.sql(f"DELETE FROM {table} WHERE id = {step}").collect()
        results = engine.refresh()
        assert {result.outcome for result in results} == {Outcome.INCREMENTAL}
        most = max(most, files_of(engine, "rows"))
    assert {result.outcome for result in engine.refresh()} == {Outcome.NO_OP}
    assert most < 4
    for name in ("rows", "sums"):
        engine.verify(name)
