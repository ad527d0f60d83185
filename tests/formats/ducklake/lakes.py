"""DuckLake catalogs of every kind in a folder, written to by somebody who is not grebe."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

import postgres
from grebe.formats.ducklake.connections import Address, release
from grebe.program import load_extensions

KINDS = ("duckdb", "sqlite", "postgres")
_numbers = itertools.count()


@dataclass(slots=True)
class Servers:
    """PostgreSQL for the tests, started at first use: one database per catalog."""

    server: Any = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def database(self) -> str:
        import psycopg

        if self.server is None:
            self.server = self._stack.enter_context(postgres.server())
        name = f"lake_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.server.get_uri(), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name}")
        return str(self.server.get_uri(database=name))

    def stop(self) -> None:
        self._stack.close()


def drop_database(uri: str) -> None:
    """End everybody's connections to a database, for good."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    with psycopg.connect(uri) as known:
        name = known.info.dbname
    parts = {**conninfo_to_dict(uri), "dbname": "postgres"}
    with psycopg.connect(**parts, autocommit=True) as admin:  # type: ignore[arg-type]
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@dataclass(slots=True)
class Lake:
    """One catalog, and a DuckDB of its own that writes to it."""

    kind: str
    address: Address
    options: str = ""
    database: duckdb.DuckDBPyConnection = field(init=False)
    attached: bool = False

    def __post_init__(self) -> None:
        self.database = duckdb.connect(config={"threads": 1})
        scanner = {"sqlite": ["sqlite_scanner"], "postgres": ["postgres_scanner"]}
        load_extensions(self.database, "ducklake", *scanner.get(self.kind, []))
        self.database.execute("SET force_mbedtls_unsafe = 'true'")

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection; a DuckDB file is let go of afterwards, so that grebe can open it."""
        if not self.attached:
            path = f"DATA_PATH '{self.address.data_path}/'"
            busy = ", META_BUSY_TIMEOUT 10000" if self.kind == "sqlite" else ""
            self.database.execute(
                f"ATTACH '{self.address.target}' AS lake ({path}{busy}{self.options})"
            )
            self.attached = True
        try:
            yield self.database
        finally:
            if self.kind == "duckdb":
                self.database.execute("DETACH lake")
                self.attached = False

    def run(self, *statements: str) -> None:
        with self.writing() as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.writing() as connection:
            return connection.execute(sql).fetchall()

    def close(self) -> None:
        release(self.address)
        self.database.close()


def open_lake(kind: str, folder: Path, servers: Servers, options: str = "") -> Lake:
    """A new, empty catalog."""
    folder.mkdir(parents=True, exist_ok=True)
    data = str(folder / "data")
    uri = {
        "duckdb": lambda: f"ducklake:{folder / 'meta.ducklake'}",
        "sqlite": lambda: f"ducklake:sqlite:{folder / 'meta.sqlite'}",
        "postgres": lambda: f"ducklake:postgres:{servers.database()}",
    }[kind]()
    return Lake(kind, Address.of(uri, data), options)
