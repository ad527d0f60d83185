"""Tables whose columns are renamed, swapped, dropped, added, widened and moved under views.

One history has two tables of one format, a few views, and some steps: changes of columns with and
without writes, then a refresh. What views must show is what plain Spark answers to their own text.
Many histories take their steps together: one refresh and one comparison for all of them.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import duckdb
from pyiceberg.catalog.sql import SqlCatalog

from cli.schema_writers import Change, DeltaRs, PyArrow, PyIceberg, Statements, Table, Writer
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
Bag = Counter[str]
Command = Callable[[Sequence[str]], object]
"""Runs a command and gives what it printed."""


@dataclass(slots=True)
class History:
    """One random history, and what was found out in it."""

    lake: SchemaLake
    kind: str
    seed: int
    storage: str = ""
    """The format that the views are kept in; empty: the project's."""
    foreign: bool = False
    """Whether another writer than Spark changes tables of Iceberg or Delta."""
    rng: Random = field(init=False)
    writer: Writer = field(init=False)
    tables: dict[str, Table] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    shown: dict[str, Bag | None] = field(default_factory=dict)
    star: tuple[str, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)
    """Of the outcomes of refreshes."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """How often a view was equal to its text, or refused with a code."""

    def __post_init__(self) -> None:
        self.rng = Random(f"{self.seed} {self.kind}")
        self.writer = self._writer()

    @property
    def schema(self) -> str:
        return f"h{self.seed}_{self.kind}"

    @property
    def folder(self) -> Path:
        """Of tables that are folders."""
        return self.lake.folder / CATALOG[self.kind] / self.schema

    def _writer(self) -> Writer:
        if self.kind == "parquet":
            return PyArrow(self.folder)
        if self.kind == "ducklake":
            return Statements(self.run, self.name, duck=True)
        if self.foreign:
            place = self.lake.folder / "pyiceberg"
            return (
                PyIceberg(self.lake.iceberg, self.schema, place)
                if self.kind == "iceberg"
                else DeltaRs(self.folder)
            )
        if self.kind == "iceberg":
            options = f"'format-version' = '{self.rng.choice('23')}'"
        else:
            mode = self.rng.choice(("name", "id"))
            options = f"'delta.columnMapping.mode' = '{mode}', 'delta.enableTypeWidening' = 'true'"
        made = f"USING {self.kind} TBLPROPERTIES ({options})"
        return Statements(self.run, self.name, options=made)

    def name(self, table: str) -> str:
        """The table for whoever changes it by statements."""
        if self.kind == "delta":
            return f"delta.`{self.folder / table}`"
        return f"{CATALOG[self.kind]}.{self.schema}.{table}"

    def run(self, text: str) -> None:
        self.log.append(text)
        if self.kind == "ducklake":
            self.lake.duck.execute(text)
        else:
            self.lake.spark.sql(text).collect()

    def create(self) -> None:
        a = [("id", "INT"), ("k", "INT"), ("x", "INT"), ("g", "STRING")]
        b = [("id", "INT"), ("y", "INT"), ("f", "FLOAT")]
        self.tables = {"a": Table("a", a), "b": Table("b", b)}
        self.star = tuple(name for name, _ in b)
        if self.kind == "iceberg":
            self.lake.iceberg.create_namespace(self.schema)
        if self.kind == "ducklake":
            self.run(f"CREATE SCHEMA duck.{self.schema}")
        for table in self.tables.values():
            rows = self.rows(table)
            self.log.append(f"create {table} {rows}")
            self.writer.create(table, rows)

    def rows(self, table: Table) -> list[list[int | None]]:
        values = (None, 1, 2, 3, 4)
        count = self.rng.randint(1, 4)
        return [[self.rng.choice(values) for _ in table.columns] for _ in range(count)]

    # --- what happens -----------------------------------------------------------------------------

    def insert(self, table: Table) -> None:
        rows = self.rows(table)
        self.log.append(f"insert {table.name} {rows}")
        self.writer.insert(table, rows)

    def changed(self, table: Table, word: str, name: str, other: str = "") -> None:
        change = Change(word, name, other)
        self.log.append(f"{table.name}: {change}")
        self.writer.change(table, change)
        table.columns = change.after(table.columns)

    def rename(self, table: Table, old: str | None = None, new: str | None = None) -> None:
        free = [name for name in NAMES if name not in dict(table.columns)]
        old = old or self.any(table)
        self.changed(table, "rename", old, new or self.rng.choice(free))

    def any(self, table: Table) -> str:
        return self.rng.choice([name for name, _ in table.columns])

    def swap(self, table: Table) -> None:
        one, two = self.rng.sample([name for name, _ in table.columns], 2)
        self.changed(table, "swap", one, two)

    def drop(self, table: Table, name: str | None = None) -> None:
        if len(table.columns) > 2:
            self.changed(table, "drop", name or self.any(table))

    def add(self, table: Table, name: str | None = None, kind: str = "INT") -> None:
        free = [item for item in (*NAMES, "g", "f") if item not in dict(table.columns)]
        self.changed(table, "add", name or self.rng.choice(free), kind)

    def again(self, table: Table) -> None:
        """A column goes and comes back: its values are gone."""
        name, kind = self.rng.choice(table.columns)
        if len(table.columns) > 2:
            self.drop(table, name)
            self.add(table, name, kind)

    def widen(self, table: Table) -> None:
        narrow = [(name, wide) for name, kind in table.columns if (wide := KINDS[kind])]
        if narrow:
            self.changed(table, "widen", *self.rng.choice(narrow))

    def reorder(self, table: Table) -> None:
        if self.kind != "ducklake":  # which has no statement for it
            self.changed(table, "first", self.any(table))

    def delete(self, table: Table) -> None:
        name, kind = table.columns[0]
        if kind != "STRING":
            self.log.append(f"delete {table.name} {name} = 2")
            self.writer.delete(table, name)

    def change(self) -> None:
        """One thing happens to one of the tables."""
        table = self.tables[self.rng.choice("aab")]
        columns = (self.rename, self.swap, self.swap, self.drop, self.add, self.again)
        others = (self.widen, self.reorder, self.insert, self.insert, self.delete)
        self.rng.choice((*columns, *others))(table)

    # --- what must be true ------------------------------------------------------------------------

    def define(self, texts: Sequence[str]) -> None:
        catalog = f"views_{self.storage}" if self.storage else "views"
        for name in texts:
            text = VIEWS[name].format(**{t: self.read_as(t) for t in self.tables})
            self.views[f"{catalog}.{self.schema}.{name}"] = text
            self.lake.project.create_view(f"{catalog}.{self.schema}.{name}", text, build=False)

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
                return f"plain_{self.schema}_{table}"
            case "parquet":
                return f"parquet.`{self.folder / table}`"
        return self.name(table)

    def look(self) -> None:
        """Shows plain Spark the tables as they are."""
        for table in self.tables:
            if self.kind == "ducklake":
                found = self.lake.duck.execute(f"SELECT * FROM {self.name(table)}").to_arrow_table()
                frame = self.lake.spark.createDataFrame(found)
                frame.createOrReplaceTempView(self.relation(table))
            elif self.kind == "iceberg" and self.foreign:  # Spark's catalog remembers tables
                self.lake.spark.sql(f"REFRESH TABLE {self.name(table)}")

    def step(self, changes: int) -> None:
        """Some changes, one refresh; every view is what its text means now, or says why not."""
        for _ in range(changes):
            self.change()
        refreshed_and_compared(self.lake, [self])

    def judge(self, name: str, found: Found) -> None:
        told = (name, found, *self.log)
        self.counts[found.outcome] += 1
        if found.wanted is None or found.wanted != self.shown.get(name):
            assert found.state is not State.FRESH, told
        if found.wanted is None:
            assert found.outcome == Outcome.FAILED, told
            assert found.code not in (None, "internal", "unexpected"), told
            self.verdicts[f"refused_{found.code}"] += 1
            return
        assert found.outcome != Outcome.FAILED, told
        assert found.seen == found.wanted, told
        self.verdicts["equal"] += 1
        self.shown[name] = found.wanted

    def close(self) -> None:
        for name in self.views:
            with suppress(GrebeError):
                self.lake.project.drop(name)
        for table in self.tables:
            match self.kind:
                case "iceberg":
                    self.lake.iceberg.drop_table((self.schema, table))
                case "ducklake":
                    self.lake.duck.execute(f"DROP TABLE {self.name(table)}")
                    self.lake.spark.catalog.dropTempView(self.relation(table))
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Found:
    """What became of one view in one step."""

    state: State
    """Before the refresh."""
    outcome: str
    code: str | None
    wanted: Bag | None
    """What plain Spark answers to the text; None: it has no meaning."""
    seen: Bag | None


def refreshed_and_compared(
    lake: SchemaLake, histories: Sequence[History], by_command: Command | None = None
) -> None:
    """All views of some histories, refreshed in one run and compared in one statement."""
    names = [name for history in histories for name in history.views]
    states = {str(item.name): item.state for item in lake.project.status(names)}
    results = lake.refreshed(names, by_command)
    wanted: dict[str, DataFrame] = {}
    for history in histories:
        history.look()
        frames = {name: history.plain(name) for name in history.views}
        wanted |= {name: frame for name, frame in frames.items() if frame is not None}
    shown = {name: lake.project.read(name) for name in wanted if results[name][0] != Outcome.FAILED}
    answers = bags(
        {f"wanted {name}": frame for name, frame in wanted.items()}
        | {f"seen {name}": frame for name, frame in shown.items()}
    )
    for history in histories:
        for name in history.views:
            both = answers.get(f"wanted {name}"), answers.get(f"seen {name}")
            history.judge(name, Found(states[name], *results[name], *both))


def bags(frames: Mapping[str, DataFrame]) -> dict[str, Bag]:
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
    found: dict[str, Bag] = {name: Counter() for name in frames}
    for name, row in reduce(DataFrame.unionAll, texts).coalesce(1).collect():
        found[name][row] += 1
    return found


class SchemaLake:
    """A project whose views read tables of every format and are kept in one."""

    def __init__(self, spark: SparkSession, folder: Path, storage: str) -> None:
        self.spark = spark
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        kept = {"views": STORAGE[storage], **{f"views_{n}": text for n, text in STORAGE.items()}}
        catalogs = (f"[catalogs.{name}]\n{text}\n" for name, text in kept.items())
        text = (TOML + "".join(catalogs)).format(folder=folder)
        (folder / "grebe.toml").write_text(text)
        self.duck = duckdb.connect(config={"threads": 1})
        load_extensions(self.duck, "ducklake", "sqlite_scanner")
        self.duck.execute(
            f"ATTACH 'ducklake:sqlite:{folder}/duck.sqlite' AS duck (DATA_PATH '{folder}/duck/',"
            " META_BUSY_TIMEOUT 10000, META_JOURNAL_MODE 'WAL')"
        )
        self.project = Project.open(folder, spark=spark)
        uri = str(spark.conf.get("spark.sql.catalog.lake.uri")).removeprefix("jdbc:sqlite:")
        self.iceberg = SqlCatalog("lake", uri=f"sqlite:///{uri.partition('?')[0]}")

    def refreshed(
        self, names: Sequence[str], by_command: Command | None
    ) -> dict[str, tuple[str, str | None]]:
        """What one run did to each, and the code of its error."""
        if by_command is not None:
            document = by_command(["refresh", *names, "-o", "json"])
            return {
                item["view"]: (item["outcome"], item["error"] and item["error"]["code"])
                for item in json.loads(str(document))
            }
        return {
            str(item.view): (
                str(item.outcome),
                item.error.code if isinstance(item.error, GrebeError) else None,
            )
            for item in self.project.refresh(list(names))
        }

    def histories(
        self,
        seeds: Sequence[int],
        kinds: Sequence[str] = FORMATS,
        *,
        views: int = 2,
        by_command: Command | None = None,
    ) -> Counter[str]:
        """One history of each kind from each seed, side by side; what was found, counted."""
        kept = sorted(STORAGE)
        made = [
            History(self, kind, seed, kept[(seed + at) % len(kept)], foreign=bool(seed % 2))
            for seed in seeds
            for at, kind in enumerate(kinds)
        ]
        steps = {id(history): history.rng.randint(1, 3) for history in made}
        try:
            for history in made:
                history.create()
                history.define(history.rng.sample(sorted(VIEWS), views))
            refreshed_and_compared(self, made, by_command)
            for step in range(3):
                going = [history for history in made if steps[id(history)] > step]
                for history in going:
                    for _ in range(history.rng.randint(1, 3)):
                        history.change()
                if going:
                    refreshed_and_compared(self, going, by_command)
        finally:
            for history in made:
                history.close()
        counts = Counter(f"histories_{history.kind}" for history in made)
        counts["histories"] = len(made)
        for history in made:
            counts += history.verdicts
            counts.update({f"refreshes_{name}": n for name, n in history.counts.items()})
        return counts

    def close(self) -> None:
        self.project.close()
        self.iceberg.close()
        self.duck.close()
