"""Runs trees on DuckDB: the tables of a version behind each leaf, and the types of expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import duckdb

from compiler.laws.databases import CASE, CASES, History, ident, load
from grebe.compiler.algebra.known_types import Types, scan_types, wanted
from grebe.compiler.algebra.nodes import At, Named, Node, RowsNear, Scan, Stored
from grebe.compiler.emit import Leaf, emit

STORAGE: Final = '"storage"'
_SUFFIX: Final = {At.QUERY: "new", At.NEW: "new", At.OLD: "old", At.DELTA: "delta"}


@dataclass(slots=True)
class Database:
    """A DuckDB with every version of the random tables; ``prefix`` tells sets of tables apart.

    Trees read views whose names say old, new or delta, so that their text is the same in every
    cycle; ``at`` points the views at the tables of a cycle.
    """

    connection: duckdb.DuckDBPyConnection
    tables: frozenset[str]
    prefix: str = ""
    cycle: int = 1
    tables_prefix: str = ""
    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    held: dict[str, list[str]] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)

    @staticmethod
    def of(history: History, *, threads: int = 1) -> Database:
        """A new database in memory that holds the history."""
        connection = duckdb.connect(config={"threads": threads})
        load(connection, history)
        database = Database(connection, frozenset(history.tables))
        return database.at(1)

    def at(self, cycle: int) -> Database:
        """The database with version ``cycle`` as the new one."""
        self.cycle = cycle
        statements = []
        for table in sorted(self.tables):
            views = {"new": f"_{cycle}"}
            if cycle > 0:
                views |= {"old": f"_{cycle - 1}", "delta": f"_d{cycle}"}
            statements += [
                f"CREATE OR REPLACE VIEW {ident(f'{self.prefix}{table}_{name}')} AS"
                f" SELECT * FROM {ident(f'{self.tables_prefix}{table}{version}')}"
                for name, version in views.items()
            ]
        self.connection.execute("; ".join(statements))
        return self

    def names(self, leaf: Leaf) -> str:
        """The table behind a leaf, as it is in the current cycle."""
        match leaf:
            case Stored():
                return STORAGE
            case Named(step=step):
                return ident(f"step_{step}")
            case Scan(table=table) if table == CASES:
                return self._unchanged(leaf)
            case Scan(table=table, at=at) if leaf.near is None:
                return ident(f"{self.prefix}{table}_{_SUFFIX[at]}")
            case Scan():
                return self._near(leaf, leaf.near)
        raise AssertionError(f"no table for {leaf}")

    def _near(self, leaf: Scan, near: RowsNear) -> str:
        """No row more than a scan says is enough."""
        whole = self.names(replace(leaf, near=None))
        keys = " UNION ALL ".join(
            f"SELECT {ident(source)} FROM {ident(f'{self.prefix}{table}_delta')}"
            for table, source in near.deltas
        )
        test = f"k.v IS NOT DISTINCT FROM t.{ident(near.column)}"
        return f"(SELECT * FROM {whole} AS t SEMI JOIN ({keys}) AS k(v) ON {test}) AS near"

    def _unchanged(self, leaf: Scan) -> str:
        if leaf.at is At.DELTA:
            return f"(SELECT *, 0 AS __grebe_weight FROM {CASES} WHERE FALSE) AS no_change"
        return ident(f"{self.prefix}{CASES}")

    def versions_of(self, table: str) -> list[str]:
        """The tables that hold a version or a delta of a source."""
        if table not in self.held:
            names = [str(name) for (name,) in self.rows("SELECT table_name FROM duckdb_tables()")]
            whole = re.compile(re.escape(table) + "_d?[0-9]+")
            self.held[table] = sorted(name for name in names if whole.fullmatch(name))
        return self.held[table]

    def sql(self, node: Node) -> str:
        """The text of a tree in the current cycle."""
        key = (node.digest, self.prefix)
        if key not in self.texts:
            self.texts[key] = emit(node, "duckdb", self.names)
        return self.texts[key]

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a statement."""
        return self.connection.execute(sql).fetchall()

    def types_of(self, root: Node) -> Types:
        """The types of the expressions that decide a rule, by DESCRIBE."""
        found = scan_types(root, self._schemas())
        for relation, items in wanted(root):
            unknown = [item for item in items if item.text not in found]
            texts = {item.text: item.ast.sql("duckdb", comments=False) for item in unknown}
            found.update(self._described(relation, texts))
        return Types("duckdb", found)

    def _schemas(self) -> dict[str, dict[str, str]]:
        """Column types by table."""
        return {
            table: {
                str(name): str(kind)
                for name, kind, *_ in self.rows(f"DESCRIBE {ident(f'{self.prefix}{table}_new')}")
            }
            for table in sorted(self.tables)
        }

    def _described(self, relation: Node, texts: dict[str, str]) -> dict[str, str]:
        known = {text: sql for text, sql in texts.items() if sql != "*"}
        if not known:
            return {}
        items = ", ".join(f"{sql} AS value{place}" for place, sql in enumerate(known.values()))
        rows = self.rows(f"DESCRIBE SELECT {items} FROM (\n{self.sql(relation)}\n) AS q")
        return {text: str(row[1]) for text, row in zip(known, rows, strict=True)}


def one_case(database: Database, case: int, prefix: str = "one_") -> Database:
    """The database of one case alone, without its case id."""
    own = f"case{case}_"
    if case not in database.alone:
        statements = [
            f"CREATE TABLE {ident(f'{own}{name}')} AS SELECT * EXCLUDE ({CASE}) FROM {ident(name)}"
            f" WHERE {CASE} = {case}"
            for table in sorted(database.tables)
            for name in database.versions_of(table)
        ]
        database.connection.execute("; ".join(statements))
        database.alone.add(case)
    alone = Database(
        database.connection, database.tables, prefix, tables_prefix=own, texts=database.texts
    )
    return alone.at(database.cycle)


def original(database: Database, sql: str, *, named: bool = False) -> str:
    """The query as it was written, over the new version of the tables.

    ``named``: with their own names put into the text, instead of a WITH before it.
    """
    if named:
        return re.sub(
            r"\b(FROM|JOIN) ([a-z]|\"(?:[^\"]|\"\")+\") AS\b",
            lambda found: f"{found[1]} {_named(database, found[2])} AS",
            sql,
        )
    views: Sequence[str] = [
        f"{ident(table)} AS (SELECT * FROM {ident(f'{database.prefix}{table}_new')})"
        for table in sorted(database.tables)
    ]
    return f"WITH {', '.join(views)} SELECT * FROM (\n{sql}\n) AS original"


def _named(database: Database, written: str) -> str:
    """The new version of a table that stands in a text; anything else as it is written."""
    name = written.strip('"').replace('""', '"') if written.startswith('"') else written
    return ident(f"{database.prefix}{name}_new") if name in database.tables else written
