"""The cursor rows: what a view has seen of each source, and how they begin and move.

A row moves by UPDATE with a compare, in the transaction that writes the view's rows. DuckLake
refuses the second of two transactions that update the same rows, so one of two maintainers wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b

from grebe.compiler.program.sources import Source, struct
from grebe.compiler.program.text import assign, ident, literal, variable

COLUMNS = (
    ("mv_name", "VARCHAR"),
    ("source_catalog", "VARCHAR"),
    ("source_schema", "VARCHAR"),
    ("source_table", "VARCHAR"),
    ("last_snapshot", "BIGINT"),
    ("source_rows", "BIGINT"),
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

    def remember(self, read: str, pins: str) -> str:
        """The statement that hands on what `create_mv` has read."""
        points = [
            f"CAST({point} AS VARCHAR)"
            for source in self.sources
            for point in (
                f"{source.value(read)}.snapshot",
                f"(SELECT COUNT(*) FROM {source.at(pins)})",
                f"{source.value(read)}.identity",
                f"{source.value(read)}.columns",
            )
        ]
        return assign(self.created, f"SELECT [{', '.join(points)}]")

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
        """The condition that finds the row of a source among those of the view."""
        pairs = (
            ("source_table", source.table),
            ("source_schema", source.schema),
            ("source_catalog", source.catalog),
        )
        return " AND ".join(f"{ident(name)} = {literal(value)}" for name, value in pairs)

    @property
    def mine(self) -> str:
        """The condition that finds the rows of the view."""
        return f'"mv_name" = {literal(self.mv)}'

    def by_source(self, value: Callable[[Source], str], otherwise: str) -> str:
        """A value for the row of each source."""
        branches = " ".join(f"WHEN {self.key(s)} THEN {value(s)}" for s in self.sources)
        return f"CASE {branches} ELSE {otherwise} END"

    def read(self) -> str:
        """The rows as one variable, in one reading; a missing or a doubled row raises."""
        number = self.by_source(lambda source: str(source.number), "0")
        rows = (
            f"SELECT {number} AS source, definition, {{'snapshot': last_snapshot,"
            " 'rows': source_rows, 'identity': source_identity, 'columns': source_columns,"
            " 'written': snapshot_id} AS point"
            f"\nFROM {self.table} WHERE {self.mine}"
        )
        return assign("grebe_cursor", f"{struct(self.sources, self._read)} FROM (\n{rows}\n) AS c")

    def _read(self, source: Source) -> str:
        subject = f'materialized view "{self.view}" and source "{source.key}"'
        missing = f"no cursor row for {subject}: run create_mv and initialize_cursors first"
        double = f"more than one cursor row for {subject}"
        changed = (
            f'[definition-changed] materialized view "{self.view}" was created from another'
            " definition: drop it and create it again"
        )
        mine = f"FILTER (source = {source.number})"
        return (
            f"CASE COUNT(*) {mine} WHEN 0 THEN error({literal(missing)}) WHEN 1 THEN\n"
            f"  CASE WHEN MIN(definition) {mine} = {literal(self.definition)}"
            f" THEN ANY_VALUE(point) {mine} ELSE error({literal(changed)}) END\n"
            f"  ELSE error({literal(double)}) END"
        )

    def initialize(self) -> list[str]:
        """Two statements per source, and the last one forgets what `create_mv` left.

        Not one MERGE: DuckLake writes a file for what MERGE inserts, and keeps a few rows of an
        INSERT in its catalog, from where every maintain reads them faster.
        """
        made = [statement for source in self.sources for statement in self._initialize(source)]
        return [*made, f"SET VARIABLE {self.created} = NULL"]

    def _initialize(self, source: Source) -> list[str]:
        made = f"CAST({variable(self.created)} AS VARCHAR[])"
        first = 4 * (source.number - 1) + 1
        subject = f'materialized view "{self.view}" and source "{source.key}"'
        message = f"no cursor row for {subject}: run create_mv first, on this connection"
        values = {
            "mv_name": literal(self.mv),
            "source_catalog": literal(source.catalog),
            "source_schema": literal(source.schema),
            "source_table": literal(source.table),
            "last_snapshot": f"CAST({made}[{first}] AS BIGINT)",
            "source_rows": f"CAST({made}[{first + 1}] AS BIGINT)",
            "source_identity": f"{made}[{first + 2}]",
            "source_columns": f"{made}[{first + 3}]",
            "definition": literal(self.definition),
        }
        fresh = ", ".join(f"{value} AS {ident(name)}" for name, value in values.items())
        keys = ("mv_name", "source_catalog", "source_schema", "source_table")
        moved = ", ".join(f"{ident(n)} = {value}" for n, value in values.items() if n not in keys)
        mine = f"{self.mine} AND {self.key(source)}"
        nothing = f"{variable(self.created)} IS NULL"
        return [
            f"UPDATE {self.table} SET {moved}\nWHERE {mine} AND NOT {nothing}",
            f"INSERT INTO {self.table} ({', '.join(ident(name) for name in values)})\n"
            f"SELECT {fresh}\nWHERE CASE WHEN EXISTS (SELECT 1 FROM {self.table} WHERE {mine})"
            f" THEN FALSE WHEN {nothing} THEN error({literal(message)}) ELSE TRUE END",
        ]

    def move(self, *, redefines: bool) -> str:
        """The compare-and-set of every row: a row that is not where it was read raises.

        That each row is there exactly once was proved when it was read, in this transaction.
        ``redefines`` says that a source may have become another table, or other columns.
        """
        message = f'[conflict] the cursor of materialized view "{self.view}" was moved by another'

        def moved(source: Source) -> str:
            seen, new = source.value("grebe_cursor"), source.value("grebe_new")
            return (
                f"CASE WHEN last_snapshot = {seen}.snapshot THEN {new}"
                f" ELSE error({literal(message)}) END"
            )

        values = {
            "last_snapshot": moved,
            "source_rows": lambda source: source.value("grebe_rows"),
        }
        if redefines:
            values["source_identity"] = lambda source: f"{source.value('grebe_table')}.identity"
            values["source_columns"] = lambda source: f"{source.value('grebe_table')}.columns"
        sets = ",\n  ".join(
            f"{ident(name)} = {self.by_source(value, ident(name))}"
            for name, value in values.items()
        )
        return (
            f"UPDATE {self.table} SET\n  {sets}\nWHERE {self.mine} AND {variable('grebe_advance')}"
        )


def tables(catalogs: Iterable[str]) -> str:
    """A query for the tables of some catalogs, each catalog asked once.

    DuckLake tells no names of schemas here, only that the first one, `main`, is number 0.
    """
    return "\nUNION ALL\n".join(
        f"SELECT {literal(catalog)} AS catalog, lower(table_name) AS name,"
        " schema_id = 0 AS in_main,"
        " CAST(table_id AS VARCHAR) AS id, CAST(table_uuid AS VARCHAR) AS uuid"
        f" FROM ducklake_table_info({literal(catalog)})"
        for catalog in dict.fromkeys(catalogs)
    )


def named(catalog: str, schema: str, table: str) -> str:
    """The condition that finds a table by its name; outside `main` also those of other schemas."""
    is_main = "in_main" if schema.lower() == "main" else "NOT in_main"
    return f"name = {literal(table.lower())} AND catalog = {literal(catalog)} AND {is_main}"


def described(source: Source) -> str:
    """The identity of a source and the types of its used columns, over `tables`."""
    names = ", ".join(literal(name.lower()) for name, _ in source.columns) or "NULL"
    missing = f'source "{source.key}" does not exist'
    columns = (
        "SELECT COALESCE(string_agg(lower(column_name) || ' ' || column_type, ', '"
        f" ORDER BY lower(column_name)), '') FROM (DESCRIBE {source.sql})"
        f" WHERE lower(column_name) IN ({names})"
    )
    mine = f"FILTER ({named(source.catalog, source.schema, source.table)})"
    return (
        f"CASE WHEN COUNT(*) {mine} = 0 THEN error({literal(missing)}) ELSE\n"
        f"  {{'identity': string_agg(uuid, ' ' ORDER BY uuid) {mine},\n"
        f"   'ids': list(id) {mine},\n"
        f"   'columns': ({columns})}} END"
    )
