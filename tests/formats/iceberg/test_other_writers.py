"""Tables that PyIceberg wrote: other names, other Arrow types, the same contract. No Spark."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from formats.contract.oracle import bag, difference
from grebe.formats.files import DriverFiles
from grebe.formats.iceberg.locators import SqliteLocator
from grebe.formats.iceberg.source import IcebergSource
from grebe.model import TableName, Version, Window

NAME = TableName("py", "shop", "orders")
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("grp", pa.string()),
        pa.field("a.b", pa.string()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("pair", pa.struct([("x", pa.float64()), ("l", pa.list_(pa.int32()))])),
        pa.field("bag", pa.map_(pa.string(), pa.list_(pa.int64()))),
    ]
)


def orders(*numbers: int) -> pa.Table:
    rows: list[dict[str, Any]] = [
        {
            "id": number,
            "grp": None if number == 3 else f"g{number % 2}",
            "a.b": f"dot {number}",
            "tags": None if number % 4 == 0 else ["t", None, str(number)],
            "pair": None if number % 5 == 0 else {"x": float(number), "l": [number, None]},
            "bag": [("k", [number]), ("n", None)],
        }
        for number in numbers
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    catalog = SqlCatalog(
        "py", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=(tmp_path / "files").as_uri()
    )
    catalog.create_namespace("shop")
    yield catalog
    catalog.close()


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_table_of_pyiceberg(catalog: SqlCatalog, tmp_path: Path, partitioned: bool) -> None:
    table: Table = catalog.create_table("shop.orders", SCHEMA)
    if partitioned:
        with table.update_spec() as spec:
            spec.add_field("grp", IdentityTransform(), "grp")
    source = IcebergSource(NAME, SqliteLocator(str(tmp_path / "catalog.db"), "py"), DriverFiles())
    versions = [source.head().version]
    for change in (
        lambda: table.append(orders(1, 2, 3, 4, 5, 5)),
        lambda: table.delete(EqualTo("id", 2)),
        lambda: table.overwrite(orders(1, 7, 8)),
        lambda: table.append(orders(9)),
    ):
        change()
        versions.append(source.head().version)
    columns = [column.id for column in source.head().schema.columns]
    for after, upto in itertools.permutations(versions, 2):
        expected = difference(contents(table, upto), contents(table, after))
        found = source.changes(Window(after, upto), columns)
        assert found.arrow is not None
        assert bag(found.arrow) == expected
    assert source.changes(Window(versions[0], versions[-1]), []).arrow.to_pylist() == [
        {"__grebe_weight": 4}
    ]


def contents(table: Table, version: Version) -> Any:
    """The rows as PyIceberg reads them, in the types of the source's schema."""
    number = int(version.partition("@")[0])
    rows = table.scan(snapshot_id=number).to_arrow() if number else SCHEMA.empty_table()
    return bag(rows.cast(SCHEMA))
