"""The cursor rows: what a view has seen of each source, and how they begin and move.

A row moves by UPDATE with a compare, in the transaction that writes the view's rows. DuckLake
refuses the second of two transactions that update the same rows, so one of two maintainers wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from grebe.compiler.program.sources import Source, struct
from grebe.compiler.program.text import (
    assign,
    ident,
    keep,
    literal,
    temporary,
    variable,
)

COLUMNS = (
    ("mv_name", "VARCHAR"),
    ("source_catalog", "VARCHAR"),
    ("source_schema", "VARCHAR"),
    ("source_table", "VARCHAR"),
    ("last_snapshot", "BIGINT"),
    ("source_identity", "VARCHAR"),
    ("source_columns", "VARCHAR"),
    ("definition", "VARCHAR"),
)


@dataclass(frozen=True, slots=True)
class Cursors:
    """The cursor rows of one view."""

    catalog: str
    schema: str
    name: str
    mv: str
    definition: str
    sources: tuple[Source, ...]

    @property
    def table(self) -> str:
        return ident(self.catalog, self.schema, self.name)

    @property
    def view(self) -> str:
        """The view as messages name it."""
        return f"{self.catalog}.{self.schema}.{self.mv}"

    @property
    def created(self) -> str:
        """The variable in which `create_mv` leaves what it read, for `initialize_cursors`."""
        digest = blake2b(f"{self.view}\x1f{self.definition}".encode(), digest_size=4).hexdigest()
        return f"grebe_created_{digest}"

    def remember(self, read: str) -> str:
        """The statement that hands on what `create_mv` has read."""
        points = [
            f"CAST({source.value(read)}.{what} AS VARCHAR)"
            for source in self.sources
            for what in ("snapshot", "identity", "columns")
        ]
        return f"SET VARIABLE {self.created} = [{', '.join(points)}]"

    def create(self) -> str:
        """The table, made if it is missing; a table with other columns is an error."""
        columns = ",\n".join(f"  {ident(name)} {kind} NOT NULL" for name, kind in COLUMNS)
        names = ", ".join(literal(name) for name, _ in COLUMNS)
        message = f"table {self.table} exists with other columns than those of cursors"
        check = assign(
            "grebe_checked",
            f"SELECT CASE WHEN COUNT(*) <> {len(COLUMNS)} THEN error({literal(message)})"
            f" ELSE TRUE END\nFROM (DESCRIBE {self.table}) WHERE column_name IN ({names})",
        )
        return f"CREATE TABLE IF NOT EXISTS {self.table} (\n{columns}\n);\n{check}"

    def key(self, source: Source) -> str:
        """The condition that finds the row of a source."""
        pairs = (
            ("mv_name", self.mv),
            ("source_catalog", source.catalog),
            ("source_schema", source.schema),
            ("source_table", source.table),
        )
        return " AND ".join(f"{ident(name)} = {literal(value)}" for name, value in pairs)

    def read(self) -> list[str]:
        """The rows as one variable; a missing or a doubled row raises."""
        rows = f"SELECT * FROM {self.table} WHERE mv_name = {literal(self.mv)}"
        return [keep("cursors", rows), assign("grebe_cursor", struct(self.sources, self._read))]

    def _read(self, source: Source) -> str:
        subject = f'materialized view "{self.view}" and source "{source.key}"'
        missing = f"no cursor row for {subject}: run create_mv and initialize_cursors first"
        double = f"more than one cursor row for {subject}"
        changed = (
            f'[definition-changed] materialized view "{self.view}" was created from another'
            " definition: drop it and create it again"
        )
        return (
            f"(SELECT CASE WHEN COUNT(*) = 0 THEN error({literal(missing)})\n"
            f"  WHEN COUNT(*) > 1 THEN error({literal(double)})\n"
            f"  WHEN MIN(definition) <> {literal(self.definition)} THEN error({literal(changed)})\n"
            "  ELSE {'snapshot': MIN(last_snapshot), 'identity': MIN(source_identity),"
            " 'columns': MIN(source_columns)} END\n"
            f"  FROM {temporary('cursors')} WHERE {self.key(source)})"
        )

    def initialize(self) -> list[str]:
        """One statement per source, and the last one forgets what `create_mv` left."""
        merged = [self._initialize(source) for source in self.sources]
        return [*merged, f"SET VARIABLE {self.created} = NULL"]

    def _initialize(self, source: Source) -> str:
        made = f"CAST({variable(self.created)} AS VARCHAR[])"
        first = 3 * (source.number - 1) + 1
        subject = f'materialized view "{self.view}" and source "{source.key}"'
        message = f"no cursor row for {subject}: run create_mv first, on this connection"
        values = {
            "mv_name": literal(self.mv),
            "source_catalog": literal(source.catalog),
            "source_schema": literal(source.schema),
            "source_table": literal(source.table),
            "last_snapshot": f"CAST({made}[{first}] AS BIGINT)",
            "source_identity": f"{made}[{first + 1}]",
            "source_columns": f"{made}[{first + 2}]",
            "definition": literal(self.definition),
        }
        fresh = ", ".join(f"{value} AS {ident(name)}" for name, value in values.items())
        keys = ("mv_name", "source_catalog", "source_schema", "source_table")
        on = " AND ".join(f"have.{ident(name)} = fresh.{ident(name)}" for name in keys)
        moved = ", ".join(f"{ident(n)} = fresh.{ident(n)}" for n in values if n not in keys)
        names = ", ".join(ident(name) for name in values)
        inserted = ", ".join(f"fresh.{ident(name)}" for name in values)
        known = f"EXISTS (SELECT 1 FROM {self.table} WHERE {self.key(source)})"
        nothing = f"{variable(self.created)} IS NULL"
        return (
            f"MERGE INTO {self.table} AS have USING (\n"
            f"  SELECT {fresh}\n"
            f"  WHERE CASE WHEN NOT {nothing} THEN TRUE WHEN {known} THEN FALSE"
            f" ELSE error({literal(message)}) END\n"
            f") AS fresh ON {on}\n"
            f"WHEN MATCHED THEN UPDATE SET {moved}\n"
            f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({inserted})"
        )

    def move(self) -> list[str]:
        """The compare-and-set of every row: a row that is not where it was read raises.

        That each row is there exactly once was proved when it was read, in this transaction.
        """
        message = f'[conflict] the cursor of materialized view "{self.view}" was moved by another'
        moved = " ".join(
            f"WHEN {self.key(s)} AND last_snapshot = {s.value('grebe_cursor')}.snapshot"
            f" THEN {s.value('grebe_new')}"
            for s in self.sources
        )
        sets = [f'"last_snapshot" = CASE {moved} ELSE error({literal(message)}) END']
        sets += [
            f"{ident(target)} = {self._by_source(what)}"
            for target, what in (("source_identity", "identity"), ("source_columns", "columns"))
        ]
        rows = " OR ".join(f"({self.key(source)})" for source in self.sources)
        return [
            f"UPDATE {self.table} SET\n  {f',{chr(10)}  '.join(sets)}\n"
            f"WHERE {variable('grebe_advance')} AND ({rows})"
        ]

    def _by_source(self, what: str) -> str:
        branches = [
            f"WHEN {self.key(s)} THEN {s.value('grebe_table')}.{what}" for s in self.sources
        ]
        return f"CASE {' '.join(branches)} END"


def described(source: Source) -> str:
    """A query for the identity of a source and the types of its used columns."""
    names = ", ".join(literal(name.lower()) for name, _ in source.columns) or "NULL"
    missing = f'source "{source.key}" does not exist'
    columns = (
        "SELECT COALESCE(string_agg(lower(column_name) || ' ' || column_type, ', '"
        f" ORDER BY lower(column_name)), '') FROM (DESCRIBE {source.sql})"
        f" WHERE lower(column_name) IN ({names})"
    )
    return (
        f"SELECT CASE WHEN COUNT(*) = 0 THEN error({literal(missing)}) ELSE\n"
        "  {'identity': string_agg(CAST(table_uuid AS VARCHAR), ' ' ORDER BY table_uuid),\n"
        "   'ids': list(CAST(table_id AS VARCHAR)),\n"
        f"   'columns': ({columns})}} END\n"
        f"FROM ducklake_table_info({literal(source.catalog)})\n"
        f"WHERE lower(table_name) = {literal(source.table.lower())}"
    )


HISTORY = temporary("history")
"""The snapshots of every catalog that matters, read once."""
