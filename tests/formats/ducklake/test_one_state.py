"""What is read in one transaction is one state of the catalog, whatever others commit meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from formats.ducklake.lakes import Lake
from grebe.formats.ducklake.catalog_rows import CatalogRows
from grebe.formats.ducklake.connections import reading
from grebe.formats.ducklake.state import read_state
from grebe.model import TableName

NAME = TableName("lake", "main", "t")
TABLES = ("table", "view", "data_file", "delete_file", "snapshot", "table_stats")
WAL = ", META_JOURNAL_MODE 'WAL'"
BESIDE = {
    "rows": ("INSERT INTO lake.t VALUES (4)", "DELETE FROM lake.t WHERE a = 1"),
    "merge": ("CALL ducklake_merge_adjacent_files('lake')",),
    "rename": ("ALTER TABLE lake.t RENAME TO u",),
    "replace": ("CREATE OR REPLACE VIEW lake.v AS SELECT 2 AS one",),
}


@pytest.mark.parametrize("what", BESIDE)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_others_are_not_seen_by_halves(opened: Callable[..., Lake], kind: str, what: str) -> None:
    lake = opened(kind, WAL if kind == "sqlite" else "")
    lake.run(
        "CREATE TABLE lake.t (a INT)",
        "CALL lake.set_option('data_inlining_row_limit', 0)",
        *(f"INSERT INTO lake.t VALUES ({number})" for number in (1, 2, 3)),
        "CREATE VIEW lake.v AS SELECT 1 AS one",
    )
    with reading(lake.address) as session:

        def state() -> list[object]:
            kept = [
                session.rows(f"SELECT * FROM {session.meta}.ducklake_{table} ORDER BY ALL")
                for table in TABLES
            ]
            catalog = CatalogRows(session)
            return [kept, read_state(catalog, catalog.table(NAME), catalog.newest().id)]

        before = state()
        lake.run(*BESIDE[what])
        assert state() == before
    with reading(lake.address) as session:
        found = session.rows(f"SELECT max(snapshot_id) FROM {session.meta}.ducklake_snapshot")
    assert found == lake.rows("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")
