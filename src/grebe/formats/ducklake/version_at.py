"""Which version a storage table had at a moment, as far as the snapshots that are left prove it."""

from __future__ import annotations

from datetime import datetime

from grebe.formats.ducklake.catalog_rows import CatalogRows, Table
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.position import FrontierRow, is_own, read_cursor
from grebe.formats.ducklake.state import read_state
from grebe.formats.ducklake.versions import current, place_at
from grebe.model import TableName, Version


def version_at(lake: Session, name: TableName, when: datetime) -> Version | None:
    """The version that a view showed at a moment; None when there was none, or nobody can tell.

    An expired commit may have changed the table, so the snapshot before it says nothing of the
    moment after. And a table that was made and not filled yet shows no view.
    """
    catalog = CatalogRows(lake)
    table = catalog.table(name)
    newest = catalog.newest()
    if newest.committed_at <= when:
        cursor = read_cursor(lake, name)
        is_filled = isinstance(cursor, FrontierRow) and cursor.run is not None
        return current(catalog, table, newest.id).place.version if is_filled else None
    known = [item for item in catalog.all(table) if item.committed_at <= when]
    if not any(is_own(item, table) for item in known):
        return None
    last = known[-1].id
    touches = [item.id for item in catalog.touches(table, -1) if item.id <= last]
    found = touches[-1] if touches else None
    later = catalog.next_snapshot(last)
    if found is None or later is None or not _is_all_that_was(catalog, table, found, later):
        return None
    return place_at(lake, table, found).version


def _is_all_that_was(catalog: CatalogRows, table: Table, found: int, later: int) -> bool:
    """Whether no commit between two snapshots changed the table, that was expired since."""
    if not catalog.missing(found, later - 1):
        return True
    before, after = (read_state(catalog, table, number) for number in (found, later))
    if before.inlined or after.inlined:
        return False  # of these, only how many there are is known
    # Files are never given back once they are gone, so equal lists were equal all the time.
    same = [file.signature for file in before.files] == [file.signature for file in after.files]
    return same and catalog.columns(table, found) == catalog.columns(table, later)
