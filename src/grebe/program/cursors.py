"""The cursor rows: what a view has seen of each source, and how they begin and move.

A row moves by UPDATE with a compare, in the transaction that writes the view's rows. DuckLake
refuses the second of two transactions that update the same rows, so one of two maintainers wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from sqlglot import exp

from grebe.compiler.lower.scope import dotted
from grebe.program.duckdb_text import assign, ident, literal, require_none, variable
from grebe.program.program_sources import ProgramSource

COLUMNS = (
    ("mv_name", "VARCHAR"),
    ("source_catalog", "VARCHAR"),
    ("source_schema", "VARCHAR"),
    ("source_table", "VARCHAR"),
    ("last_snapshot", "BIGINT"),
    ("source_rows", "BIGINT"),
    ("source_identity", "VARCHAR"),
    ("source_ids", "VARCHAR"),
    ("source_columns", "VARCHAR"),
    ("mv_identity", "VARCHAR"),
    ("mv_ids", "VARCHAR"),
    ("mv_snapshot", "BIGINT"),
    ("run", "VARCHAR"),
    ("settings", "VARCHAR"),
    ("engine", "VARCHAR"),
    ("definition", "VARCHAR"),
)
"""The uuids and ids of tables are lists, separated by blanks: outside of `main` a name is not one.

``mv_snapshot`` is the newest snapshot of the view's own catalog when it was written last, and
``run`` what that snapshot carries as its extra info; it is empty until the first maintain.
"""
_PER_SOURCE = ("last_snapshot", "source_rows", "source_identity", "source_ids", "source_columns")
_PER_VIEW = ("mv_snapshot", "settings", "engine")
COLLATES = "current_setting('default_collation') <> ''"
_SETTINGS = ("TimeZone", "default_collation", "default_null_order", "integer_division")


@dataclass(frozen=True, slots=True)
class Cursors:
    """The cursor rows of one view."""

    catalog: str
    schema: str
    name: str
    mv: str
    definition: str
    sources: tuple[ProgramSource, ...]

    @property
    def table(self) -> str:
        return ident(self.catalog, self.schema, self.name)

    @property
    def view(self) -> str:
        """The view as messages name it."""
        return dotted((self.catalog, self.schema, self.mv))

    @property
    def created(self) -> str:
        """The variable in which `create_mv` leaves what it read, for `initialize_cursors`."""
        digest = blake2b(f"{self.view}\x1f{self.definition}".encode(), digest_size=4).hexdigest()
        return f"__grebe_created_{digest}"

    def remember(self, read: str, pins: str) -> str:
        """The statement that hands on what `create_mv` has read."""
        points = [
            point
            for source in self.sources
            for point in (
                f"{source.value(read)}.snapshot",
                f"(SELECT COUNT(*) FROM {source.at(pins)})",
                f"{source.value(read)}.identity",
                f"array_to_string({source.value(read)}.ids, ' ')",
                f"{source.value(read)}.columns",
            )
        ]
        points += [f"{variable(read)}.own", SETTINGS_NOW, "version()"]
        texts = ", ".join(f"CAST({point} AS VARCHAR)" for point in points)
        return assign(self.created, f"SELECT [{texts}]")

    @property
    def collates(self) -> str:
        """What is wrong with a session that compares texts in its own way."""
        return (
            f'[settings] materialized view "{self.view}" is neither made nor kept under a'
            " default_collation: different texts would be taken for one"
        )

    def check_settings(self) -> str:
        """The statement that raises when the session has a collation."""
        return require_none(f"SELECT 1 WHERE {COLLATES}", self.collates)

    def create(self) -> str:
        """The table, made if it is missing; a table with other columns is an error."""
        columns = ",\n".join(f"  {ident(name)} {kind} NOT NULL" for name, kind in COLUMNS)
        names = ", ".join(literal(name) for name, _ in COLUMNS)
        message = f"table {self.table} exists with other columns than those of cursors"
        check = assign(
            "__grebe_checked",
            f"SELECT CASE WHEN COUNT(*) <> {len(COLUMNS)} THEN error({literal(message)})"
            f" ELSE TRUE END\nFROM (DESCRIBE {self.table}) WHERE column_name IN ({names})",
        )
        return f"CREATE TABLE IF NOT EXISTS {self.table} (\n{columns}\n);\n{check}"

    def key(self, source: ProgramSource) -> str:
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

    def by_source(self, value: Callable[[ProgramSource], str], otherwise: str) -> str:
        """A value for the row of each source."""
        branches = " ".join(f"WHEN {self.key(s)} THEN {value(s)}" for s in self.sources)
        return f"CASE {branches} ELSE {otherwise} END"

    def read(self) -> str:
        """The rows as one variable, in one reading; a missing or a doubled row raises."""
        number = self.by_source(lambda source: str(source.number), "0")
        names = {
            "snapshot": "last_snapshot",
            "rows": "source_rows",
            "identity": "source_identity",
            "ids": "string_split(source_ids, ' ')",
            "columns": "source_columns",
        }
        own = {
            "snapshot": "mv_snapshot",
            "identity": "mv_identity",
            "ids": "string_split(mv_ids, ' ')",
            "run": "run",
            "settings": "settings",
            "engine": "engine",
        }
        rows = (
            f"SELECT {number} AS __grebe_source, definition AS __grebe_definition,"
            f" {_fields(names)} AS __grebe_point, {_fields(own)} AS __grebe_own\nFROM {self.table} WHERE {self.mine}"
        )
        fields = [
            f"{literal(s.field)}: __grebe_found[{s.number}].__grebe_point" for s in self.sources
        ]
        struct = ", ".join([*fields, "'own': __grebe_found[1].__grebe_own"])
        cases = "\n  ".join(f"WHEN {test} THEN error({text})" for test, text in self._wrong())
        return assign(
            "__grebe_cursor",
            f"SELECT CASE {cases}\n  ELSE {{{struct}}} END\n"
            "FROM (SELECT COALESCE(list(__grebe_c ORDER BY __grebe_source), []) AS __grebe_found"
            f" FROM (\n{rows}\n) AS __grebe_c WHERE __grebe_source > 0)",
        )

    def _wrong(self) -> list[tuple[str, str]]:
        """What may be wrong with the rows that were found, ordered by source."""
        numbers = _each("source")
        cases = []
        for source in self.sources:
            subject = f'materialized view "{self.view}" and source "{source.key}"'
            missing = f"no cursor row for {subject}: run create_mv and initialize_cursors first"
            double = f"more than one cursor row for {subject}"
            count = f"len(list_filter({numbers}, lambda __grebe_n: __grebe_n = {source.number}))"
            here = [(f"{count} = 0", literal(missing)), (f"{count} > 1", literal(double))]
            cases.append(here)
        changed = (
            f'[definition-changed] materialized view "{self.view}" was created from another'
            " definition: drop it and create it again"
        )
        torn = (
            f'[setup] the cursor rows of materialized view "{self.view}" are not of one set-up:'
            " drop the view and create it again"
        )
        wanted = f"[{', '.join(str(s.number) for s in self.sources)}]"
        # Which source it is, is only asked when something is wrong.
        missed = "\n".join(f"WHEN {test} THEN {text}" for here in cases for test, text in here)
        runs = (
            "list_unique(list_transform(__grebe_found, lambda __grebe_c:"
            " concat(__grebe_c.__grebe_own.snapshot, __grebe_c.__grebe_own.run)))"
        )
        return [
            (f"{numbers} <> {wanted}", f"CASE {missed} END"),
            (
                f"{_each('definition')}"
                f" <> [{', '.join([literal(self.definition)] * len(self.sources))}]",
                literal(changed),
            ),
            (f"{runs} > 1", literal(torn)),
        ]

    def initialize(self) -> list[str]:
        """Two statements per source; before them a check, after them what was left is forgotten.

        Not one MERGE: DuckLake writes a file for what MERGE inserts, and keeps a few rows of an
        INSERT in its catalog, from where every maintain reads them faster.
        """
        made = [statement for source in self.sources for statement in self._initialize(source)]
        others = " OR ".join(f"({self.key(source)})" for source in self.sources)
        stale = (
            f"DELETE FROM {self.table} WHERE {self.mine} AND NOT ({others})"
            f" AND {variable(self.created)} IS NOT NULL"
        )
        found = tables([self.catalog])
        here = named(self.catalog, self.schema, self.mv)
        known = assign(
            "__grebe_made",
            "SELECT {'identity': COALESCE(string_agg(__grebe_uuid, ' ' ORDER BY __grebe_uuid), ''),"
            " 'ids': COALESCE(string_agg(__grebe_id, ' ' ORDER BY __grebe_uuid), '')}"
            f"\nFROM (\n{found}\n) AS __grebe_found WHERE {here}",
        )
        return [known, self._same_table(), stale, *made, f"SET VARIABLE {self.created} = NULL"]

    def _same_table(self) -> str:
        """Without `create_mv` on this connection, rows that are there must be of the same table."""
        message = (
            f'[foreign-write] the table of materialized view "{self.view}" is not the one of its'
            " cursor rows: drop both and create it again"
        )
        again = (
            f"(SELECT COUNT(*) FROM ducklake_snapshots({literal(self.catalog)})"
            f" WHERE snapshot_id > mv_snapshot AND contains({CREATED}, {literal(self.made)}))"
            " > CASE WHEN run = '' THEN 1 ELSE 0 END"
        )
        other = (
            f"mv_identity <> '' AND mv_identity <> {variable('__grebe_made')}.identity"
            if self.schema.lower() == "main"
            else "FALSE"
        )
        wrong = (
            f"SELECT 1 FROM {self.table} WHERE {self.mine}"
            f" AND {variable(self.created)} IS NULL AND ({other} OR {again})"
        )
        return require_none(wrong, message)

    @property
    def made(self) -> str:
        """The view's table as snapshots name a table that was made, in a common spelling."""
        return created(self.schema, self.mv)

    def _initialize(self, source: ProgramSource) -> list[str]:
        made = f"CAST({variable(self.created)} AS VARCHAR[])"
        first = len(_PER_SOURCE) * (source.number - 1) + 1
        last = len(_PER_SOURCE) * len(self.sources) + 1
        subject = f'materialized view "{self.view}" and source "{source.key}"'
        message = f"no cursor row for {subject}: run create_mv first, on this connection"
        kinds = dict(COLUMNS)
        values = {
            "mv_name": literal(self.mv),
            "source_catalog": literal(source.catalog),
            "source_schema": literal(source.schema),
            "source_table": literal(source.table),
            **{
                name: f"CAST({made}[{place}] AS {kinds[name]})"
                for start, names in ((first, _PER_SOURCE), (last, _PER_VIEW))
                for place, name in enumerate(names, start)
            },
            "mv_identity": f"{variable('__grebe_made')}.identity",
            "mv_ids": f"{variable('__grebe_made')}.ids",
            "run": "''",
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

        def moved(source: ProgramSource) -> str:
            seen, new = source.value("__grebe_cursor"), source.pin("new")
            return (
                f"CASE WHEN last_snapshot = {seen}.snapshot THEN {new}"
                f" ELSE error({literal(message)}) END"
            )

        values: dict[str, Callable[[ProgramSource], str]] = {
            "last_snapshot": moved,
            "source_rows": lambda source: source.value("__grebe_rows"),
        }
        alike = dict(_OWN)
        if redefines:
            values["source_identity"] = lambda source: f"{source.value('__grebe_look')}.identity"
            values["source_ids"] = lambda s: f"array_to_string({s.value('__grebe_look')}.ids, ' ')"
            alike |= _HERE
        parts = [
            f"{ident(name)} = {self.by_source(value, ident(name))}"
            for name, value in values.items()
        ]
        sets = ",\n  ".join([*parts, *(f"{ident(n)} = {value}" for n, value in alike.items())])
        return f"UPDATE {self.table} SET\n  {sets}\nWHERE {self.mine} AND {variable('__grebe_advance')}"

    def own(self) -> str:
        """The statement that tells the rows of a write that is the view's own but no maintain."""
        sets = ", ".join(f"{ident(n)} = {value}" for n, value in {**_OWN, **_HERE}.items())
        return f"UPDATE {self.table} SET {sets} WHERE {self.mine}"


def _each(name: str) -> str:
    """The values of one column of the cursor rows that were found."""
    return f"list_transform(__grebe_found, lambda __grebe_c: __grebe_c.__grebe_{name})"


def tables(catalogs: Iterable[str]) -> str:
    """A query for the tables of some catalogs, each catalog asked once.

    DuckLake tells no names of schemas here, only that the first one, `main`, is number 0.
    """
    return "\nUNION ALL\n".join(
        f"SELECT {literal(catalog)} AS __grebe_catalog, lower(table_name) AS __grebe_name,"
        " schema_id = 0 AS __grebe_in_main, CAST(table_id AS VARCHAR) AS __grebe_id,"
        " CAST(table_uuid AS VARCHAR) AS __grebe_uuid"
        f" FROM ducklake_table_info({literal(catalog)})"
        for catalog in dict.fromkeys(catalogs)
    )


def named(catalog: str, schema: str, table: str) -> str:
    """The condition that finds a table by its name; outside `main` also those of other schemas."""
    is_main = "__grebe_in_main" if schema.lower() == "main" else "NOT __grebe_in_main"
    found = f"__grebe_name = {literal(table.lower())} AND __grebe_catalog = {literal(catalog)}"
    return f"{found} AND {is_main}"


def described(source: ProgramSource) -> str:
    """The identity of a source and the types of its used columns, over `tables`."""
    missing = f'source "{source.key}" does not exist'
    mine = f"FILTER ({named(source.catalog, source.schema, source.table)})"
    return (
        f"CASE WHEN COUNT(*) {mine} = 0 THEN error({literal(missing)}) ELSE\n"
        f"  {{'identity': string_agg(__grebe_uuid, ' ' ORDER BY __grebe_uuid) {mine},\n"
        f"   'ids': list(__grebe_id ORDER BY __grebe_uuid) {mine},\n"
        f"   'columns': ({_used(source)})}} END"
    )


def _used(source: ProgramSource) -> str:
    names = ", ".join(literal(name.lower()) for name, _ in source.columns) or "NULL"
    return (
        "SELECT COALESCE(string_agg(lower(column_name) || ' ' || column_type, ', '"
        f" ORDER BY lower(column_name)), '') FROM (DESCRIBE {source.sql})"
        f" WHERE lower(column_name) IN ({names})"
    )


def check_types(sources: Iterable[ProgramSource]) -> list[str]:
    """The statements that raise when a used column has another type than the caller gave.

    DuckDB itself says what a type is called, so that every spelling of one will do.
    """
    return [_check_types(source) for source in sources if any(k for _, k in source.columns)]


def _check_types(source: ProgramSource) -> str:
    given = ", ".join(
        f"({literal(name.lower())}, typeof(CAST(NULL AS {_spelled(kind)})))"
        for name, kind in source.columns
        if kind
    )
    message = literal(f'[schema-mismatch] source "{source.key}" has other types than `schemas`: ')
    found = "string_agg(lower(column_name) || ' ' || column_type, ', ' ORDER BY column_name)"
    wrong = (
        f"SELECT {found} AS __grebe_columns FROM (DESCRIBE {source.sql}) AS __grebe_have"
        f" JOIN (VALUES {given}) AS __grebe_given(__grebe_name, __grebe_kind)"
        " ON lower(column_name) = __grebe_name WHERE column_type <> __grebe_kind"
    )
    return assign(
        "__grebe_checked",
        "SELECT CASE WHEN __grebe_columns IS NULL THEN TRUE"
        f" ELSE error({message} || __grebe_columns) END FROM (\n{wrong}\n) AS __grebe_wrong",
    )


def _spelled(kind: str) -> str:
    """A type as the caller wrote it, proved to be nothing but a type."""
    return exp.DataType.build(kind, dialect="duckdb", udt=True).sql("duckdb")


CREATED = (
    "concat('|', replace(lower(array_to_string(flatten(map_extract(changes, 'tables_created')),"
    " '|')), '\"', ''), '|')"
)
"""The tables that a snapshot made, or that got their names in it, as one text."""


def created(schema: str, table: str) -> str:
    """A table as `CREATED` spells it; that another one is spelled the same does no harm."""
    name = f"{schema}.{table}".lower().replace('"', "")
    return f"|{name}|"


def _fields(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{literal(name)}: {value}" for name, value in values.items()) + "}"


def _settings_now() -> str:
    """The settings of a session that change what a query means, as one text."""
    items = ", ' ', ".join(
        f"'{name}=', lower(CAST(current_setting('{name}') AS VARCHAR))" for name in _SETTINGS
    )
    return f"replace(concat({items}), '=etc/utc', '=utc')"


SETTINGS_NOW = _settings_now()
_HERE = {"settings": SETTINGS_NOW, "engine": "version()"}
_OWN = {
    "mv_identity": f"{variable('__grebe_look')}.own.identity",
    "mv_ids": f"array_to_string({variable('__grebe_look')}.own.ids, ' ')",
    "mv_snapshot": f"{variable('__grebe_seen')}.own.newest",
    "run": f"{variable('__grebe_window')}.run",
}
"""What the rows say of the view's own table after a write."""
