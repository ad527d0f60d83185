"""What may be expired and what is waiting, as SQL that runs as it is.

A function over a catalog takes no column as its argument, so no single query can go from cursor
rows to their catalogs. `pending_maintenance_sql` therefore lets SQL write the SQL: it enumerates
the sources into session variables, and `query()` runs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grebe.program.duckdb_text import assign, ident, literal, variable
from grebe.program.naming import Naming
from grebe.program.program_window import MAINTENANCE, tables_of

Catalog = str | tuple[str, str]
"""A catalog whose cursors are in the schema `main`, or a catalog and a schema."""


@dataclass(frozen=True, slots=True)
class SnapshotSafety:
    """Up to where the snapshots of a source catalog may be expired."""

    source_catalog: str
    min_required_snapshot: int
    """The oldest snapshot that some view still needs."""
    latest_snapshot: int

    @property
    def safe_to_expire_before(self) -> int:
        """Snapshots below this one may go."""
        return self.min_required_snapshot

    @staticmethod
    def of(row: Sequence[object]) -> SnapshotSafety:
        """The object of one row of the report."""
        catalog, needed, latest = row
        return SnapshotSafety(str(catalog), int(str(needed)), int(str(latest)))


@dataclass(frozen=True, slots=True)
class PendingMaintenance:
    """What a view has not yet seen of one source."""

    mv_catalog: str
    mv_name: str
    source_catalog: str
    source_table: str
    pending_changes: int | None
    """Change rows in the feed; None when the feed no longer reaches back to the cursor."""
    pending_snapshots: int | None

    @property
    def reason(self) -> str | None:
        """Why the counts are unknown, if they are."""
        return None if self.pending_changes is not None else "range_expired"

    @staticmethod
    def of(row: Sequence[object]) -> PendingMaintenance:
        """The object of one row of the report."""
        mv_catalog, mv_name, source_catalog, source_table, changes, snapshots = row
        return PendingMaintenance(
            str(mv_catalog),
            str(mv_name),
            str(source_catalog),
            str(source_table),
            None if changes is None else int(str(changes)),
            None if snapshots is None else int(str(snapshots)),
        )


def safe_to_expire_sql(
    mv_catalogs: Iterable[Catalog],
    source_catalogs: Iterable[str],
    naming: Naming | None = None,
) -> str:
    """A query for (source_catalog, min_required_snapshot, latest_snapshot) per source catalog.

    A source that no view reads needs nothing but its latest snapshot.
    """
    heads = [
        f"SELECT {literal(name)} AS source_catalog, MAX(snapshot_id) AS latest_snapshot"
        f" FROM ducklake_snapshots({literal(name)})"
        for name in dict.fromkeys(source_catalogs)
    ]
    nothing = "SELECT '' AS source_catalog, 0::BIGINT AS latest_snapshot WHERE FALSE"
    return (
        f"WITH __grebe_cursors AS (\n{_cursors(mv_catalogs, naming)}\n),\n"
        f"__grebe_heads AS (\n{_stacked(heads) or nothing}\n)\n"
        "SELECT __grebe_heads.source_catalog,"
        " LEAST(COALESCE(MIN(__grebe_cursors.last_snapshot), __grebe_heads.latest_snapshot),"
        " __grebe_heads.latest_snapshot) AS min_required_snapshot, __grebe_heads.latest_snapshot\n"
        "FROM __grebe_heads LEFT JOIN __grebe_cursors"
        " ON lower(__grebe_cursors.source_catalog) = lower(__grebe_heads.source_catalog)\n"
        "GROUP BY __grebe_heads.source_catalog, __grebe_heads.latest_snapshot"
        " ORDER BY __grebe_heads.source_catalog"
    )


def pending_maintenance_sql(mv_catalogs: Iterable[Catalog], naming: Naming | None = None) -> str:
    """Statements whose last one gives a row per view and source.

    The columns are mv_catalog, mv_name, source_catalog, source_table, pending_changes and
    pending_snapshots; both counts are NULL when the feed no longer reaches back to the cursor.
    """
    cursors = _cursors(mv_catalogs, naming)
    history = _each_catalog(
        "SELECT %s AS __grebe_catalog, snapshot_id, changes FROM ducklake_snapshots(%s)",
        "SELECT '' AS __grebe_catalog, 0::BIGINT AS snapshot_id,"
        " MAP {'': ['']} AS changes WHERE FALSE",
    )
    return ";\n".join(
        [
            assign("__grebe_pending_history", f"{history} FROM (\n{cursors}\n) AS __grebe_cursors"),
            assign("__grebe_pending", _pending(cursors)),
            f"SELECT * FROM query({variable('__grebe_pending')})",
        ]
    )


def _cursors(catalogs: Iterable[Catalog], naming: Naming | None) -> str:
    table = (naming or Naming()).cursors_table()
    places = dict.fromkeys((c, "main") if isinstance(c, str) else c for c in catalogs)
    columns = "mv_name, source_catalog, source_schema, source_table, source_ids, last_snapshot"
    parts = [
        f"SELECT {literal(catalog)} AS mv_catalog, {columns} FROM {ident(catalog, schema, table)}"
        for catalog, schema in places
    ]
    nothing = (
        "SELECT '' AS mv_catalog, '' AS mv_name, '' AS source_catalog, '' AS source_schema,"
        " '' AS source_table, '' AS source_ids, 0::BIGINT AS last_snapshot WHERE FALSE"
    )
    return _stacked(parts) or nothing


def _stacked(parts: Sequence[str]) -> str:
    return "\nUNION ALL\n".join(parts)


def _quoted(value: str) -> str:
    """SQL that gives a value as a string literal inside generated SQL."""
    return f"('''' || replace({value}, '''', '''''') || '''')"


def _each_catalog(template: str, nothing: str) -> str:
    """A query for the text that stacks a template over every source catalog."""
    one = " || ".join(
        literal(part) if place % 2 == 0 else _quoted("source_catalog")
        for place, part in enumerate(_split(template))
    )
    return f"SELECT COALESCE(string_agg(DISTINCT {one}, ' UNION ALL '), {literal(nothing)})"


def _split(template: str) -> list[str]:
    """The text around every placeholder, with an entry for the placeholder itself."""
    found: list[str] = []
    for part in template.split("%s"):
        found += [part, ""]
    return found[:-1]


def _pending(cursors: str) -> str:
    names = " || ".join(
        f"{_quoted(name)} || ' AS {name}, '"
        for name in ("mv_catalog", "mv_name", "source_catalog", "source_table")
    )
    feed = (
        "'(SELECT COUNT(*) FROM ducklake_table_changes(' || "
        f"{_quoted('source_catalog')} || ', ' || {_quoted('source_schema')} || ', ' || "
        f"{_quoted('source_table')} || ', ' || "
    )
    window = (
        f"{feed}(last_snapshot + 1) || ', ' || __grebe_head || ') WHERE list_contains('"
        " || CAST(__grebe_waiting AS VARCHAR) || ', snapshot_id))'"
    )
    # A column of that name stands in the place of the feed's own: so it is asked for each snapshot.
    one_by_one = (
        f"array_to_string(list_transform(__grebe_waiting, lambda __grebe_w: {feed}__grebe_w"
        " || ', ' || __grebe_w || '))'), ' + ')"
    )
    feed = f"CASE WHEN __grebe_shadowed THEN {one_by_one} ELSE {window} END"
    counts = (
        f"CASE WHEN NOT __grebe_alive THEN 'NULL::BIGINT AS pending_changes, NULL::BIGINT'"
        f" WHEN len(__grebe_waiting) = 0 THEN '0::BIGINT AS pending_changes, 0::BIGINT'"
        f" ELSE {feed} || ' AS pending_changes, ' || len(__grebe_waiting) || '::BIGINT' END"
    )
    written = tables_of(MAINTENANCE, inside=False)
    dropped = tables_of(("tables_dropped",), inside=True)
    ids = "string_split(source_ids, ' ')"
    nothing = (
        "SELECT '' AS mv_catalog, '' AS mv_name, '' AS source_catalog, '' AS source_table,"
        " 0::BIGINT AS pending_changes, 0::BIGINT AS pending_snapshots WHERE FALSE"
    )
    return (
        f"WITH __grebe_cursors AS (\n{cursors}\n),\n"
        f"__grebe_history AS (SELECT * FROM query({variable('__grebe_pending_history')})),\n"
        "__grebe_seen AS (SELECT __grebe_cursors.*,\n"
        "  (SELECT MAX(snapshot_id) FROM __grebe_history WHERE __grebe_catalog = source_catalog)"
        " AS __grebe_head,\n"
        "  EXISTS (SELECT 1 FROM __grebe_history WHERE __grebe_catalog = source_catalog"
        " AND snapshot_id = last_snapshot)\n"
        "    AND NOT EXISTS (SELECT 1 FROM __grebe_history WHERE __grebe_catalog = source_catalog"
        f" AND snapshot_id > last_snapshot AND list_has_any({dropped}, {ids})) AS __grebe_alive,\n"
        "  COALESCE((SELECT list(snapshot_id ORDER BY snapshot_id) FROM __grebe_history"
        " WHERE __grebe_catalog = source_catalog AND snapshot_id > last_snapshot\n"
        f"    AND list_has_any({written}, {ids})), []) AS __grebe_waiting,\n"
        "  EXISTS (SELECT 1 FROM duckdb_columns() WHERE lower(database_name) = lower(source_catalog)"
        " AND lower(schema_name) = lower(source_schema)"
        " AND lower(table_name) = lower(source_table) AND lower(column_name) = 'snapshot_id')"
        " AS __grebe_shadowed\n"
        "  FROM __grebe_cursors)\n"
        f"SELECT COALESCE(string_agg('SELECT ' || {names} || {counts}"
        " || ' AS pending_snapshots', ' UNION ALL ' ORDER BY mv_catalog, mv_name,"
        f" source_catalog, source_table), {literal(nothing)}) FROM __grebe_seen"
    )
