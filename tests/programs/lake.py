"""Real DuckLake catalogs in a folder, and programs run on them statement by statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from grebe import MaterializedView, Naming
from grebe.program import load_extensions

Rows = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of catalog: what keeps its metadata, and whether small changes are inlined."""

    metadata: str = "duckdb"
    inlining: bool = True
    server: str = ""
    """Where PostgreSQL listens, as its connection string says it."""

    def __str__(self) -> str:
        return f"{self.metadata}{'' if self.inlining else '-files'}"


KINDS = (
    Kind("duckdb"),
    Kind("duckdb", inlining=False),
    Kind("sqlite"),
    Kind("sqlite", inlining=False),
)


@dataclass
class Lake:
    """A connection with one or more DuckLake catalogs."""

    folder: Path
    kind: Kind = Kind()
    catalogs: tuple[str, ...] = ("dl",)
    con: duckdb.DuckDBPyConnection = field(init=False)
    _instance: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connect()

    @property
    def scanner(self) -> str:
        """The extension that reads the catalog's metadata."""
        return f"{'postgres' if self.kind.metadata == 'postgres' else 'sqlite'}_scanner"

    def connect(self) -> None:
        """A session without a past, in a DuckDB with these catalogs and no others."""
        idle = _idle.setdefault(self.scanner, [])
        self._instance = idle.pop() if idle else _started(self.scanner)
        for catalog in self.catalogs:
            self._instance.execute(self._attach(catalog))
        self.con = self._instance.cursor()

    def _attach(self, catalog: str) -> str:
        scheme = "sqlite:" if self.kind.metadata == "sqlite" else ""
        options = [f"DATA_PATH '{self.folder / catalog}/'"]
        if not self.kind.inlining:
            options.append("DATA_INLINING_ROW_LIMIT 0")
        if self.kind.metadata == "postgres":
            database = f"postgres:{self.kind.server}"
            options.append(f"METADATA_SCHEMA '{catalog}'")
            return f"ATTACH 'ducklake:{database}' AS \"{catalog}\" ({', '.join(options)})"
        if scheme:
            options += ["META_JOURNAL_MODE 'WAL'", "META_BUSY_TIMEOUT 5000"]
        file = self.folder / f"{catalog}.{self.kind.metadata}"
        return f"ATTACH 'ducklake:{scheme}{file}' AS \"{catalog}\" ({', '.join(options)})"

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.con.execute(statement)

    def rows(self, sql: str) -> Rows:
        return self.con.execute(sql).fetchall()

    def value(self, sql: str) -> object:
        return self.rows(sql)[0][0]

    def head(self, catalog: str = "dl") -> int:
        return int(str(self.value(f"SELECT MAX(snapshot_id) FROM ducklake_snapshots('{catalog}')")))

    def close(self) -> None:
        """Lets go of the catalogs; the DuckDB serves the next lake."""
        self.con.close()
        for catalog in self.catalogs:
            self._instance.execute(f'DETACH "{catalog}"')
        _idle[self.scanner].append(self._instance)


_idle: dict[str, list[duckdb.DuckDBPyConnection]] = {}
"""DuckDBs by the extension they have loaded: loading costs more than most tests."""


def _started(scanner: str) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": 1})
    load_extensions(con, "ducklake", scanner)
    return con


def set_up(lake: Lake, view: MaterializedView) -> None:
    lake.run(view.create_cursors_table, view.create_mv, *view.initialize_cursors)


def maintain(con: duckdb.DuckDBPyConnection, view: MaterializedView) -> None:
    """All statements; what a failed one leaves open is rolled back."""
    try:
        for statement in view.maintain:
            con.execute(statement)
    except duckdb.Error:
        roll_back(con)
        raise


def roll_back(con: duckdb.DuckDBPyConnection) -> None:
    with suppress(duckdb.TransactionException):  # a failed COMMIT has already ended it
        con.execute("ROLLBACK")


def difference(lake: Lake, view: MaterializedView, sql: str, at: str = "dl") -> tuple[Rows, Rows]:
    """What the view shows and should not, and the other way round, with every copy counted."""
    lake.run(f'USE "{at}"')
    try:
        shown = f"SELECT * FROM ({view.query_mv}) AS shown"
        truth = f"SELECT * FROM ({sql}) AS truth"
        return lake.rows(f"{shown} EXCEPT ALL {truth}"), lake.rows(f"{truth} EXCEPT ALL {shown}")
    finally:
        lake.run("USE memory")


def check(lake: Lake, view: MaterializedView, sql: str, at: str = "dl") -> None:
    """The view equals its query."""
    surplus, missing = difference(lake, view, sql, at)
    assert (surplus, missing) == ([], []), sql


def cursor(lake: Lake, view: str = "mv", catalog: str = "dl") -> dict[str, int]:
    found = lake.rows(
        f'SELECT source_table, last_snapshot FROM "{catalog}".main._ivm_cursors'
        f" WHERE mv_name = '{view}'"
    )
    assert len({row[0] for row in found}) == len(found)
    return {str(table): int(str(snapshot)) for table, snapshot in found}


class Named(Naming):
    """A view of a given name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def mv_table(self) -> str:
        return self.name


def lakes(folder: Path) -> Iterator[Lake]:
    for kind in KINDS:
        place = folder / str(kind)
        place.mkdir()
        yield Lake(place, kind)
