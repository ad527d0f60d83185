"""Runs refresh plans on DuckDB: builds a storage table, then applies the steps window by window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
from sqlglot import exp

from compiler.laws.batching import batch
from compiler.laws.check import Difference, bag_difference
from compiler.laws.databases import CASE, CASES, ident
from compiler.laws.engine import STORAGE, Database, original
from grebe.compiler.algebra.nodes import WEIGHT, At, Node, Scan, walk
from grebe.compiler.algebra.rewriting import pinned
from grebe.compiler.algebra.scalar import Scalar, build, column
from grebe.compiler.bind import DeltaFacts, bind
from grebe.compiler.bind.key_ranges import narrowed
from grebe.compiler.bind.prune import without_empty
from grebe.compiler.bind.shared_reads import BothVersions, read_once, read_twice
from grebe.compiler.bind.sizes import SideSizes
from grebe.compiler.delta.weighted import SIDE
from grebe.compiler.lower import Lowered, Relation, lower
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.plan.strategy import make_plan
from grebe.compiler.write.steps import (
    COPIES,
    AppendStep,
    CheckStep,
    Compute,
    MergeStep,
    OverwriteStep,
    Step,
)
from grebe.errors import NotIncrementalError
from grebe.model import ACTION

Values = tuple[object, ...]


class IntegrityError(Exception):
    """A check gave rows, or a write met other stored rows than it should."""


@dataclass(slots=True)
class Sources:
    """Tables whose versions a test writes one after the other."""

    database: Database
    tables: Mapping[str, Mapping[str, str]]
    rows: dict[str, Counter[Values]] = field(default_factory=dict)

    @staticmethod
    def of(tables: Mapping[str, Mapping[str, str]]) -> Sources:
        database = Database(duckdb.connect(config={"threads": 1}), frozenset(tables), cycle=0)
        sources = Sources(database, tables, {name: Counter() for name in tables})
        database.cycle = -1
        return sources

    def take(self, changes: Mapping[str, Mapping[Values, int]]) -> None:
        """The next version of every table."""
        self.database.cycle += 1
        for name, types in self.tables.items():
            net = {row: weight for row, weight in changes.get(name, {}).items() if weight}
            for row, weight in net.items():
                self.rows[name][row] += weight
            columns = ", ".join(f"{ident(key)} {kind}" for key, kind in types.items())
            version = self.database.cycle
            self._create(f"{name}_{version}", columns, list(self.rows[name].elements()))
            weighted = [(*row, weight) for row, weight in net.items()]
            self._create(f"{name}_d{version}", f"{columns}, {WEIGHT} BIGINT", weighted)
        self.database.at(self.database.cycle)

    def _create(self, name: str, columns: str, rows: Sequence[Values]) -> None:
        self.database.connection.execute(f"CREATE TABLE {ident(name)} ({columns})")
        if rows:
            marks = ", ".join("?" for _ in rows[0])
            self.database.connection.executemany(
                f"INSERT INTO {ident(name)} VALUES ({marks})", rows
            )


def schemas(database: Database) -> dict[str, Relation]:
    """The columns and types of every source, without the case id."""
    return {
        table: Relation(
            table,
            tuple(
                (str(row[0]), str(row[1]))
                for row in database.rows(f"DESCRIBE {ident(f'{database.prefix}{table}_new')}")
                if row[0] != CASE
            ),
        )
        for table in sorted(database.tables)
    }


def lowered(sql: str, database: Database) -> Lowered:
    """The algebra of a query over the sources of a database."""
    return lower(sql, dialect="duckdb", sources=schemas(database))


def lowered_tree(tree: Node) -> Lowered:
    """A tree built by hand, as if it had been lowered from a text."""
    tables = sorted({leaf.table for leaf in walk(tree) if isinstance(leaf, Scan)})
    outputs = tuple((name, name) for name in tree.columns)
    return Lowered(tree, outputs, tuple(tables), (), (), frozenset(), "")


def batched(one: Lowered) -> Lowered:
    """The same definition over a batch of databases."""
    if one.root is None:
        raise AssertionError("only what is understood can be batched")
    return replace(
        one,
        root=batch(one.root),
        outputs=(*one.outputs, (CASE, CASE)),
        tables=tuple(dict.fromkeys((*one.tables, CASES))),
    )


def planned(one: Lowered, database: Database) -> RefreshPlan:
    """The plan, with the types that DuckDB gives."""
    if one.root is None:
        raise AssertionError("nothing to plan")
    return make_plan(one, database.types_of(one.root))


@dataclass(slots=True)
class Runner:
    """A view in a database: its plan, and its storage table."""

    database: Database
    plan: RefreshPlan
    sql: str | None = None
    """The text to compare with as well, when the view is over one database."""
    with_bounds: bool = True

    @staticmethod
    def compiled(sql: str, sources: Sources) -> RefreshPlan:
        one = lowered(sql, sources.database)
        if one.reasons:
            raise NotIncrementalError("the query cannot be maintained", one.reasons)
        return planned(one, sources.database)

    @staticmethod
    def build(sql: str, sources: Sources) -> Runner:
        runner = Runner(sources.database, Runner.compiled(sql, sources), sql)
        runner.fill()
        return runner

    def fill(self) -> None:
        """The first build: all rows at the current version."""
        body = self.database.sql(self.plan.build)
        self._run(f"CREATE OR REPLACE TABLE {STORAGE} AS {body}")

    def refresh(self) -> None:
        """One refresh from the previous version to the current one; all of it or nothing."""
        self._run("BEGIN")
        try:
            empty: set[str] = set()
            for step in self.steps():
                # As the engine does: nothing is computed from steps that turned out empty.
                step = replace(step, node=without_empty(step.node, empty))
                self._step(step)
                if isinstance(step, Compute) and not self._has_rows(step.name):
                    empty.add(step.name)
        except BaseException:
            self._run("ROLLBACK")
            raise
        self._run("COMMIT")

    def steps(self) -> tuple[Step, ...]:
        """The steps bound to the facts of this window's deltas."""
        if not self.plan.steps:
            return self.plan.full
        return bind(self.plan, self.facts())

    def facts(self) -> DeltaFacts:
        """What an engine would know of the deltas once they are read."""
        still, growing = {CASES}, True
        for table in sorted(self.database.tables):
            name = ident(f"{self.database.prefix}{table}_delta")
            count, least = self.database.rows(f"SELECT COUNT(*), MIN({WEIGHT}) FROM {name}")[0]
            if count == 0:
                still.add(table)
            elif int(str(least)) < 0:
                growing = False
        bounds = self._bounds() if self.with_bounds else {}
        # Small shares on some tables, so that chains of marked joins are checked like any other tree.
        tables = self.plan.tables
        changed = dict.fromkeys(tables[len(still) % 2 :], 1)
        few = SideSizes(dict.fromkeys(tables, 1000), changed, None if len(still) % 3 else 10)
        return DeltaFacts(frozenset(still), growing, bounds, few, self._never_null(still))

    def _never_null(self, still: set[str]) -> frozenset[tuple[str, str]]:
        found = set()
        for table in sorted(self.database.tables - still):
            name = ident(f"{self.database.prefix}{table}_delta")
            columns = [str(row[0]) for row in self.database.rows(f"DESCRIBE {name}")]
            counts = ", ".join(f"COUNT(*) - COUNT({ident(column)})" for column in columns)
            (nulls,) = self.database.rows(f"SELECT {counts} FROM {name}")
            found |= {(table, item) for item, n in zip(columns, nulls, strict=True) if n == 0}
        return frozenset(found)

    def _bounds(self) -> dict[tuple[str, str], tuple[Scalar, Scalar]]:
        found = {}
        for table, name in self.plan.parameters:
            if table == CASES:
                continue
            source = ident(f"{self.database.prefix}{table}_delta")
            low, high = self.database.rows(
                f"SELECT MIN({ident(name)}), MAX({ident(name)}) FROM {source}"
            )[0]
            if low is not None and isinstance(low, int):
                found[table, name] = tuple(Scalar.of(exp.convert(value)) for value in (low, high))
        return found

    def _step(self, step: Step) -> None:
        match step:
            case Compute():
                node = narrowed(step.node, self._range) if self.with_bounds else step.node
                # Every other one, so that both ways are checked.
                both = [item for item in read_twice(node) if int(item.name[-1], 16) % 2]
                for item in both:
                    self._read(item)
                self._keep(ident(f"step_{step.name}"), replace(step, node=read_once(node, both)))
            case CheckStep():
                wrong = self.database.rows(self.database.sql(step.node))
                if wrong:
                    raise IntegrityError(f"{step.message}: {wrong[:3]}")
            case AppendStep():
                self._insert(f"(\n{self.database.sql(step.node)}\n)")
            case OverwriteStep():
                self._run(f"DELETE FROM {STORAGE}")
                self._insert(f"(\n{self.database.sql(step.node)}\n)")
            case MergeStep():
                self._merge(step)

    def _read(self, both: BothVersions) -> None:
        """Rows at both versions from one read, as the engine takes them apart."""
        names = ", ".join(ident(name) for name in both.new.columns)
        self._run(f"CREATE OR REPLACE TEMP TABLE apart AS {self.database.sql(both.rows)}")
        old = (
            f"SELECT {names}, SUM(CASE {SIDE} WHEN 0 THEN {WEIGHT} ELSE -{WEIGHT} END) AS __copies"
            f" FROM apart GROUP BY {names} HAVING __copies <> 0"
        )
        assert not self.database.rows(f"SELECT 1 FROM ({old}) WHERE __copies < 0"), both.name
        for at, rows in (
            (At.NEW, f"SELECT {names} FROM apart WHERE {SIDE} = 0"),
            (
                At.OLD,
                f"SELECT {names} FROM (SELECT *, UNNEST(range(__copies::BIGINT)) FROM ({old}))",
            ),
        ):
            step = f'"step_{both.named(at).step}"'
            self._run(f"CREATE OR REPLACE TEMP TABLE {step} AS {rows}")

    def _has_rows(self, step: str) -> bool:
        return bool(self.database.rows(f"SELECT 1 FROM {ident(f'step_{step}')} LIMIT 1"))

    def _range(self, step: str, key: str, stored: str) -> Scalar | None:
        """Where the keys of a step lie; nothing where one of them is NULL, as in the engine."""
        low, high, nulls = self.database.rows(
            f"SELECT MIN({ident(key)}), MAX({ident(key)}), COUNT(*) - COUNT({ident(key)}) FROM {ident(f'step_{step}')}"
        )[0]
        if type(low) is not int or nulls:
            return None
        return build(f":c BETWEEN {low} AND {high}", c=column(stored))

    def _keep(self, name: str, step: Compute | MergeStep) -> None:
        self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS {self.database.sql(step.node)}")

    def _merge(self, step: MergeStep) -> None:
        self._keep("merged", step)
        names = [(name, "{}") for name in step.on] + [
            (name, "CAST({} AS VARCHAR)") for name in step.signed
        ]
        match = " AND ".join(
            f"{form.format(f'{STORAGE}.{ident(name)}')} IS NOT DISTINCT FROM {form.format(f'merged.{ident(name)}')}"
            for name, form in names
        )
        matched = f"{match or 'TRUE'} AND merged.{ACTION} <> 'insert'"
        expected = self.database.rows(
            f"SELECT COALESCE(SUM({COPIES}), 0) FROM merged WHERE {ACTION} <> 'insert'"
        )
        found = self.database.rows(f"SELECT COUNT(*) FROM {STORAGE} JOIN merged ON {matched}")
        if int(str(expected[0][0])) != int(str(found[0][0])):
            raise IntegrityError(f"{found[0][0]} stored rows match, {expected[0][0]} should")
        self._run(f"DELETE FROM {STORAGE} USING merged WHERE {matched}")
        self._insert(f"(SELECT * FROM merged WHERE {ACTION} <> 'delete')")

    def _insert(self, rows: str) -> None:
        names = ", ".join(ident(name) for name in self.plan.shape.columns)
        self._run(f"INSERT INTO {STORAGE} ({names}) SELECT {names} FROM {rows} AS fresh")

    def _run(self, sql: str) -> None:
        self.database.connection.execute(sql)

    def difference(self) -> Difference:
        """What readers see minus what the query gives now."""
        shown = self.database.sql(self.plan.public)
        columns = self.plan.definition.columns
        truth = self.database.sql(pinned(self.plan.definition, At.NEW))
        found = bag_difference(self.database, columns, ((shown, "1"), (truth, "-1")))
        if found or self.sql is None:
            return found
        return self.difference_to(self.sql)

    def difference_to(self, sql: str, *, named: bool = False) -> Difference:
        """What readers see minus what the text as it was written gives."""
        shown = self.database.sql(self.plan.public)
        places = [f"column{place}" for place in range(len(self.plan.outputs))]
        inner = ", ".join(
            f"{ident(name)} AS {place}"
            for (name, _), place in zip(self.plan.outputs, places, strict=True)
        )
        written = original(self.database, sql, named=named)
        return bag_difference(
            self.database,
            places,
            (
                (f"SELECT {inner} FROM (\n{shown}\n) AS shown", "1"),
                (f"SELECT * FROM (\n{written}\n) AS written({', '.join(places)})", "-1"),
            ),
        )
