"""Views: a set of views over one DuckDB connection, checked, created once, and kept in order."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grebe.compiler.lower.scope import dotted
from grebe.compiler.parser.parse import parse
from grebe.compiler.text.references import base_tables
from grebe.errors import (
    ConflictError,
    DefinitionError,
    GrebeError,
    RefreshError,
    SourceError,
    UnknownTableError,
)
from grebe.program.duckdb_judge import same_to
from grebe.program.duckdb_text import ident, literal
from grebe.program.failures import typed
from grebe.program.make_program import compile_ivm
from grebe.program.naming import Naming
from grebe.program.program_sources import Options, ProgramSource, TablePlace, located
from grebe.program.program_view import MaterializedView
from grebe.program.utilities import PendingMaintenance, pending_maintenance_sql
from grebe.program.verbatim_program import expanded
from grebe.program.view_tree import tree
from grebe.view_graph import levels

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class _Named(Naming):
    def __init__(self, base: Naming, name: str) -> None:
        self.base, self.name = base, name

    def mv_table(self) -> str:
        return self.name

    def cursors_table(self) -> str:
        return self.base.cursors_table()

    def aux_column(self, purpose: str) -> str:
        return self.base.aux_column(purpose)


@dataclass(frozen=True, slots=True)
class _Definition:
    name: str
    sql: str
    sources: Options
    policy: str
    tables: tuple[ProgramSource, ...]


@dataclass(frozen=True, slots=True)
class Maintained:
    """What one maintain did: whether rows or only the cursor moved is the catalog's to say."""

    view: str
    changed: bool
    """True when a snapshot was written."""


@dataclass(slots=True)
class Views:
    """Views of one catalog and schema, run on a connection that has the catalogs attached."""

    connection: DuckDBPyConnection
    catalog: str = "dl"
    schema: str = "main"
    policy: str = "strict"
    naming: Naming = field(default_factory=Naming)
    retries: int = 3
    definitions: dict[str, _Definition] = field(default_factory=dict)
    compiled: dict[str, MaterializedView] = field(default_factory=dict)

    def add(
        self, name: str, sql: str, *, sources: Options | None = None, policy: str | None = None
    ) -> None:
        """Add a view; it may read tables and other views, in any order of adding.

        Raises:
            DefinitionError: the name is taken, or the text is no query.
        """
        if name.lower() in {known.lower() for known in self.definitions}:
            raise DefinitionError(f'view "{name}" is already there')
        place = TablePlace(self.catalog, self.schema)
        options = sources or {}
        written = {tuple(p.name for p in t.parts) for t in base_tables(parse(sql, "duckdb"))}
        tables = tuple(located(parts, place, options) for parts in sorted(written))
        chosen = policy or self.policy
        self.definitions[name] = _Definition(name, sql, options, chosen, tables)

    def parents(self) -> dict[str, list[str]]:
        """The views that each view reads."""
        known = {self._key(name).lower(): name for name in self.definitions}
        return {
            name: [known[t.key.lower()] for t in item.tables if t.key.lower() in known]
            for name, item in self.definitions.items()
        }

    def levels(self) -> list[list[str]]:
        """Views that can run side by side, level after level."""
        return levels(self.parents())

    def tree(self) -> str:
        """The views with what they read below them."""
        known = {self._key(name).lower() for name in self.definitions}
        sources = {
            name: [t.key for t in item.tables if t.key.lower() not in known]
            for name, item in self.definitions.items()
        }
        return tree(self.parents(), sources)

    def check(self) -> None:
        """Everything that can be known before creating: catalogs, tables, columns, no circle.

        Raises:
            SourceError: a catalog is not attached, or is not a DuckLake.
            UnknownTableError: a table that no catalog has.
            UnknownColumnError: a column that a table does not have.
            CycleError: views that read each other.
        """
        order = self.levels()
        for item in self.definitions.values():
            for catalog in sorted({self.catalog, *(t.catalog for t in item.tables)}):
                self._check_catalog(catalog)
        for name in order[0] if order else []:
            self._compile(name)

    def initialize(self) -> list[str]:
        """Create what is missing; gives the names of the views that were created."""
        self.check()
        made = []
        for level in self.levels():
            for name in level:
                view = self._compile(name)
                self._run(self.connection, [view.create_cursors_table])
                if self._is_missing(name, view):
                    setup = [view.create_mv, *view.initialize_cursors]
                    self._run(self.connection, ["BEGIN", *setup, "COMMIT"])
                    made.append(name)
        return made

    def maintain(self, *, parallelism: int = 1) -> list[Maintained]:
        """Bring every view up to date, parents first; a level may run side by side.

        All views share a table of cursors, so DuckLake may refuse many commits at once; what it
        still refuses after some attempts runs alone afterwards.
        """
        done: list[Maintained] = []
        for level in self.levels():
            views = [self._compile(name) for name in level]
            if parallelism == 1:
                done += [self._maintain(self.connection, view) for view in views]
                continue
            for view, found in zip(views, self._side_by_side(views, parallelism), strict=True):
                done.append(found or self._maintain(self.connection, view))
        return done

    def pending(self) -> list[PendingMaintenance]:
        """What waits, per view and source."""
        sql = pending_maintenance_sql([(self.catalog, self.schema)], self.naming)
        return [PendingMaintenance.of(row) for row in self.connection.execute(sql).fetchall()]

    def read(self, name: str) -> list[tuple[object, ...]]:
        """The rows of a view as readers see them."""
        return self.connection.execute(self._compile(name).query_mv).fetchall()

    def explain(self) -> dict[str, str]:
        """Every view's program in words; a view that cannot be compiled says why."""
        found: dict[str, str] = {}
        for name in self.definitions:
            try:
                found[name] = self._compile(name).explain()
            except GrebeError as error:
                found[name] = f"{name}: {error.explain()}"
        return found

    def _key(self, name: str) -> str:
        return dotted((self.catalog, self.schema, name))

    def _compile(self, name: str) -> MaterializedView:
        if name not in self.compiled:
            item = self.definitions[name]
            above = self.parents()[name]
            parents = {self._key(p).lower(): self._compile(p) for p in above}
            self.compiled[name] = compile_ivm(
                self._expanded(item, parents),
                naming=_Named(self.naming, name),
                mv_catalog=self.catalog,
                mv_schema=self.schema,
                sources=item.sources,
                schemas={t.written: self._columns(t, parents) for t in item.tables}
                | {self._key(p): self._stored(p) for p in above},
                policy=item.policy,
                judge=same_to(self.connection),
            )
        return self.compiled[name]

    def _expanded(self, item: _Definition, parents: Mapping[str, MaterializedView]) -> str:
        """The text with parents that hide rows replaced by what their readers see."""
        hiding: dict[str, str] = {
            t.written: parents[t.key.lower()].query_mv
            for t in item.tables
            if t.key.lower() in parents and parents[t.key.lower()].hides_rows
        }
        return expanded(item.sql, hiding) if hiding else item.sql

    def _columns(
        self, table: ProgramSource, parents: Mapping[str, MaterializedView]
    ) -> dict[str, str]:
        if table.key.lower() in parents:
            hidden = parents[table.key.lower()].hidden
            columns = self._describe(table.sql, table.key)
            return {name: kind for name, kind in columns.items() if name not in hidden}
        return self._describe(table.sql, table.key)

    def _stored(self, name: str) -> dict[str, str]:
        return self._describe(ident(self.catalog, self.schema, name), self._key(name))

    def _describe(self, table: str, name: str) -> dict[str, str]:
        import duckdb

        try:
            rows = self.connection.execute(f"DESCRIBE {table}").fetchall()
        except duckdb.CatalogException as error:
            raise UnknownTableError(f'table "{name}" does not exist', detail=str(error)) from error
        return {str(row[0]): str(row[1]) for row in rows}

    def _check_catalog(self, catalog: str) -> None:
        found = self.connection.execute(
            f"SELECT type FROM duckdb_databases() WHERE database_name = {literal(catalog)}"
        ).fetchone()
        if found is None:
            message = f'catalog "{catalog}" is not attached'
            raise SourceError(message, code="catalog-not-found")
        if found[0] != "ducklake":
            raise SourceError(f'catalog "{catalog}" is not a DuckLake', code="not-ducklake")

    def _is_missing(self, name: str, view: MaterializedView) -> bool:
        """True when neither the table nor a cursor row is there.

        Raises:
            DefinitionError: only one of them is, or another view has the name.
        """
        cursors = ident(self.catalog, self.schema, self.naming.cursors_table())
        rows = self.connection.execute(
            f"SELECT DISTINCT definition FROM {cursors} WHERE mv_name = {literal(name)}"
        ).fetchall()
        tables = self.connection.execute(
            f"SELECT 1 FROM duckdb_tables() WHERE database_name = {literal(self.catalog)}"
            f" AND schema_name = {literal(self.schema)} AND table_name = {literal(name)}"
        ).fetchall()
        if bool(rows) != bool(tables):
            what = "a table but no cursor" if tables else "a cursor but no table"
            message = f'view "{view.name}" has {what}'
            raise DefinitionError(message, hint="drop the table and the cursor rows", code="setup")
        if rows and rows != [(view.definition,)]:
            message = f'view "{view.name}" was created from another definition'
            raise DefinitionError(message, hint="drop it first", code="definition-changed")
        return not tables

    def _maintain(self, connection: DuckDBPyConnection, view: MaterializedView) -> Maintained:
        for attempt in range(self.retries + 1):
            try:
                return self._once(connection, view)
            except ConflictError:
                if attempt == self.retries:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _once(self, connection: DuckDBPyConnection, view: MaterializedView) -> Maintained:
        before = self._head(connection)
        try:
            self._run(connection, view.maintain)
        except RefreshError as error:
            if error.code != "engine-changed":
                raise
            self._run(connection, view.rehash)
            self._run(connection, view.maintain)
        return Maintained(view.name, changed=self._head(connection) != before)

    def _side_by_side(
        self, views: list[MaterializedView], parallelism: int
    ) -> list[Maintained | None]:
        """What came through; None for a view that others were always faster than."""
        cursors = [self.connection.cursor() for _ in views]

        def tried(connection: DuckDBPyConnection, view: MaterializedView) -> Maintained | None:
            try:
                return self._maintain(connection, view)
            except ConflictError:
                return None

        with ThreadPoolExecutor(parallelism) as pool:
            return list(pool.map(tried, cursors, views))

    def _head(self, connection: DuckDBPyConnection) -> object:
        sql = f"SELECT MAX(snapshot_id) FROM ducklake_snapshots({literal(self.catalog)})"
        return connection.execute(sql).fetchall()[0][0]

    def _run(self, connection: DuckDBPyConnection, statements: list[str]) -> None:
        import duckdb

        try:
            for statement in statements:
                connection.execute(statement)
        except duckdb.Error as error:
            with suppress(duckdb.TransactionException):
                connection.execute("ROLLBACK")
            raise typed(error) from error
