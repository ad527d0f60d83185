"""Tables whose columns are renamed, swapped, dropped, added, widened and moved under views.

One history has two tables of one format, a few views, and some steps: changes of columns with and
without writes, then a refresh. What views must show is what plain Spark answers to their own text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import duckdb

from grebe.api import Project
from grebe.errors import GrebeError
from grebe.model import Outcome, State
from grebe.program import load_extensions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOML = """
[defaults]
catalog = "views"
schema = "v"
[catalogs.lake]
format = "iceberg"
spark_catalog = "lake"
[catalogs.folders]
format = "delta"
root = "{folder}/folders"
[catalogs.duck]
format = "ducklake"
uri = "ducklake:sqlite:{folder}/duck.sqlite"
root = "{folder}/duck"
[catalogs.files]
format = "parquet"
root = "{folder}/files"
[catalogs.views]
{storage}
"""
STORAGE = {
    "iceberg": 'format = "iceberg"\nspark_catalog = "lake"',
    "delta": 'format = "delta"\nroot = "{folder}/stored"',
    "ducklake": 'format = "ducklake"\nuri = "ducklake:sqlite:{folder}/duck.sqlite"\n'
    'root = "{folder}/duck"',
}
CATALOG = {"iceberg": "lake", "delta": "folders", "ducklake": "duck", "parquet": "files"}
FORMATS = tuple(CATALOG)
NAMES = ("k", "x", "y", "id2", "row", "key", "type")
"""Few, so that a name comes back and means another column."""
KINDS = {"INT": "BIGINT", "FLOAT": "DOUBLE", "BIGINT": None, "DOUBLE": None, "STRING": None}
VIEWS = {
    "plain": "SELECT id, k FROM {a}",
    "sums": "SELECT k, COUNT(*) AS n, SUM(x) AS total, MAX(x) AS largest FROM {a} GROUP BY k",
    "joined": "SELECT a.id, a.x, b.y FROM {a} AS a LEFT JOIN {b} AS b ON a.id = b.id",
    "inner": "SELECT a.k, b.y, a.x + 1 AS more FROM {a} AS a JOIN {b} AS b ON a.k = b.y",
    "few": "SELECT DISTINCT x FROM {a} WHERE k IS NOT NULL",
    "ranks": "SELECT id, RANK() OVER (ORDER BY k) AS place FROM {a}",
    "all_of_it": "SELECT * FROM {b}",
    "with": "WITH w AS (SELECT id, x AS k FROM {a}) SELECT w.id, w.k, y FROM w JOIN {b} USING (id)",
}
Rows = Counter[str]


@dataclass(slots=True)
class Table:
    """A table as the history believes it to be."""

    name: str
    columns: list[tuple[str, str]]

    def at(self, name: str) -> int:
        return [column for column, _ in self.columns].index(name)


@dataclass(slots=True)
class History:
    """One random history, and what was found out in it."""

    lake: SchemaLake
    kind: str
    seed: int
    by_command: Callable[[Sequence[str]], object] | None = None
    """Runs a command instead of a method of the project."""
    tables: dict[str, Table] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    shown: dict[str, Rows | None] = field(default_factory=dict)
    star: tuple[str, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def rng(self) -> Random:
        return self.lake.rng

    @property
    def schema(self) -> str:
        return f"h{self.seed}_{self.kind}"

    # --- statements, in the words of the format --------------------------------------------------

    def name(self, table: str) -> str:
        """The table for whoever changes it."""
        match self.kind:
            case "iceberg":
                return f"lake.{self.schema}.{table}"
            case "delta":
                return f"delta.`{self.lake.folder}/folders/{self.schema}/{table}`"
            case "ducklake":
                return f"duck.{self.schema}.{table}"
        return f"{self.lake.folder}/files/{self.schema}/{table}"

    def run(self, *statements: str) -> None:
        for text in statements:
            self.log.append(text)
            if self.kind == "ducklake":
                self.lake.duck.execute(text)
            else:
                self.lake.spark.sql(text).collect()

    def create(self) -> None:
        self.tables = {
            "a": Table("a", [("id", "INT"), ("k", "INT"), ("x", "INT"), ("g", "STRING")]),
            "b": Table("b", [("id", "INT"), ("y", "INT"), ("f", "FLOAT")]),
        }
        self.star = tuple(name for name, _ in self.tables["b"].columns)
        if self.kind == "iceberg":
            self.run(f"CREATE NAMESPACE lake.{self.schema}")
        if self.kind == "ducklake":
            self.run(f"CREATE SCHEMA duck.{self.schema}")
        for table in self.tables.values():
            columns = ", ".join(f"`{name}` {kind}" for name, kind in table.columns)
            match self.kind:
                case "iceberg":
                    mode = self.rng.choice(("2", "3"))
                    self.run(
                        f"CREATE TABLE {self.name(table.name)} ({columns}) USING iceberg"
                        f" TBLPROPERTIES ('format-version' = '{mode}')"
                    )
                case "delta":
                    mode = self.rng.choice(("name", "id"))
                    self.run(
                        f"CREATE TABLE {self.name(table.name)} ({columns}) USING delta TBLPROPERTIES"
                        f" ('delta.columnMapping.mode' = '{mode}', 'delta.enableTypeWidening' = 'true')"
                    )
                case "ducklake":
                    text = columns.replace("`", '"').replace("STRING", "VARCHAR")
                    self.run(f"CREATE TABLE {self.name(table.name)} ({text})")
            self.insert(table)

    def values(self, kind: str) -> str:
        value = self.rng.choice(("NULL", "1", "2", "3", "4"))
        return value if value == "NULL" or kind != "STRING" else f"'{value}'"

    def row(self, table: Table) -> str:
        items = ", ".join(
            f"CAST({self.values(kind)} AS {self._typed(kind)})" for _, kind in table.columns
        )
        return f"({items})"

    def _typed(self, kind: str) -> str:
        return "VARCHAR" if self.kind == "ducklake" and kind == "STRING" else kind

    def insert(self, table: Table) -> None:
        rows = [self.row(table) for _ in range(self.rng.randint(1, 4))]
        if self.kind == "parquet":
            self.write(table, rows)
        else:
            self.run(f"INSERT INTO {self.name(table.name)} VALUES {', '.join(rows)}")

    def write(self, table: Table, rows: Sequence[str], mode: str = "append") -> None:
        names = ", ".join(f"`{name}`" for name, _ in table.columns)
        text = f"SELECT * FROM VALUES {', '.join(rows)} AS t({names})"
        self.log.append(f"{mode} {table.name}: {text}")
        frame = self.lake.spark.sql(text).coalesce(1)
        frame.write.mode(mode).parquet(self.name(table.name))

    def quoted(self, name: str) -> str:
        return f'"{name}"' if self.kind == "ducklake" else f"`{name}`"

    def alter(self, table: Table, text: str) -> None:
        self.run(f"ALTER TABLE {self.name(table.name)} {text}")

    # --- what happens -----------------------------------------------------------------------------

    def rename(self, table: Table, old: str | None = None, new: str | None = None) -> None:
        free = [name for name in NAMES if name not in dict(table.columns)]
        old = old or self.rng.choice([name for name, _ in table.columns])
        new = new or self.rng.choice(free)
        self.alter(table, f"RENAME COLUMN {self.quoted(old)} TO {self.quoted(new)}")
        at = table.at(old)
        table.columns[at] = (new, table.columns[at][1])

    def swap(self, table: Table) -> None:
        one, two = self.rng.sample([name for name, _ in table.columns], 2)
        self.rename(table, one, "between")
        self.rename(table, two, one)
        self.rename(table, "between", two)

    def drop(self, table: Table) -> None:
        if len(table.columns) > 2:
            name = self.rng.choice([name for name, _ in table.columns])
            self.alter(table, f"DROP COLUMN {self.quoted(name)}")
            table.columns.pop(table.at(name))

    def add(self, table: Table, name: str | None = None, kind: str = "INT") -> None:
        free = [item for item in (*NAMES, "g", "f") if item not in dict(table.columns)]
        name = name or self.rng.choice(free)
        self.alter(table, f"ADD COLUMN {self.quoted(name)} {kind}")
        table.columns.append((name, kind))

    def again(self, table: Table) -> None:
        """A column goes and comes back: its values are gone."""
        name, kind = self.rng.choice(table.columns)
        if len(table.columns) > 2 and not (self.kind == "ducklake" and kind == "STRING"):
            self.alter(table, f"DROP COLUMN {self.quoted(name)}")
            table.columns.pop(table.at(name))
            self.add(table, name, kind)

    def widen(self, table: Table) -> None:
        narrow = [(name, KINDS[kind]) for name, kind in table.columns if KINDS[kind]]
        if not narrow:
            return
        name, kind = self.rng.choice(narrow)
        if kind is None:
            return
        words = "SET DATA TYPE" if self.kind == "ducklake" else "TYPE"
        self.alter(table, f"ALTER COLUMN {self.quoted(name)} {words} {kind}")
        table.columns[table.at(name)] = (name, kind)

    def reorder(self, table: Table) -> None:
        if self.kind == "ducklake":
            return
        name = self.rng.choice([name for name, _ in table.columns])
        self.alter(table, f"ALTER COLUMN `{name}` FIRST")
        table.columns.insert(0, table.columns.pop(table.at(name)))

    def delete(self, table: Table) -> None:
        name, kind = table.columns[0]
        if kind != "STRING":
            self.run(f"DELETE FROM {self.name(table.name)} WHERE {self.quoted(name)} = 2")

    def rewrite(self, table: Table) -> None:
        """A folder of files is written anew, with other columns."""
        names = [name for name, _ in table.columns]
        match self.rng.choice(("rename", "drop", "add", "shuffle", "none")):
            case "rename":
                names[self.rng.randrange(len(names))] = self.rng.choice(
                    [name for name in NAMES if name not in names]
                )
                table.columns = [
                    (n, kind) for n, (_, kind) in zip(names, table.columns, strict=True)
                ]
            case "drop" if len(names) > 2:
                table.columns.pop(self.rng.randrange(len(names)))
            case "add":
                table.columns.append((next(n for n in NAMES if n not in names), "INT"))
            case "shuffle":
                self.rng.shuffle(table.columns)
        self.write(table, [self.row(table) for _ in range(3)], "overwrite")

    def change(self) -> None:
        """One thing happens to one of the tables."""
        table = self.tables[self.rng.choice("aab")]
        if self.kind == "parquet":
            self.rng.choice((self.insert, self.rewrite))(table)
            return
        columns = (self.rename, self.swap, self.swap, self.drop, self.add, self.again)
        others = (self.widen, self.reorder, self.insert, self.insert, self.delete)
        self.rng.choice((*columns, *others))(table)

    # --- what must be true ------------------------------------------------------------------------

    def define(self, texts: Sequence[str]) -> None:
        for name in texts:
            text = VIEWS[name].format(**{t: self.read_as(t) for t in self.tables})
            self.views[f"views.{self.schema}.{name}"] = text
            self.lake.project.create_view(f"views.{self.schema}.{name}", text, build=False)

    def read_as(self, table: str) -> str:
        return f"{CATALOG[self.kind]}.{self.schema}.{table}"

    def plain(self, name: str) -> DataFrame | None:
        """What plain Spark makes of the text; None: it finds no meaning in it."""
        from pyspark.errors import AnalysisException

        text = VIEWS[name.rpartition(".")[2]]
        if text == VIEWS["all_of_it"]:  # a star means what it meant when the view was made
            kept = [n for n in self.star if n in dict(self.tables["b"].columns)]
            text = text.replace("*", ", ".join(f"`{n}`" for n in kept) or "*")
        try:
            return self.lake.spark.sql(text.format(**{t: self.relation(t) for t in self.tables}))
        except AnalysisException:
            return None

    def relation(self, table: str) -> str:
        match self.kind:
            case "ducklake":
                found = self.lake.duck.execute(f"SELECT * FROM {self.name(table)}").to_arrow_table()
                name = f"plain_{self.schema}_{table}"
                self.lake.spark.createDataFrame(found).createOrReplaceTempView(name)
                return name
            case "parquet":
                return f"parquet.`{self.name(table)}`"
        return self.name(table)

    def step(self, changes: int) -> None:
        """Some changes, one refresh; every view is what its text means now, or says why not."""
        for _ in range(changes):
            self.change()
        states = {str(item.name): item.state for item in self.lake.project.status()}
        results = self.refreshed()
        frames = {name: self.plain(name) for name in self.views}
        shown = {
            name: self.lake.project.read(name)
            for name in self.views
            if frames[name] is not None and results[name][0] != Outcome.FAILED
        }
        answers = bags({name: frame for name, frame in frames.items() if frame is not None})
        seen = bags(shown)
        for name in self.views:
            outcome, code = results[name]
            wanted = answers.get(name)
            told = (name, outcome, code, states[name], *self.log)
            self.counts[outcome] += 1
            if wanted is None or wanted != self.shown.get(name):
                assert states[name] is not State.FRESH, told
            if wanted is None:
                assert outcome == Outcome.FAILED, told
                assert code not in (None, "internal", "unexpected"), told
                continue
            assert outcome != Outcome.FAILED, told
            assert seen[name] == wanted, (*told, seen[name], wanted)
            self.shown[name] = wanted

    def refreshed(self) -> dict[str, tuple[str, str | None]]:
        if self.by_command is not None:
            document = self.by_command(["refresh", *self.views, "-o", "json"])
            return {
                item["view"]: (item["outcome"], item["error"] and item["error"]["code"])
                for item in json.loads(str(document))
            }
        return {
            str(item.view): (
                str(item.outcome),
                item.error.code if isinstance(item.error, GrebeError) else None,
            )
            for item in self.lake.project.refresh(list(self.views))
        }

    def close(self) -> None:
        for name in self.views:
            with suppress(GrebeError):
                self.lake.project.drop(name)


def bags(frames: Mapping[str, DataFrame]) -> dict[str, Rows]:
    """The rows of each, read in one go."""
    from functools import reduce

    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sf

    if not frames:
        return {}
    texts = [
        frame.toDF(*(f"c{place}" for place in range(len(frame.columns)))).select(
            sf.lit(name), sf.to_json(sf.struct("*"), {"ignoreNullFields": "false"})
        )
        for name, frame in frames.items()
    ]
    found: dict[str, Rows] = {name: Counter() for name in frames}
    for name, row in reduce(DataFrame.unionAll, texts).coalesce(1).collect():
        found[name][row] += 1
    return found


class SchemaLake:
    """A project whose views read tables of every format and are kept in one."""

    def __init__(self, spark: SparkSession, folder: Path, storage: str) -> None:
        self.spark = spark
        self.folder = folder
        self.rng = Random(0)
        folder.mkdir(parents=True, exist_ok=True)
        text = TOML.format(folder=folder, storage=STORAGE[storage].format(folder=folder))
        (folder / "grebe.toml").write_text(text)
        self.duck = duckdb.connect(config={"threads": 1})
        load_extensions(self.duck, "ducklake", "sqlite_scanner")
        self.duck.execute(
            f"ATTACH 'ducklake:sqlite:{folder}/duck.sqlite' AS duck (DATA_PATH '{folder}/duck/',"
            " META_BUSY_TIMEOUT 10000, META_JOURNAL_MODE 'WAL')"
        )
        self.project = Project.open(folder, spark=spark)

    def history(
        self,
        seed: int,
        kind: str,
        *,
        steps: int = 3,
        views: int = 3,
        by_command: Callable[[Sequence[str]], object] | None = None,
    ) -> Counter[str]:
        """One history from its seed; what its refreshes did, counted."""
        self.rng = Random(f"{seed} {kind}")
        made = History(self, kind, seed, by_command)
        try:
            made.create()
            made.define(self.rng.sample(sorted(VIEWS), views))
            made.step(0)
            for _ in range(steps):
                made.step(self.rng.randint(1, 3))
        finally:
            made.close()
        return made.counts
