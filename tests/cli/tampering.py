"""What people, tools and disks do to the tables of a view: every kind, by the format it is stored in."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from grebe.api import Project
from grebe.formats.files import local_path
from grebe.model import TableName
from grebe.program import load_extensions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOML = """
[defaults]
catalog = "{kind}"
schema = "{schema}"
[catalogs.own]
format = "iceberg"
root = "{folder}/own"
[catalogs.folders]
format = "delta"
root = "{folder}/folders"
[catalogs.duck]
format = "ducklake"
uri = "ducklake:sqlite:{folder}/duck.sqlite"
root = "{folder}/duck"
"""
TEXT = "SELECT k, total, total + 1 AS n FROM {t}"
_numbers = count()


class Tampered:
    """A project with one source; every view of it is to be broken in one way."""

    def __init__(self, spark: SparkSession, folder: Path, kind: str) -> None:
        self.folder = folder
        self.kind = kind
        self.schema = f"tampered_{kind}"
        folder.mkdir(parents=True)
        self.source = f"own.{self.schema}.t"
        text = TOML.format(kind=kind, schema=self.schema, folder=folder)
        (folder / "grebe.toml").write_text(text)
        self.project = Project.open(folder, spark=spark)
        self.spark = self.project.spark
        for statement in (
            f"CREATE NAMESPACE IF NOT EXISTS own.{self.schema}",
            f"CREATE TABLE {self.source} (k INT, total INT) USING iceberg",
            f"INSERT INTO {self.source} VALUES (1, 10), (2, 20), (1, 30), (NULL, 5)",
        ):
            self.sql(statement)
        self.name = ""

    def sql(self, text: str) -> None:
        self.spark.sql(text).collect()

    def view(self) -> str:
        """A new view of two versions, and one that reads it."""
        self.name = f"v{next(_numbers)}"
        self.project.create_view(self.name, TEXT.format(t=self.source))
        self.more()
        self.project.refresh(self.full)
        return self.full

    @property
    def full(self) -> str:
        return f"{self.kind}.{self.schema}.{self.name}"

    def more(self) -> None:
        """The source changes."""
        number = next(_numbers)
        self.sql(f"INSERT INTO {self.source} VALUES ({number % 3}, {number})")

    def plain(self) -> Counter[str]:
        """What plain Spark answers to the user's text."""
        rows = self.spark.sql(TEXT.format(t=self.source)).collect()
        return Counter(repr(tuple(row)) for row in rows)

    def rows(self) -> Counter[str]:
        """What the view shows."""
        return Counter(repr(tuple(row)) for row in self.project.read(self.full).collect())

    def public(self) -> Counter[str]:
        """What readers of the public name see, with whatever engine reads it."""
        if self.kind == "own":
            found = [tuple(row) for row in self.spark.table(self.full).collect()]
        elif self.kind == "duck":
            with self.duck() as duck:
                found = duck.execute(f"SELECT * FROM duck.{self.schema}.{self.name}").fetchall()
        else:
            return self.rows()
        return Counter(repr(row) for row in found)

    def rows_are_trusted(self, name: str) -> bool:
        """False where only reading every row would tell: metadata says nothing of lost files.

        Nor does DuckLake keep the words of a view, by which another SELECT would be known.
        """
        if self.kind == "duck" and name == "public view altered":
            return False
        return name not in ("data files gone", "manifests gone", "manifest lists gone")

    # --- where things are -------------------------------------------------------------------------

    @property
    def storage(self) -> TableName:
        facts = self.project.written()[self.full].facts
        assert facts is not None
        assert facts.storage is not None
        return facts.storage

    @property
    def table(self) -> str:
        """The storage table in the SQL of whoever tampers with it."""
        if self.kind == "folders":
            return f"delta.`{self.place}`"
        return f"{self.kind}.{self.schema}.{self.storage.name}"

    @property
    def place(self) -> Path:
        """The folder of the storage table."""
        if self.kind == "folders":
            return self.folder / "folders" / self.schema / self.storage.name
        if self.kind == "duck":
            return self.folder / "duck" / self.schema / self.storage.name
        rows = self.spark.sql(f"DESCRIBE TABLE EXTENDED {self.table}").collect()
        location = next(row[1] for row in rows if row[0] == "Location")
        return Path(local_path(location) or "")

    def duck(self) -> duckdb.DuckDBPyConnection:
        duck = duckdb.connect(config={"threads": 1})
        load_extensions(duck, "ducklake", "sqlite_scanner")
        duck.execute(
            f"ATTACH 'ducklake:sqlite:{self.folder}/duck.sqlite' AS duck"
            f" (DATA_PATH '{self.folder}/duck/', META_BUSY_TIMEOUT 10000, META_JOURNAL_MODE 'WAL')"
        )
        return duck

    def run(self, *statements: str) -> None:
        """Statements; {t} is the storage table, {p} the public name, {n} the storage table's own."""
        own = {"t": self.table, "p": self.full, "n": self.storage.name, "s": self.schema}
        for text in statements:
            text = text.format(**own)
            if self.kind == "duck":
                with self.duck() as duck:
                    duck.execute(text)
            else:
                self.sql(text)


Kind = Callable[[Tampered], None]


def done(*statements: str) -> Kind:
    """A kind that is some statements."""
    return lambda site: site.run(*statements)


def files_gone(pattern: str, *, newest: bool = False) -> Kind:
    """A kind: files of the storage table are gone."""

    def act(site: Tampered) -> None:
        found = sorted(site.place.rglob(pattern))
        assert found, f"there is no {pattern} in {site.place}"
        for file in found[-1:] if newest else found:
            file.unlink()

    return act


def file_torn(pattern: str) -> Kind:
    """A kind: the newest of some files is cut in the middle."""

    def act(site: Tampered) -> None:
        file = sorted(site.place.rglob(pattern))[-1]
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    return act


def properties_gone(site: Tampered) -> None:
    """Everything that grebe wrote down with the table is gone."""
    rows = site.spark.sql(f"SHOW TBLPROPERTIES {site.table}").collect()
    keys = ", ".join(f"'{row[0]}'" for row in rows if row[0].startswith("grebe."))
    site.run(f"ALTER TABLE {{t}} UNSET TBLPROPERTIES ({keys})")


def folder_gone(site: Tampered) -> None:
    shutil.rmtree(site.place)


def rolled_back(site: Tampered) -> None:
    rows = site.spark.sql(f"SELECT snapshot_id FROM {site.table}.snapshots ORDER BY committed_at")
    first = rows.collect()[0][0]
    site.sql(f"CALL own.system.rollback_to_snapshot('{site.schema}.{site.storage.name}', {first})")


def tag_moved(site: Tampered) -> None:
    first = site.spark.sql(f"SELECT min(snapshot_id) FROM {site.table}.snapshots").collect()[0][0]
    site.run(f"ALTER TABLE {{t}} CREATE OR REPLACE TAG grebe_frontier AS OF VERSION {first}")


def public_file_gone(site: Tampered) -> None:
    """The metadata file of the public view."""
    root = site.place.parent
    found = [file for file in root.rglob("*.metadata.json") if file.parts[-3] == site.name]
    assert found
    for file in found:
        file.unlink()


def view_file(text: str | None) -> Kind:
    def act(site: Tampered) -> None:
        file = site.folder / "folders" / site.schema / site.name / "_grebe_view.json"
        if text is None:
            file.unlink()
        else:
            file.write_text(text)

    return act


def view_over(select: str) -> Kind:
    """A kind: the file of a public name has another SELECT over the same storage table."""

    def act(site: Tampered) -> None:
        view_file(json.dumps({"sql": select.format(t=site.table)}))(site)

    return act


def frontier_garbled(site: Tampered) -> None:
    cursor = f"duck.{site.schema}.{site.storage.name}__frontier"
    site.run(f"UPDATE {cursor} SET frontier = 'nonsense'")


ICEBERG: dict[str, Kind] = {
    "column added": done("ALTER TABLE {t} ADD COLUMN extra INT"),
    "column dropped": done("ALTER TABLE {t} DROP COLUMN total"),
    "column renamed": done("ALTER TABLE {t} RENAME COLUMN k TO kk"),
    "columns swapped": done(
        "ALTER TABLE {t} RENAME COLUMN total TO between",
        "ALTER TABLE {t} RENAME COLUMN n TO total",
        "ALTER TABLE {t} RENAME COLUMN between TO n",
    ),
    "column retyped": done("ALTER TABLE {t} ALTER COLUMN k TYPE BIGINT"),
    "column made anew": done(
        "ALTER TABLE {t} DROP COLUMN total", "ALTER TABLE {t} ADD COLUMN total INT"
    ),
    "columns reordered": done("ALTER TABLE {t} ALTER COLUMN n FIRST"),
    "partition added": done("ALTER TABLE {t} ADD PARTITION FIELD bucket(4, k)"),
    "order added": done("ALTER TABLE {t} WRITE ORDERED BY total"),
    "properties gone": properties_gone,
    "properties changed": done(
        "ALTER TABLE {t} SET TBLPROPERTIES ('grebe.sql' = 'SELECT 1', 'grebe.columns' = '[]',"
        " 'grebe.public' = 'SELECT 1 AS k', 'grebe.fingerprint' = 'x', 'grebe.view' = 'a.b.c')"
    ),
    "other files": done(
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default' = 'avro',"
        " 'write.merge.mode' = 'copy-on-write')"
    ),
    "tag dropped": done("ALTER TABLE {t} DROP TAG grebe_frontier"),
    "tag moved": tag_moved,
    "branches made": done(
        "ALTER TABLE {t} CREATE BRANCH mine", "ALTER TABLE {t} CREATE BRANCH grebe_x"
    ),
    "rows added": done("INSERT INTO {t} SELECT * FROM {t} LIMIT 1"),
    "rows changed": done("UPDATE {t} SET total = 0"),
    "rows removed": done("DELETE FROM {t} WHERE k = 1"),
    "truncated": done("TRUNCATE TABLE {t}"),
    "rolled back": rolled_back,
    "replaced by its like": done("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT * FROM {t}"),
    "replaced by another": done("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT 1 AS one"),
    "dropped": done("DROP TABLE {t}"),
    "dropped and made": done("DROP TABLE {t}", "CREATE TABLE {t} (one STRING) USING iceberg"),
    "renamed": done("ALTER TABLE {t} RENAME TO {s}.elsewhere_{n}"),
    "data files gone": files_gone("*.parquet"),
    "manifests gone": files_gone("*-m*.avro"),
    "manifest lists gone": files_gone("snap-*.avro"),
    "metadata gone": files_gone("*.metadata.json"),
    "metadata torn": file_torn("*.metadata.json"),
    "everything gone": folder_gone,
    "public view dropped": done("DROP VIEW {p}"),
    "public view altered": done(
        "CREATE OR REPLACE VIEW {p} AS SELECT k, total, n FROM {t} WHERE k = 1"
    ),
    "public view's file gone": public_file_gone,
}
DELTA: dict[str, Kind] = {
    "column added": done("ALTER TABLE {t} ADD COLUMN extra INT"),
    "column dropped": done(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "ALTER TABLE {t} DROP COLUMN total",
    ),
    "column renamed": done(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "ALTER TABLE {t} RENAME COLUMN k TO kk",
    ),
    "column retyped": done(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        "ALTER TABLE {t} ALTER COLUMN k TYPE BIGINT",
    ),
    "constraint added": done(
        "DELETE FROM {t}", "ALTER TABLE {t} ADD CONSTRAINT few CHECK (total < 0)"
    ),
    "append only": done("ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly' = 'true')"),
    "partitioned": done(
        "CREATE OR REPLACE TABLE {t} USING delta PARTITIONED BY (k) AS SELECT * FROM {t}"
    ),
    "properties gone": properties_gone,
    "rows added": done("INSERT INTO {t} SELECT * FROM {t} LIMIT 1"),
    "rows changed": done("UPDATE {t} SET total = 0"),
    "truncated": done("DELETE FROM {t}"),
    "rolled back": done("RESTORE TABLE {t} TO VERSION AS OF 1"),
    "replaced by another": done("CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 AS one"),
    "data files gone": files_gone("part-*.parquet"),
    "last commit gone": files_gone("0*.json", newest=True),
    "first commit gone": lambda site: sorted(site.place.rglob("0*.json"))[0].unlink(),
    "log gone": files_gone("0*.json"),
    "log torn": file_torn("0*.json"),
    "everything gone": folder_gone,
    "public file gone": view_file(None),
    "public file altered": view_over("SELECT k, total, n FROM {t} WHERE k = 1"),
    "public file torn": view_file('{"sq'),
}
DUCKLAKE: dict[str, Kind] = {
    "column added": done("ALTER TABLE {t} ADD COLUMN extra INTEGER"),
    "column dropped": done("ALTER TABLE {t} DROP COLUMN total"),
    "column renamed": done("ALTER TABLE {t} RENAME COLUMN k TO kk"),
    "column retyped": done("ALTER TABLE {t} ALTER COLUMN k SET DATA TYPE BIGINT"),
    "column made anew": done(
        "ALTER TABLE {t} DROP COLUMN n", "ALTER TABLE {t} ADD COLUMN n INTEGER DEFAULT 1"
    ),
    "column not null": done("DELETE FROM {t}", "ALTER TABLE {t} ALTER COLUMN k SET NOT NULL"),
    "partitioned": done("ALTER TABLE {t} SET PARTITIONED BY (k)"),
    "comment gone": done("COMMENT ON TABLE {t} IS NULL"),
    "rows added": done("INSERT INTO {t} SELECT * FROM {t} LIMIT 1"),
    "rows changed": done("UPDATE {t} SET total = 0"),
    "truncated": done("DELETE FROM {t}"),
    "replaced by another": done("DROP TABLE {t}", "CREATE TABLE {t} AS SELECT 1 AS one"),
    "dropped": done("DROP TABLE {t}"),
    "renamed": done("ALTER TABLE {t} RENAME TO elsewhere_{n}"),
    "data files gone": files_gone("*.parquet"),
    "frontier dropped": done("DROP TABLE {t}__frontier"),
    "frontier emptied": done("DELETE FROM {t}__frontier"),
    "frontier doubled": done("INSERT INTO {t}__frontier SELECT * FROM {t}__frontier"),
    "frontier garbled": frontier_garbled,
    "frontier with a column": done("ALTER TABLE {t}__frontier DROP COLUMN fence"),
    "public view dropped": done("DROP VIEW {p}"),
    "public view altered": done(
        "CREATE OR REPLACE VIEW {p} AS SELECT k, total, n FROM {t} WHERE k = 1"
    ),
}
KINDS = {"own": ICEBERG, "folders": DELTA, "duck": DUCKLAKE}
TAKEN: dict[str, tuple[Kind, Kind]] = {
    "own view": (
        done("CREATE OR REPLACE VIEW {p} AS SELECT 1 AS mine"),
        done("DROP VIEW {p}"),
    ),
    "own table": (
        done("DROP VIEW {p}", "CREATE TABLE {p} (mine INT) USING iceberg"),
        done("DROP TABLE {p}"),
    ),
    "duck view": (
        done("CREATE OR REPLACE VIEW {p} AS SELECT 1 AS mine"),
        done("DROP VIEW {p}"),
    ),
    "duck table": (
        done("DROP VIEW {p}", "CREATE TABLE {p} (mine INT)"),
        done("DROP TABLE {p}"),
    ),
    "folders view": (view_file('{"sql": "SELECT 1 AS mine"}'), view_file(None)),
}
"""The public name is somebody else's: what happened, and what the error says to type."""
