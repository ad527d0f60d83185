"""Versions of one table in a catalog whose numbers are shared by all tables.

A version is the newest snapshot that touched the table, with the number of rows it had then:
`17:1200`. Expiry removes snapshots of the whole catalog, so the snapshot of a table that nobody
touched for long goes first. Its rows are still there: the number of rows and the age of each prove
whether a later snapshot holds the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from grebe.errors import HistoryExpiredError, SourceReplacedError
from grebe.formats.ducklake.catalog_rows import CatalogRows, LakeSnapshot, Table
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.state import read_state, rows_listed
from grebe.model import Version

ROW_KINDS = frozenset(
    {"inserted_into_table", "deleted_from_table", "inlined_insert", "inlined_delete"}
)
INSERTS = frozenset({"inserted_into_table", "inlined_insert"})
KNOWN = ROW_KINDS | {
    "created_table",
    "altered_table",
    "merge_adjacent",
    "rewrite_delete",
    "compacted_table",
    "inline_flush",
    "flushed_inlined",
}
REWRITES = frozenset({"rewrite_delete", "compacted_table"})

_REMEMBERED = 1_000
_KNOWN_ROWS: dict[tuple[object, ...], int] = {}


@dataclass(frozen=True, slots=True)
class VersionPoint:
    """What a version says: the snapshot that made it, and how many rows there were."""

    snapshot: int
    rows: int

    @property
    def version(self) -> Version:
        """The place as text."""
        return Version(f"{self.snapshot}:{self.rows}")

    @classmethod
    def of(cls, version: Version) -> VersionPoint:
        """The place of a version."""
        snapshot, _, rows = version.partition(":")
        try:
            return cls(int(snapshot), int(rows))
        except ValueError as error:
            raise HistoryExpiredError(
                f'"{version}" is not a version of a DuckLake table'
            ) from error


@dataclass(frozen=True, slots=True)
class Ends:
    """A window of a table as snapshots that exist; ``after`` is None for "from nothing"."""

    table: Table
    after: int | None
    upto: int
    total: int
    """By how many rows the ends differ, as they were counted when they were the newest."""


@dataclass(frozen=True, slots=True)
class Current:
    """Where a table stands: its place, the commit that made it if that still exists."""

    table: Table
    place: VersionPoint
    newest: int
    """The newest snapshot of the whole catalog."""
    made_by: LakeSnapshot | None


def current(catalog: CatalogRows, table: Table, newest: int) -> Current:
    """The version of a table at the newest snapshot of its catalog."""
    touches = catalog.touches(table, after=-1)
    made_by = touches[-1] if touches else None
    rows = read_state(catalog, table, newest).rows
    assert rows is not None  # nothing is newer than the newest snapshot
    if made_by is None or catalog.missing(made_by.id, newest):
        # The commit that made it may be expired while an older one is left, which shows other rows.
        trace = catalog.last_trace(table)
        if made_by is None or made_by.id < trace:
            return Current(table, VersionPoint(trace, rows), newest, None)
    return Current(table, VersionPoint(made_by.id, rows), newest, made_by)


def place_at(session: Session, table: Table, snapshot: int) -> VersionPoint:
    """The place of a snapshot that exists and touched the table."""
    catalog = CatalogRows(session)
    rows = read_state(catalog, table, snapshot).rows
    return VersionPoint(snapshot, _counted(catalog, table, snapshot) if rows is None else rows)


def _counted(catalog: CatalogRows, table: Table, snapshot: int) -> int:
    named = catalog.table_at(table, snapshot).sql(catalog.session)
    return int(catalog.session.row(f"SELECT count(*) FROM {named} AT (VERSION => {snapshot})")[0])


def _rows_at(catalog: CatalogRows, table: Table, place: VersionPoint) -> int:
    """How many rows a snapshot shows now.

    DuckLake dates a delete before its commit: one that another commit overtook shows too early. What
    was counted stays true for as long as nobody commits.
    """
    state = read_state(catalog, table, place.snapshot)
    if state.rows is not None:
        return state.rows
    newest = catalog.newest()
    key = (table.uuid, place.snapshot, newest.id, newest.committed_at)
    known = _KNOWN_ROWS.get(key)
    if known is None:
        rows = rows_listed(catalog.session, table, state)
        known = _counted(catalog, table, place.snapshot) if rows is None else rows
        if len(_KNOWN_ROWS) > _REMEMBERED:
            _KNOWN_ROWS.clear()
        _KNOWN_ROWS[key] = known
    return known


def resolved(session: Session, table: Table, place: VersionPoint) -> int:
    """A snapshot that exists and holds exactly the rows of a place.

    Raises:
        SourceReplacedError: the table is younger than the place.
        HistoryExpiredError: nothing that is left can be proved to hold the same rows.
    """
    catalog = CatalogRows(session)
    if table.begin > place.snapshot:
        raise SourceReplacedError(
            f'table "{table.schema}.{table.name}" was created anew',
            detail=f"it began at snapshot {table.begin}, after {place.snapshot}",
        )
    if catalog.snapshot(place.snapshot) is not None:
        found = _rows_at(catalog, table, place)
        if found == place.rows:
            return place.snapshot
        raise HistoryExpiredError(
            f"snapshot {place.snapshot} does not show {place.rows} rows",
            detail=f'table "{table.schema}.{table.name}" has {found} in it',
            hint="refresh in full",
        )
    later = catalog.next_snapshot(place.snapshot)
    if later is not None:
        named = catalog.table_at(table, later)
        rows, younger = session.row(
            f"SELECT count(*), count(*) FILTER (snapshot_id > {place.snapshot})"
            f" FROM {named.sql(session)} AT (VERSION => {later})"
        )
        # Files never change: rows that are old enough were there, and so many there were.
        if (rows, younger) == (place.rows, 0):
            return int(later)
    raise HistoryExpiredError(
        f"snapshot {place.snapshot} no longer exists",
        detail=f'table "{table.schema}.{table.name}" changed before the oldest one that is left',
        hint="refresh in full, and expire only what project.retention() allows",
    )
