"""Runs trees on DuckDB: the tables of a version behind each leaf, and the types of expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import duckdb

from compiler.laws.databases import CASE, CASES, History, load
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.nodes import At, Named, Node, Scan, Stored
from grebe.compiler.types import Types, wanted

STORAGE: Final = '"storage"'


@dataclass(slots=True)
class Database:
    """A DuckDB with every version of the random tables; ``prefix`` tells sets of tables apart."""

    connection: duckdb.DuckDBPyConnection
    tables: frozenset[str]
    prefix: str = ""
    cycle: int = 1

    @staticmethod
    def of(history: History, *, threads: int = 1) -> Database:
        """A new database in memory that holds the history."""
        connection = duckdb.connect(config={"threads": threads})
        load(connection, history)
        return Database(connection, frozenset(history.tables))

    def names(self, leaf: Leaf) -> str:
        """The table behind a leaf, as it is in the current cycle."""
        match leaf:
            case Stored():
                return STORAGE
            case Named(step=step):
                return f'"step_{step}"'
            case Scan(table=table) if table == CASES:
                return self._unchanged(leaf)
            case Scan(table=table, at=At.DELTA):
                return f'"{self.prefix}{table}_d{self.cycle}"'
            case Scan(table=table, at=At.OLD):
                return f'"{self.prefix}{table}_{self.cycle - 1}"'
            case Scan(table=table):
                return f'"{self.prefix}{table}_{self.cycle}"'
        raise AssertionError(f"no table for {leaf}")

    def _unchanged(self, leaf: Scan) -> str:
        if leaf.at is At.DELTA:
            return f"(SELECT *, 0 AS __grebe_weight FROM {CASES} WHERE FALSE) AS no_change"
        return f'"{self.prefix}{CASES}"'

    def sql(self, node: Node) -> str:
        """The text of a tree in the current cycle."""
        return emit(node, "duckdb", self.names)

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a statement."""
        return self.connection.execute(sql).fetchall()

    def types_of(self, root: Node) -> Types:
        """The types of the expressions that decide a rule, by DESCRIBE."""
        found: dict[str, str] = {}
        for relation, items in wanted(root):
            writer = {item.text: item.ast.sql("duckdb", comments=False) for item in items}
            found.update(self._described(relation, writer))
        return Types("duckdb", found)

    def _described(self, relation: Node, texts: dict[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        body = self.sql(relation)
        for text, sql in texts.items():
            if sql == "*":
                continue
            described = self.rows(f"DESCRIBE SELECT {sql} AS value FROM (\n{body}\n) AS q")
            found[text] = str(described[0][1])
        return found


def one_case(database: Database, case: int, prefix: str = "one_") -> Database:
    """The database of one case alone, without its case id."""
    for table in sorted(database.tables):
        versions = [
            name
            for (name,) in database.rows(
                "SELECT table_name FROM duckdb_tables()"
                f" WHERE regexp_full_match(table_name, '{table}_d?[0-9]+')"
            )
        ]
        for version in versions:
            database.connection.execute(
                f'CREATE OR REPLACE TABLE "{prefix}{version}" AS SELECT * EXCLUDE ({CASE})'
                f' FROM "{version}" WHERE {CASE} = {case}'
            )
    return Database(database.connection, database.tables, prefix, database.cycle)


def original(database: Database, sql: str, version: int) -> str:
    """The query as it was written, over the tables of a version."""
    views: Sequence[str] = [
        f'{table} AS (SELECT * FROM "{database.prefix}{table}_{version}")'
        for table in sorted(database.tables)
    ]
    return f"WITH {', '.join(views)} SELECT * FROM (\n{sql}\n) AS original"
