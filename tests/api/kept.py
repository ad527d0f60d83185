"""A project over one DuckLake with a view that was compiled and filled before; none needs Spark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from formats.commit.client import arrow
from formats.commit.lake import COLUMNS, frontier
from grebe import Project
from grebe.formats.base import Append, Rows
from grebe.formats.ducklake.catalog import DuckLakeCatalog, address_of
from grebe.formats.ducklake.connections import session
from grebe.formats.ducklake.storage import DuckLakeStorage
from grebe.model import Position, Schema, TableName
from grebe.project.definitions import Definition
from grebe.project.summary import Summary, text_digest
from grebe.registry.records import ViewRecord

TOML = """
[defaults]
catalog = "duck"
schema = "main"
[catalogs.duck]
format = "ducklake"
uri = "ducklake:sqlite:{folder}/meta.sqlite"
root = "{folder}/data"
"""
TEXT = "SELECT k, v, n FROM t"
NAME = TableName("duck", "main", "v")
STORAGE = TableName("duck", "main", "__grebe_v_1a2b3c4d")


@dataclass(frozen=True, slots=True)
class Kept:
    """The folder, and what is in it."""

    folder: Path

    def project(self) -> Project:
        """One more program that works with it."""
        return Project.open(self.folder)

    @property
    def tables(self) -> DuckLakeCatalog:
        catalog = self.project().tables._catalog(NAME)
        assert isinstance(catalog, DuckLakeCatalog)
        return catalog

    @property
    def storage(self) -> DuckLakeStorage:
        return DuckLakeStorage(None, STORAGE, address_of(self.tables.place))

    def run(self, *statements: str) -> None:
        """By somebody else; {l} is the lake."""
        with session(address_of(self.tables.place), create=True) as lake:
            for text in statements:
                lake.rows(text.replace("{l}", lake.alias))

    def filled(self, run: str) -> None:
        write = Append(Rows(arrow=arrow([[1, run, 1]])))
        self.storage.commit([write], frontier(run), self.position())

    def position(self) -> Position:
        return self.storage.position()

    def snapshots(self) -> list[int]:
        with session(address_of(self.tables.place)) as lake:
            rows = lake.rows(f"SELECT snapshot_id FROM {lake.meta}.ducklake_snapshot ORDER BY 1")
        return [row[0] for row in rows]

    def stored(self) -> list[TableName]:
        return self.tables.stored(_no_spark)

    def shown(self) -> str | None:
        return self.tables.shown(NAME, _no_spark)


def kept(folder: Path, *, facts: bool = True) -> Kept:
    """A view with a record, a storage table and a public name."""
    (folder / "grebe.toml").write_text(TOML.format(folder=folder))
    made = Kept(folder)
    made.run("CREATE TABLE {l}.t (k BIGINT, v VARCHAR, n BIGINT)")
    made.storage.create(
        Schema("0", COLUMNS), {"grebe.view": str(NAME), "grebe.definition": TEXT, "grebe.sql": TEXT}
    )
    made.run(f"CREATE VIEW {{l}}.v AS SELECT * FROM {{l}}.{STORAGE.name}")
    project = made.project()
    written = Definition(NAME, TEXT, project.settings)
    known = Summary(key=written.digest, text=text_digest(TEXT), storage=STORAGE, query=TEXT)
    record = ViewRecord(str(NAME), TEXT, fingerprint="f" * 8, compiled=known.to_json())
    project.registry.save_view(record if facts else replace(record, compiled=None))
    project.close()
    return made


def _no_spark() -> object:
    raise AssertionError("Spark was started")
