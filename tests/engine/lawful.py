"""Random lakes under random views: what the laws of a refresh are checked on.

Many views stand over the same three small tables and are refreshed as one graph, so that a round
of changes checks all of them at once. Spark gives the rows of all views in one job; what they must
be is computed by DuckDB from the texts that were written, parents put in as subqueries.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb
from pyspark.errors import PySparkException

from compiler.random_queries import COLUMNS, Generator
from grebe.engine.engine import Engine
from grebe.engine.refresh import RefreshResult
from grebe.errors import DefinitionError, NotIncrementalError
from grebe.model import Outcome, Policy
from grebe.sql_text import literal, quote
from hostile import RESERVED, WORDS, disguised, drawn, words_in

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

VIEWS = 12
TRIES = 80
LEAVES = 3
"""Tables that a view reads: larger ones are the compiler's own laws' to check, and Spark is slow."""
LEAF = re.compile(r"\b([rtu]) AS\b")
TYPES = {"k": "INT", "x": "INT", "y": "INT", "z": "INT"}
ROW_CHANGES = ("insert", "insert", "delete", "update", "update", "merge", "transient", "nothing")
LARGE_CHANGES = ("overwrite", "truncate", "rollback", "recreate", "replace", "expire")
HARMLESS = ("compact", "manifests", "add column", "rename unused")
SPARKS_OWN = re.compile(r"ROLLUP|CUBE|, [^()]*\) (NOT )?IN \(SELECT")
"""Where Spark itself is asked: of nothing, DuckDB makes a grand total and Spark does not; and for DuckDB a row
with a NULL in it is never surely outside of a subquery, whatever its other values are."""
WAYS = ("copy-on-write", "merge-on-read")

Bag = Counter[tuple[str | None, ...]]


@dataclass(frozen=True, slots=True)
class Text:
    """A view as it was written: over sources and other views, and over sources alone."""

    sql: str
    composed: str
    """For DuckDB."""
    native: str
    """The same for Spark."""
    width: int


@dataclass(slots=True)
class Lake:
    """Three tables, the views over them, and the dice that change the tables."""

    spark: SparkSession
    engine: Engine
    schema: str
    rng: random.Random
    views: dict[str, Text] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """Hostile names of tables, columns, outputs and views."""
    spare: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    @staticmethod
    def opened(spark: SparkSession, engine: Engine, schema: str, seed: int) -> Lake:
        """Three tables with a few rows each."""
        lake = Lake(spark, engine, schema, random.Random(seed), names=hostile_names(seed))
        spark.sql(f"CREATE NAMESPACE lake.{schema}")
        for table in COLUMNS:
            lake.create(table)
            for _ in range(lake.rng.randint(0, 2)):
                lake.insert(table, lake.rng.randint(1, 8))
        return lake

    def own(self, word: str) -> str:
        """What a table, a column, an output or a view is called."""
        return self.names.get(word, word)

    def quoted(self, word: str, dialect: str = "spark") -> str:
        return quote(self.own(word), dialect)

    def columns(self, table: str) -> tuple[str, str]:
        """The columns of a table, quoted for those who write it."""
        first, second = COLUMNS[table]
        return self.quoted(first), self.quoted(second)

    def name(self, table: str) -> str:
        return f"lake.{self.schema}.{self.quoted(table)}"

    def read_as(self, table: str) -> str:
        """The name by which a view reads a table."""
        return f"{self.schema}.{self.quoted(table)}"

    def sql(self, text: str) -> None:
        self.log.append(text)
        self.spark.sql(text).collect()

    # --- views ----------------------------------------------------------------------------------

    def define(self, wanted: int = VIEWS) -> None:
        """Random views; about every third reads another view in place of a table."""
        for number in range(TRIES):
            if len(self.views) == wanted:
                return
            generator = Generator(self.rng)
            width = self.rng.randint(1, 3)
            body = generator.query(self.rng.choice((0, 1, 1, 1, 2)), [], width)
            if len(LEAF.findall(body)) > LEAVES:
                continue
            try:
                duckdb_over_nothing(body)
            except duckdb.Error:
                continue
            text = self._text(body, width)
            if not self._is_clear(text):
                continue
            # Some views may be recomputed; most must be maintained.
            policy = self.rng.choice((Policy.AUTO, *[Policy.INCREMENTAL] * 4))
            name = self.own(f"v{number}")
            try:
                self.engine.define(f"{self.schema}.{name}", text.sql, policy)
            except (DefinitionError, NotIncrementalError):
                continue
            self.views[name] = text

    def _is_clear(self, text: Text) -> bool:
        """False for what DuckDB and Spark read differently and Spark cannot read as it stands."""
        if not SPARKS_OWN.search(text.composed):
            return True
        try:
            return bool(self.spark.sql(self.over_lake(text.native)).columns)
        except PySparkException:
            return False

    def over_lake(self, native: str) -> str:
        """The text for Spark."""
        return LEAF.sub(lambda found: f"{self.name(found[1])} AS", native)

    def _text(self, body: str, width: int) -> Text:
        """The query over tables of this schema; one of them may be a view with two columns."""
        parents = [name for name, text in self.views.items() if text.width == 2]
        spark, duck = (self.disguised(body, dialect) for dialect in ("spark", "duckdb"))
        standing = {table: (self.read_as(table), table, table) for table in COLUMNS}
        if parents and self.rng.random() < 0.35:
            table = self.rng.choice(list(COLUMNS))
            parent = self.rng.choice(parents)
            first, second = COLUMNS[table]
            names, other = (
                self.disguised(f"c1 AS {first}, c2 AS {second}", dialect)
                for dialect in ("spark", "duckdb")
            )
            above = self.views[parent]
            standing[table] = (
                f"(SELECT {names} FROM {self.schema}.{quote(parent)})",
                f"(SELECT {other} FROM ({above.composed}) AS inlined)",
                f"(SELECT {names} FROM ({above.native}) AS inlined)",
            )

        def put(text: str, column: int) -> str:
            return LEAF.sub(lambda found: f"{standing[found[1]][column]} AS", text)

        return Text(put(spark, 0), put(duck, 1), put(spark, 2), width)

    def disguised(self, body: str, dialect: str) -> str:
        """The text with hostile names of everything but tables."""
        if not self.names:
            return body
        mark = "`" if dialect == "spark" else '"'
        rest = {word: name for word, name in self.names.items() if word not in COLUMNS}
        aliases = drawn(words_in(body, r"a\d+"), random.Random(len(body)), without=rest.values())
        return disguised(body, {**rest, **aliases}, mark)

    # --- changes --------------------------------------------------------------------------------

    def create(self, table: str) -> None:
        first, second = self.columns(table)
        mode = self.rng.choice(WAYS)
        self.sql(
            f"CREATE TABLE {self.name(table)} ({first} INT, {second} INT,"
            f" {self.quoted('unused')} STRING)"
            f" USING iceberg TBLPROPERTIES ('format-version'='{self.rng.choice('23')}',"
            f" 'write.delete.mode'='{mode}', 'write.update.mode'='{mode}',"
            f" 'write.merge.mode'='{mode}')"
        )
        self.spare[table] = self.quoted("unused")

    def value(self) -> str:
        return "NULL" if self.rng.random() < 0.2 else str(self.rng.randint(0, 3))

    def insert(self, table: str, rows: int, key: str | None = None) -> None:
        values = ", ".join(f"({key or self.value()}, {self.value()})" for _ in range(rows))
        self.sql(
            f"INSERT INTO {self.name(table)} ({', '.join(self.columns(table))}) VALUES {values}"
        )

    def condition(self, table: str) -> str:
        column = self.rng.choice(self.columns(table))
        return self.rng.choice(
            (f"{column} = {self.rng.randint(0, 3)}", f"{column} IS NULL", f"{column} > 1")
        )

    def change(self) -> str:
        """One random commit on one table, or something that changes no row; its kind."""
        table = self.rng.choice(list(COLUMNS))
        kind = self.rng.choice(self.kinds(table))
        getattr(self, "_" + kind.replace(" ", "_"))(table)
        return kind

    def kinds(self, table: str) -> Sequence[str]:
        """What may happen to a table now."""
        luck = self.rng.random()
        return ROW_CHANGES if luck < 0.78 else HARMLESS if luck < 0.9 else LARGE_CHANGES

    def _insert(self, table: str) -> None:
        self.insert(table, self.rng.randint(1, 4))

    def _delete(self, table: str) -> None:
        self.sql(f"DELETE FROM {self.name(table)} WHERE {self.condition(table)}")

    def _update(self, table: str) -> None:
        column = self.rng.choice(self.columns(table))
        self.sql(
            f"UPDATE {self.name(table)} SET {column} = {self.value()} WHERE {self.condition(table)}"
        )

    def _merge(self, table: str) -> None:
        first, second = self.columns(table)
        self.sql(
            f"MERGE INTO {self.name(table)} AS old USING (SELECT {self.rng.randint(0, 3)} AS a,"
            f" {self.rng.randint(0, 3)} AS b) AS new ON old.{first} = new.a"
            f" WHEN MATCHED AND old.{second} = new.b THEN DELETE"
            f" WHEN MATCHED THEN UPDATE SET {second} = new.b"
            f" WHEN NOT MATCHED THEN INSERT ({first}, {second}) VALUES (new.a, new.b)"
        )

    def _transient(self, table: str) -> None:
        """A row that comes and goes, and one that is moved twice."""
        first, _ = self.columns(table)
        self.insert(table, 2, key="77")
        self.sql(f"UPDATE {self.name(table)} SET {first} = 78 WHERE {first} = 77")
        self.sql(f"DELETE FROM {self.name(table)} WHERE {first} = 78")

    def _nothing(self, table: str) -> None:
        """Only a column that no view reads changes."""
        self.sql(f"UPDATE {self.name(table)} SET {self.spare[table]} = 'x'")

    def _overwrite(self, table: str) -> None:
        columns = ", ".join(self.columns(table))
        self.sql(
            f"INSERT OVERWRITE {self.name(table)} ({columns}) SELECT {self.value()}, {self.value()}"
        )

    def _truncate(self, table: str) -> None:
        self.sql(f"DELETE FROM {self.name(table)}")

    def _rollback(self, table: str) -> None:
        rows = self.spark.sql(
            f"SELECT snapshot_id FROM {self.name(table)}.history WHERE is_current_ancestor"
        ).collect()
        if len(rows) > 1:
            chosen = self.rng.choice([row[0] for row in rows][:-1])
            self.sql(f"CALL lake.system.rollback_to_snapshot({self.argument(table)}, {chosen})")

    def _recreate(self, table: str) -> None:
        self.sql(f"DROP TABLE {self.name(table)}")
        self.create(table)
        self.insert(table, 2)

    def _replace(self, table: str) -> None:
        """CREATE OR REPLACE keeps the table's identity."""
        first, second = self.columns(table)
        self.sql(
            f"CREATE OR REPLACE TABLE {self.name(table)} USING iceberg AS SELECT {first}, {second},"
            f" CAST(NULL AS STRING) AS {self.quoted('unused')} FROM {self.name(table)} WHERE {self.condition(table)}"
        )
        self.spare[table] = self.quoted("unused")

    def argument(self, table: str) -> str:
        """The table as an argument of a procedure."""
        return literal(f"{self.schema}.{self.quoted(table)}")

    def _expire(self, table: str) -> None:
        self._insert(table)
        self.sql(
            f"CALL lake.system.expire_snapshots(table => {self.argument(table)},"
            " older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
        )

    def _compact(self, table: str) -> None:
        self.sql(
            f"CALL lake.system.rewrite_data_files(table => {self.argument(table)},"
            " options => map('rewrite-all', 'true'))"
        )

    def _manifests(self, table: str) -> None:
        self.sql(f"CALL lake.system.rewrite_manifests(table => {self.argument(table)})")

    def _add_column(self, table: str) -> None:
        self.sql(f"ALTER TABLE {self.name(table)} ADD COLUMN more{len(self.log)} INT")

    def _rename_unused(self, table: str) -> None:
        new = f"spare{len(self.log)}"
        self.sql(f"ALTER TABLE {self.name(table)} RENAME COLUMN {self.spare[table]} TO {new}")
        self.spare[table] = new

    # --- what must be ---------------------------------------------------------------------------

    def refresh(self, **options: object) -> dict[str, RefreshResult]:
        """The results by view; a failure is a violation."""
        results = {result.view.name: result for result in self.engine.refresh(**options)}  # type: ignore[arg-type]
        for name, result in results.items():
            if result.outcome is Outcome.FAILED:
                raise AssertionError(self.told(name, str(result.reasons))) from result.error
        return results

    def check(self) -> None:
        """Every view equals its text over the tables as they are."""
        found = self._found()
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        # As Spark orders where the text does not say.
        connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        for table in COLUMNS:
            connection.register("held", self.held(table, self.columns(table)))
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM held")
        for name, text in self.views.items():
            rows = (
                self.spark.sql(self.over_lake(text.native)).collect()
                if SPARKS_OWN.search(text.composed)
                else connection.execute(text.composed).fetchall()
            )
            expected: Bag = Counter(
                tuple(None if value is None else str(value) for value in row) for row in rows
            )
            if found[name] != expected:
                missing, surplus = expected - found[name], found[name] - expected
                raise AssertionError(self.told(name, f"missing {missing}, surplus {surplus}"))

    def held(self, table: str, columns: Sequence[str]) -> pa.Table:
        """The rows of a table as they are."""
        return self.spark.sql(f"SELECT {', '.join(columns)} FROM {self.name(table)}").toArrow()

    def shown(self, name: str) -> str:
        """What a public name shows, as a relation."""
        return f"lake.{self.schema}.{quote(name)}"

    def _found(self) -> Mapping[str, Bag]:
        parts = []
        for name, text in self.views.items():
            cells = ", ".join(
                f"CAST({self.quoted(f'c{i + 1}')} AS STRING)" for i in range(text.width)
            )
            parts.append(
                f"SELECT '{name}' AS name, to_json(array({cells})) AS cells FROM {self.shown(name)}"
            )
        found: dict[str, Bag] = {name: Counter() for name in self.views}
        for row in self.spark.sql(" UNION ALL ".join(parts)).collect():
            found[row["name"]][tuple(json.loads(row["cells"]))] += 1
        return found

    def told(self, name: str, what: str) -> str:
        history = ";\n".join(self.log)
        return f"{name}: {what}\n{self.views[name].sql}\n--\n{history}"


PLAIN = ("k", "x", "y", "z", "unused", "c1", "c2", "c3")
"""Columns of tables and outputs of views."""


def hostile_names(seed: int, without: Collection[str] = ()) -> dict[str, str]:
    """Hostile names of three tables, of columns, outputs and views."""
    rng = random.Random(seed)
    tables = drawn(COLUMNS, rng, (*WORDS, *RESERVED))
    columns = drawn(PLAIN, rng, without=without)
    taken = [name.lower() for name in tables.values()]
    free = [name for name in (*WORDS, *RESERVED) if name not in taken]
    rng.shuffle(free)
    views = {f"v{number}": name for number, name in enumerate(free)}
    return {**tables, **columns, **views}


def duckdb_over_nothing(body: str) -> None:
    """An error when the text is no query over the three tables."""
    connection = duckdb.connect()
    for table, columns in COLUMNS.items():
        connection.execute(f"CREATE TABLE {table} ({', '.join(f'{c} INT' for c in columns)})")
    connection.execute(body)
