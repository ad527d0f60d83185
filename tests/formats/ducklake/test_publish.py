"""Views that are published at once to one catalog wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from formats.ducklake.lakes import Lake
from grebe.formats.ducklake.catalog import DuckLakeCatalog
from grebe.model import CatalogAddress, TableName

AT_ONCE = 4


def test_views_published_at_once_do_not_fail(opened: Callable[..., Lake], tmp_path: Path) -> None:
    lake = opened("sqlite")
    with lake.writing() as duckdb:
        duckdb.execute("SELECT 1")
    place = CatalogAddress("duck", str(tmp_path), lake.address.data_path, lake.address.target)
    tables = DuckLakeCatalog(place)

    def publish(number: int) -> str | None:
        name = TableName("duck", "main", f"v{number % AT_ONCE}")
        tables.publish(name, None, lambda _: f"SELECT {number} AS number")  # type: ignore[arg-type]
        return tables.shown(name, None)  # type: ignore[arg-type]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        shown = list(pool.map(publish, range(40)))
    assert all(text and "number" in text for text in shown)
    for number in range(AT_ONCE):
        tables.unpublish(TableName("duck", "main", f"v{number}"), None)  # type: ignore[arg-type]
    assert tables.shown(TableName("duck", "main", "v1"), None) is None  # type: ignore[arg-type]
