"""What may go of a catalog's history for the sake of views: commits that changed nothing else.

A snapshot is one of all tables, and the tables of other people are not ours to shorten. Rows that
one of their snapshots still shows therefore stay, until its owner expires it.
"""

from __future__ import annotations

import re
from collections.abc import Set
from datetime import datetime

from grebe.formats.base import OWN, holds_view
from grebe.formats.ducklake.connections import Session
from grebe.program.duckdb_text import literal

_NAME = r'"((?:[^"]|"")*)"'
_CHANGE = re.compile(rf"[a-z_]+:(?:(\d+)|{_NAME}\.{_NAME})(?:,|$)")
_FRONTIER = "__frontier"


def storages(lake: Session) -> list[tuple[str, str]]:
    """Schema and name of every table that holds a view now."""
    rows = lake.rows(
        f"SELECT s.schema_name, t.table_name FROM {lake.meta}.ducklake_table AS t"
        f" JOIN {lake.meta}.ducklake_schema AS s"
        " ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL"
        " WHERE t.end_snapshot IS NULL ORDER BY ALL"
    )
    return [(s, t) for s, t in rows if holds_view(t) and not t.endswith(_FRONTIER)]


def expire(lake: Session, before: datetime | None) -> None:
    """Remove the commits before a moment that only views were changed by; None: all but the newest."""
    meta, limit = lake.meta, "true"
    if before is not None:
        micros = round(before.timestamp() * 1_000_000)
        limit = f"epoch_us(CAST(s.snapshot_time AS TIMESTAMPTZ)) < {micros}"
    rows = lake.rows(
        f"SELECT s.snapshot_id, c.changes_made FROM {meta}.ducklake_snapshot AS s"
        f" JOIN {meta}.ducklake_snapshot_changes AS c ON c.snapshot_id = s.snapshot_id"
        f" WHERE {limit}"
        f" AND s.snapshot_id < (SELECT max(snapshot_id) FROM {meta}.ducklake_snapshot)"
    )
    tables, public = _own(lake)
    gone = [str(number) for number, changes in rows if only_own(changes, tables, public)]
    own = literal(lake.alias)
    if gone:
        lake.insist(f"CALL ducklake_expire_snapshots({own}, versions => [{', '.join(gone)}])")
    if before is None:
        lake.insist(f"CALL ducklake_cleanup_old_files({own}, cleanup_all => true)")
    else:
        stamp = literal(before.isoformat())
        lake.insist(
            f"CALL ducklake_cleanup_old_files({own}, older_than => CAST({stamp} AS TIMESTAMPTZ))"
        )


def only_own(changes: str | None, tables: Set[int], public: Set[tuple[str, str]]) -> bool:
    """Whether a commit changed nothing but storage tables and public names.

    >>> only_own('inserted_into_table:3,created_table:"s"."__grebe_v_1a2b3c4d"', {3}, set())
    True
    >>> only_own('inserted_into_table:3,inserted_into_table:4', {3}, set())
    False
    >>> only_own('created_view:"s"."v"', set(), {("s", "v")})
    True
    """
    rest = changes or ""
    if not rest:
        return False
    at = 0
    while at < len(rest):
        found = _CHANGE.match(rest, at)
        if found is None:
            return False
        number, schema, name = found.groups()
        if number is None:
            named = (schema.replace('""', '"'), name.replace('""', '"'))
            if not named[1].startswith(OWN) and named not in public:
                return False
        elif int(number) not in tables:
            return False
        at = found.end()
    return True


def _own(lake: Session) -> tuple[set[int], set[tuple[str, str]]]:
    """The ids of storage tables and of views over them, of all times; and the views' names."""
    meta = lake.meta
    tables = lake.rows(f"SELECT table_id, table_name FROM {meta}.ducklake_table")
    views = lake.rows(
        f"SELECT v.view_id, s.schema_name, v.view_name, v.sql FROM {meta}.ducklake_view AS v"
        f" JOIN {meta}.ducklake_schema AS s ON s.schema_id = v.schema_id"
    )
    ids = {number for number, name in tables if name.startswith(OWN)}
    public = [(number, (s, name)) for number, s, name, sql in views if OWN in sql]
    return ids | {number for number, _ in public}, {name for _, name in public}
