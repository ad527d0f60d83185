"""What a DuckLake catalog's own tables say of one table, as values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from grebe.errors import SourceError, UnknownTableError
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.schema import LakeField, fields_of
from grebe.model import TableName
from grebe.program.duckdb_text import ident, literal

_CHANGE = re.compile(r"(?:^|,)([a-z_]+):(\d+)(?=,|$)")
FLUSHES = frozenset({"inline_flush", "flushed_inlined"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it is at one snapshot."""

    id: int
    uuid: str
    schema: str
    name: str
    begin: int
    """The snapshot that created it, or the oldest that is known of it."""
    folder: str

    def sql(self, session: Session) -> str:
        """The table in SQL."""
        return ident(session.alias, self.schema, self.name)


@dataclass(frozen=True, slots=True)
class LakeSnapshot:
    """One commit, and what it did to one table."""

    id: int
    committed_at: datetime
    kinds: frozenset[str] = frozenset()
    author: str | None = None
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogRows:
    """Reads the catalog's own tables in one session."""

    session: Session

    def newest(self) -> LakeSnapshot:
        """The newest commit of the whole catalog."""
        meta = self.session.meta
        (found,) = self._snapshots(
            f"s.snapshot_id = (SELECT max(snapshot_id) FROM {meta}.ducklake_snapshot)", None
        )
        return found

    def snapshot(self, number: int) -> LakeSnapshot | None:
        """One commit, None when it was expired."""
        found = self._snapshots(f"s.snapshot_id = {number}", None)
        return found[0] if found else None

    def next_snapshot(self, number: int) -> int | None:
        """The oldest commit after one that still exists."""
        meta = self.session.meta
        return self._number(
            f"SELECT min(snapshot_id) FROM {meta}.ducklake_snapshot WHERE snapshot_id > {number}"
        )

    def touches(self, table: Table, after: int) -> list[LakeSnapshot]:
        """The commits after one that name the table, oldest first."""
        meta = self.session.meta
        made = self.session.rows(
            f"SELECT DISTINCT begin_snapshot FROM {meta}.ducklake_table"
            f" WHERE table_id = {table.id} AND begin_snapshot > {after}"
        )
        named = {row[0] for row in made}
        found = self._snapshots(f"s.snapshot_id > {after}", table.id)
        return [s for s in found if s.kinds or s.id in named]

    def all(self, table: Table) -> list[LakeSnapshot]:
        """Every commit that is left, with what it did to the table, oldest first."""
        return self._snapshots("true", table.id)

    def missing(self, after: int, upto: int) -> bool:
        """Whether a commit of ``(after, upto]`` was expired."""
        meta = self.session.meta
        left = self._number(
            f"SELECT count(*) FROM {meta}.ducklake_snapshot"
            f" WHERE snapshot_id > {after} AND snapshot_id <= {upto}"
        )
        return left != upto - after

    def flushed_upto(self, table: Table) -> int:
        """The newest commit that flushed inlined rows of the table, or was expired and may have."""
        meta = self.session.meta
        gap = self._number(
            f"SELECT max(s.snapshot_id) - 1 FROM {meta}.ducklake_snapshot AS s LEFT JOIN"
            f" {meta}.ducklake_snapshot AS p ON p.snapshot_id = s.snapshot_id - 1"
            " WHERE p.snapshot_id IS NULL"
        )
        flushes = [
            s.id
            for s in self._snapshots("c.changes_made LIKE '%flush%'", table.id)
            if s.kinds & FLUSHES
        ]
        return max([gap if gap is not None else -1, *flushes])

    def _snapshots(self, condition: str, table_id: int | None) -> list[LakeSnapshot]:
        meta = self.session.meta
        rows = self.session.rows(
            "SELECT s.snapshot_id, epoch_us(CAST(s.snapshot_time AS TIMESTAMPTZ)),"
            f" c.changes_made, c.author, c.commit_extra_info FROM {meta}.ducklake_snapshot AS s"
            f" LEFT JOIN {meta}.ducklake_snapshot_changes AS c ON c.snapshot_id = s.snapshot_id"
            f" WHERE {condition} ORDER BY s.snapshot_id"
        )
        return [
            LakeSnapshot(row[0], _instant(row[1]), kinds_of(row[2], table_id), row[3], row[4])
            for row in rows
        ]

    def table(self, name: TableName) -> Table:
        """The table of a name as it is now.

        Raises:
            UnknownTableError: with the closest name that there is.
        """
        found = self._tables(
            f"lower(t.table_name) = {literal(name.name.lower())}"
            f" AND lower(s.schema_name) = {literal(name.schema.lower())}"
            " AND t.end_snapshot IS NULL AND s.end_snapshot IS NULL"
        )
        if not found:
            every = self._tables("t.end_snapshot IS NULL AND s.end_snapshot IS NULL")
            known = [f"{name.catalog}.{table.schema}.{table.name}" for table in every]
            raise UnknownTableError.named(str(name), known)
        return found[0]

    def table_at(self, table: Table, snapshot: int) -> Table:
        """The same table under the name it had at a snapshot."""
        found = self._tables(
            f"t.table_id = {table.id} AND t.begin_snapshot <= {snapshot}"
            f" AND (t.end_snapshot IS NULL OR t.end_snapshot > {snapshot})"
        )
        return found[0] if found else table

    def _tables(self, condition: str) -> list[Table]:
        meta = self.session.meta
        rows = self.session.rows(
            "SELECT t.table_id, CAST(t.table_uuid AS VARCHAR), s.schema_name, t.table_name,"
            f" (SELECT min(begin_snapshot) FROM {meta}.ducklake_table AS o"
            " WHERE o.table_id = t.table_id),"
            f" (SELECT value FROM {meta}.ducklake_metadata WHERE key = 'data_path'"
            " AND scope IS NULL),"
            " s.path, s.path_is_relative, t.path, t.path_is_relative"
            f" FROM {meta}.ducklake_table AS t JOIN {meta}.ducklake_schema AS s"
            f" ON s.schema_id = t.schema_id WHERE {condition}"
        )
        return [
            Table(
                id=row[0],
                uuid=row[1],
                schema=row[2],
                name=row[3],
                begin=row[4],
                folder=joined(joined(row[5], row[6], row[7]), row[8], row[9]),
            )
            for row in rows
        ]

    def columns(self, table: Table, snapshot: int) -> tuple[LakeField, ...]:
        """The columns at a snapshot."""
        return fields_of(
            self.session.rows(
                "SELECT column_id, parent_column, column_name, column_type, begin_snapshot,"
                f" nulls_allowed, initial_default FROM {self.session.meta}.ducklake_column"
                f" WHERE table_id = {table.id} AND {live('', snapshot)} ORDER BY column_order"
            )
        )

    def inlined(self, table: Table) -> list[str]:
        """The catalog's own tables that hold rows of the table."""
        rows = self.session.rows(
            f"SELECT table_name FROM {self.session.meta}.ducklake_inlined_data_tables"
            f" WHERE table_id = {table.id} ORDER BY table_name"
        )
        return [row[0] for row in rows]

    def has(self, name: str) -> bool:
        """Whether the catalog keeps a table of its own under a name."""
        query = f"SELECT 1 FROM {self.session.meta}.{ident(name)} LIMIT 0"
        return self.session.rows_if_there(query) is not None

    def last_trace(self, table: Table) -> int:
        """The newest snapshot that anything that is left of the table began or ended at."""
        meta = self.session.meta
        ends = "coalesce(max(greatest(begin_snapshot, coalesce(end_snapshot, 0))), 0)"
        parts = [
            f"SELECT {ends} FROM {meta}.{name} WHERE table_id = {table.id}"
            for name in ("ducklake_table", "ducklake_column", "ducklake_data_file")
        ]
        parts += [
            f"SELECT {ends} FROM {meta}.ducklake_delete_file WHERE table_id = {table.id}",
            *(
                f"SELECT coalesce(max(partial_max), 0) FROM {meta}.{name}"
                f" WHERE table_id = {table.id}"
                for name in ("ducklake_data_file", "ducklake_delete_file")
            ),
            *(f"SELECT {ends} FROM {meta}.{ident(name)}" for name in self.inlined(table)),
        ]
        deletes = f"ducklake_inlined_delete_{table.id}"
        if self.has(deletes):
            parts.append(f"SELECT coalesce(max(begin_snapshot), 0) FROM {meta}.{ident(deletes)}")
        return max(int(self._number(part) or 0) for part in parts)

    def _number(self, sql: str) -> int | None:
        found: int | None = self.session.row(sql)[0]
        return found


def refuse_plain(session: Session, what: str) -> None:
    """Nothing where files may be plain.

    Raises:
        SourceError: the catalog is encrypted, so rows must not lie beside its files as they are.
    """
    found = session.rows(
        f"SELECT 1 FROM {session.meta}.ducklake_metadata"
        " WHERE key = 'encrypted' AND lower(value) = 'true'"
    )
    if found:
        raise SourceError(
            f"{what} is in an encrypted DuckLake, into which Spark cannot write",
            detail="its files would not be encrypted",
            hint="keep the view in a catalog that is not encrypted",
            code="catalog-encrypted",
        )


def kinds_of(changes: str | None, table_id: int | None) -> frozenset[str]:
    """What a commit did to a table.

    >>> sorted(kinds_of("inlined_insert:1,inlined_delete:1,altered_table:12", 1))
    ['inlined_delete', 'inlined_insert']
    """
    if changes is None or table_id is None:
        return frozenset()
    return frozenset(kind for kind, number in _CHANGE.findall(changes) if int(number) == table_id)


def live(alias: str, snapshot: int) -> str:
    """The condition that a row of the catalog's tables counts at a snapshot."""
    dot = f"{alias}." if alias else ""
    return (
        f"{dot}begin_snapshot <= {snapshot}"
        f" AND ({dot}end_snapshot IS NULL OR {dot}end_snapshot > {snapshot})"
    )


def joined(folder: str, path: str, is_relative: object) -> str:
    """A path of the catalog, which may be relative to a folder."""
    return f"{folder}{path}" if is_relative else path


def _instant(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def names(paths: Sequence[str]) -> str:
    """Texts as an SQL list."""
    return ", ".join(literal(path) for path in paths)
