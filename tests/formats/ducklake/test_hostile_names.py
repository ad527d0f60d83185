"""Columns that are called like what DuckDB says of every row: read right, or refused by name."""

from __future__ import annotations

import pytest

from formats.ducklake.lakes import Lake
from grebe.errors import DefinitionError, SourceError
from grebe.formats.base import WEIGHT
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.formats.ducklake.storage import RESERVED, DuckLakeStorage
from grebe.model import Column, Schema, TableName, Version, Window

SAFE = ("rowid", "snapshot_id", "file_row_number", "id", "stored", "pos", "path", "key")


def changes(lake: Lake, column: str) -> dict[tuple[object, ...], int]:
    """The changes of a table with such a column, from its first rows to its last."""
    lake.run(
        f'CREATE TABLE lake.t ("{column}" VARCHAR, v INTEGER)',
        "INSERT INTO lake.t SELECT 'a', i::INTEGER FROM range(40) AS r(i)",
    )
    source = DuckLakeSource(TableName("lake", "main", "t"), lake.address)
    before = source.head().version
    lake.run("DELETE FROM lake.t WHERE v = 1", "INSERT INTO lake.t VALUES ('b', 2), ('b', 2)")
    window = Window(Version(before), source.head().version)
    found = source.changes(window, [item.id for item in source.head().schema.columns]).arrow
    assert found is not None
    return {(row[column], row["v"]): row[WEIGHT] for row in found.to_pylist()}


@pytest.mark.parametrize("column", SAFE)
def test_changes_are_those_of_the_rows(lake: Lake, column: str) -> None:
    assert changes(lake, column) == {("a", 1): -1, ("b", 2): 2}


def test_a_column_that_hides_the_files_is_said(lake: Lake) -> None:
    try:
        assert changes(lake, "filename") == {("a", 1): -1, ("b", 2): 2}
    except SourceError as error:
        assert error.code == "reserved-name"
        assert "filename" in error.message


@pytest.mark.parametrize("column", sorted(RESERVED))
def test_storage_has_no_column_that_would_be_taken_for_a_row_id(lake: Lake, column: str) -> None:
    storage = DuckLakeStorage(None, TableName("lake", "main", "__grebe_v_1a2b3c4d"), lake.address)
    with pytest.raises(DefinitionError) as caught:
        storage.create(Schema("0", (Column(1, column.upper(), "int"),)), {})
    assert caught.value.code == "reserved-name"
