"""Which frontier a storage table shows: a row beside it that moves in the same transaction.

The row is the truth: expiry cannot take it away. Who else wrote to the table is read from the
catalog's list of changes, and from the number of rows, which ours says and nobody else knows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from grebe.formats.ducklake.catalog_rows import CatalogRows, LakeSnapshot, Table
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.versions import KNOWN, ROW_KINDS, VersionPoint, current
from grebe.model import Frontier, Position, RunId, TableName, Version
from grebe.program.duckdb_text import ident, literal
from grebe.stored_properties import RUN, TABLE

AUTHOR = "grebe"
UNKNOWN = "the snapshot of its last commit is not known"
COLUMNS = {
    "run": "VARCHAR",
    "frontier": "VARCHAR",
    "base": "VARCHAR",
    "seen": "BIGINT",
    "row_version": "VARCHAR",
    "rows": "BIGINT",
    "inserted": "BIGINT",
    "updated": "BIGINT",
    "deleted": "BIGINT",
    "fence": "VARCHAR",
}

_WRITTEN_AT = (
    "CASE WHEN fence IS NOT NULL THEN split_part(fence, ':', 1)"
    " WHEN snapshot_id = seen + 1 OR filename NOT LIKE '%.parquet'"
    " THEN CAST(snapshot_id AS VARCHAR) ELSE '' END"
)
"""The snapshot that wrote the row, as text, or none. A row in a file that was rewritten says a
later one than its own, which cannot be the first after ``seen``; one in the catalog never does."""


def cursor_name(name: str) -> str:
    """The table beside a storage table that holds its one row of frontier.

    >>> cursor_name("__grebe_daily_1a2b3c4d")
    '__grebe_daily_1a2b3c4d__frontier'
    """
    return f"{name}__frontier"


def extra_info(run_id: RunId, table: Table) -> str:
    """What a run's commit carries: the snapshots of a catalog are those of all its tables."""
    return json.dumps({RUN: run_id, TABLE: table.id})


def cursor_statements(lake: Session, name: TableName) -> list[str]:
    """The statements that make the table of a frontier with its one, empty row."""
    table = ident(lake.alias, name.schema, cursor_name(name.name))
    columns = ", ".join(f"{ident(column)} {kind}" for column, kind in COLUMNS.items())
    return [
        f"CREATE TABLE IF NOT EXISTS {table} ({columns})",
        f"DELETE FROM {table}",
        f"INSERT INTO {table} (rows) VALUES (0)",
    ]


@dataclass(frozen=True, slots=True)
class FrontierRow:
    """The row beside a storage table."""

    run: RunId | None
    frontier: str | None
    base: str | None
    """The version that the run was planned from."""
    seen: int
    """The newest snapshot of the catalog before the run's own: it has no number until it lands."""
    row_version: str | None
    """The version that changed a row last; None means the commit that wrote this."""
    rows: int
    counts: tuple[int, int, int]
    written_at: int | None
    """The run's own snapshot, by the row itself: known when the snapshot is expired, too."""


def read_cursor(lake: Session, name: TableName) -> FrontierRow | str:
    """The row, or what is wrong with it."""
    table = ident(lake.alias, name.schema, cursor_name(name.name))
    listed = ", ".join(ident(column) for column in COLUMNS)
    found = lake.rows_if_there(f"SELECT {listed}, {_WRITTEN_AT} FROM {table}")
    if found is None:
        return "the table of its frontier is missing"
    if len(found) != 1:
        return f"its frontier has {len(found)} rows instead of one"
    row = found[0]
    return FrontierRow(
        run=row[0],
        frontier=row[1],
        base=row[2],
        seen=row[3] or 0,
        row_version=row[4],
        rows=row[5],
        counts=(row[6] or 0, row[7] or 0, row[8] or 0),
        written_at=_number(row[10]),
    )


def fence_statement(lake: Session, name: TableName, mark: str) -> str:
    """The statement that touches the row, and keeps in it which snapshot wrote it before."""
    table = ident(lake.alias, name.schema, cursor_name(name.name))
    return f"UPDATE {table} SET fence = {_WRITTEN_AT} || ':' || {literal(mark)}"


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def read_position(lake: Session, name: TableName) -> Position:
    """The last published frontier, the version the table is at, and who else wrote to it."""
    catalog = CatalogRows(lake)
    table = catalog.table(name)
    newest = catalog.newest().id
    now = current(catalog, table, newest).place
    cursor = read_cursor(lake, name)
    if isinstance(cursor, str):
        return Position(None, now.version, unproven=cursor)
    if cursor.run is None or cursor.frontier is None:
        return Position(None, now.version, foreign=_foreign_rows(now.rows, 0))
    known = own_snapshot(lake, table, cursor.run)
    own = cursor.written_at if known is None else known
    if own is None:
        return Position(_parsed(cursor.frontier), now.version, unproven=UNKNOWN)
    row_version = Version(cursor.row_version or VersionPoint(own, cursor.rows).version)
    foreign, unproven = _others(lake, table, cursor, own, now)
    return Position(
        frontier=_parsed(cursor.frontier),
        version=now.version,
        row_version=row_version,
        foreign=foreign,
        unproven=unproven or _unreadable(cursor.frontier),
    )


def own_snapshot(lake: Session, table: Table, run_id: RunId) -> int | None:
    """The snapshot that a run published to the table, while the catalog remembers it."""
    found: int | None = lake.row(
        f"SELECT max(snapshot_id) FROM {lake.meta}.ducklake_snapshot_changes"
        f" WHERE commit_extra_info = {literal(extra_info(run_id, table))}"
    )[0]
    return found


def is_own(snapshot: LakeSnapshot, table: Table) -> bool:
    """Whether a commit is a run's, of this table: also of one that changed no row."""
    try:
        known = json.loads(snapshot.extra or "")
    except ValueError:
        return False
    return isinstance(known, dict) and RUN in known and known.get(TABLE) == table.id


def _others(
    lake: Session, table: Table, cursor: FrontierRow, own: int, now: VersionPoint
) -> tuple[tuple[str, ...], str | None]:
    """What others did to the table since the run was planned; or why that cannot be known."""
    catalog = CatalogRows(lake)
    base = (
        own - 1
        if cursor.base is None
        else min(own - 1, VersionPoint.of(Version(cursor.base)).snapshot)
    )
    touches = [s for s in catalog.touches(table, base) if s.id != own]
    foreign = tuple(_named(s) for s in touches if is_foreign(s.kinds))
    if catalog.columns(table, now.snapshot) != catalog.columns(table, own):
        foreign = (*foreign, "its columns were changed")
    if not foreign:
        foreign = _foreign_rows(now.rows, cursor.rows)
    if foreign or not catalog.missing(own, catalog.newest().id):
        return foreign, None
    younger = lake.row(f"SELECT count(*) FROM {table.sql(lake)} WHERE snapshot_id > {own}")[0]
    return (), "snapshots after its last commit were expired" if younger else None


def is_foreign(kinds: frozenset[str]) -> bool:
    """True for what somebody else did to the table and may have changed rows.

    Merging, rewriting and flushing change none. A flush of deletes looks like a delete; whether it
    was one, the number of rows says.
    """
    if not kinds <= KNOWN:
        return True
    return bool(kinds & ROW_KINDS) and "inline_flush" not in kinds


def _foreign_rows(found: int, wanted: int) -> tuple[str, ...]:
    return () if found == wanted else (f"it has {found} rows, its last commit left {wanted}",)


def _named(snapshot: LakeSnapshot) -> str:
    done = ", ".join(sorted(snapshot.kinds)) or "change"
    return f"{done} in snapshot {snapshot.id} by {snapshot.author or 'unknown'}"


def _parsed(text: str) -> Frontier | None:
    try:
        return Frontier.from_json(text)
    except (ValueError, KeyError, TypeError):
        return None


def _unreadable(text: str) -> str | None:
    return None if _parsed(text) else "its frontier cannot be read"
