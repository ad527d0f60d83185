"""Random expressions over values at which engines go apart, by Spark and as small steps run them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp, parse_one

from grebe.compiler.algebra.nodes import Aggregate, Named, Node, Projection
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.bind.small_expressions import SmallWriter, Typed
from grebe.compiler.bind.small_kinds import NotSmallError, SmallKind, kind_of
from grebe.compiler.parser.dialect import READ
from grebe.engine.small_runner import CannotRunError, SmallRunner, arrow_of
from grebe.formats.frames import to_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EDGES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "tinyint": [0, 1, -1, 127, -128],
    "smallint": [0, 1, -1, 32767, -32768],
    "int": [0, 1, -1, 7, 2**31 - 1, -(2**31)],
    "bigint": [0, 1, -1, 12, 2**53 + 1, 2**63 - 1, -(2**63)],
    "decimal(9,2)": [Decimal("0.00"), Decimal("-0.01"), Decimal("1.50"), Decimal("9999999.99")],
    "decimal(18,0)": [Decimal(0), Decimal(-1), Decimal(10**18 - 1), Decimal(1 - 10**18)],
    "decimal(19,3)": [Decimal(0), Decimal("-0.001"), Decimal(255), Decimal("-128.500")],
    "decimal(38,0)": [
        *map(Decimal, (0, 127, 128, -128, -129, 2**63, 10**38 - 1, 1 - 10**38)),
    ],
    "string": ["", " ", "a", "A", "b", "ä", "ß", "İ", "e\u0301", "12345678", "😀" * 9, "x" * 31, "x" * 32, "a_%b"],
    "date": [
        date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 10), date(2024, 2, 29),
    ],
    "timestamp": [
        datetime(1970, 1, 1, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC),
        datetime(2026, 7, 1, 12, 30, 1, 5, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ],
    "double": [0.0, -0.0, 1.5, float("nan"), float("inf"), -1e300],
}  # fmt: skip
"""Values of each type at which engines go apart."""
KINDS = list(EDGES)
NAMES = {kind: f"c{place}" for place, kind in enumerate(KINDS)}
WHOLE = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*WHOLE, "decimal(9,2)", "decimal(18,0)", "decimal(19,3)", "decimal(38,0)")
ROWS = 14


def edge_rows(rng: random.Random, count: int) -> pa.Table:
    """Rows of every type; about a seventh of the values NULL."""
    columns = {
        NAMES[kind]: pa.array(
            [None if rng.random() < 0.14 else rng.choice(EDGES[kind]) for _ in range(count)],
            arrow_of(kind_of(kind)),
        )
        for kind in KINDS
    }
    return pa.table(columns)


@dataclass(frozen=True, slots=True)
class Expressions:
    """Texts of Spark's SQL, of all forms that are on the list and of some that are not."""

    rng: random.Random

    def text(self, depth: int) -> str:
        return self.rng.choice((self.number, self.truth, self.string, self.time))(depth)

    def _column(self, *kinds: str) -> str:
        return f"`{NAMES[self.rng.choice(kinds)]}`"

    def number(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.2:
            return rng.choice(
                (
                    self._column(*NUMBERS),
                    self._column(*WHOLE),
                    str(rng.randint(0, 300)),
                    "0",
                    "1.50",
                    "0.001",
                    "3000000000",
                )
            )
        one, two = self.number(depth - 1), self.number(depth - 1)
        kind = rng.choice(
            ("INT", "BIGINT", "DECIMAL(38,0)", "DECIMAL(38,3)", "DECIMAL(12,2)", "SMALLINT")
        )
        return rng.choice((
            f"({one} + {two})", f"({one} - {two})", f"({one} * {two})", f"(- {one})", f"({one} % {two})",
            f"CAST({one} AS {kind})", f"COALESCE({one}, {two})", f"NULLIF({one}, {two})",
            f"GREATEST({one}, {two})", f"LEAST({one}, {two})",
            f"CASE WHEN {self.truth(depth - 1)} THEN {one} ELSE {two} END",
            f"CASE {one} WHEN {two} THEN {one} END", f"IF({self.truth(depth - 1)}, {one}, NULL)",
            f"LENGTH({self.string(depth - 1)})", f"YEAR({self.time(depth - 1)})",
            f"MONTH({self.time(depth - 1)})", f"EXTRACT(DAY FROM {self.time(depth - 1)})",
            f"QUARTER({self.time(depth - 1)})", f"XXHASH64({one}, {self.string(depth - 1)})",
        ))  # fmt: skip

    def truth(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.15:
            return rng.choice(
                (self._column("boolean"), "TRUE", f"({self._column(*KINDS)} IS NULL)")
            )
        side = rng.choice((self.number, self.string, self.time))
        one, two, three = (side(depth - 1) for _ in range(3))
        word = rng.choice(("=", "<>", "<", "<=", ">", ">=", "<=>"))
        left, right = self.truth(depth - 1), self.truth(depth - 1)
        return rng.choice((
            f"({one} {word} {two})", f"({one} {word} {two})", f"({left} AND {right})",
            f"({left} OR {right})", f"(NOT {left})", f"({one} BETWEEN {two} AND {three})",
            f"({one} IN ({two}, {three}))", f"({one} NOT IN ({two}, {three}))", f"({left} IS TRUE)",
            f"({left} IS NOT FALSE)", f"({self.string(depth - 1)} LIKE '{rng.choice(('a%', '%b', '_', '%_%', 'ä', '%%'))}')",
            f"({self.time(depth - 1)} >= '2020-01-01')", f"({one} IS NOT NULL)",
        ))  # fmt: skip

    def string(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.3:
            return rng.choice((self._column("string"), "'a'", "''", "'ä😀'", "'it''s'"))
        one, two = self.string(depth - 1), self.string(depth - 1)
        start, length = rng.randint(1, 4), rng.randint(0, 12)
        return rng.choice((
            f"({one} || {two})", f"CONCAT({one}, {two})", f"SUBSTRING({one}, {start}, {length})",
            f"SUBSTR({one}, {start})", f"UPPER({one})", f"LOWER({one})", f"COALESCE({one}, {two})",
            f"CAST({self._column(*WHOLE)} AS STRING)", f"GREATEST({one}, {two})",
            f"CASE WHEN {self.truth(depth - 1)} THEN {one} ELSE {two} END",
        ))  # fmt: skip

    def time(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.4:
            return rng.choice(
                (
                    self._column("date"),
                    self._column("timestamp"),
                    "DATE'2024-02-29'",
                    "TIMESTAMP'2020-05-06 07:08:09'",
                )
            )
        unit = rng.choice(("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"))
        one = self.time(depth - 1)
        return rng.choice((
            f"DATE_TRUNC('{unit}', {one})", f"CAST({one} AS DATE)", f"DATE({one})",
            f"TRUNC({self._column('date')}, '{rng.choice(('MM', 'YEAR', 'QUARTER', 'WEEK'))}')",
            f"CASE WHEN {self.truth(depth - 1)} THEN {one} END",
        ))  # fmt: skip

    def aggregate(self) -> str:
        rng = self.rng
        one = rng.choice((self.number, self.number, self.string, self.time, self.truth))(2)
        call = rng.choice((
            f"SUM({self.number(2)})", f"SUM({self._column(*NUMBERS)})", f"COUNT({one})", f"COUNT(DISTINCT {one})",
            "COUNT(*)", f"PERCENTILE({self._column('int', 'smallint', 'decimal(9,2)')}, {rng.choice(('0.5', '0.25', '0.9', '0', '1', '0.333'))})", f"MEDIAN({self._column('int', 'decimal(9,2)')})", f"MIN({one})", f"MAX({one})", f"AVG({self._column(*WHOLE)})",
            f"COUNT_IF({self.truth(2)})", f"SUM({self._column(*NUMBERS)}) FILTER (WHERE {self.truth(1)})",
        ))  # fmt: skip
        return rng.choice((call, f"COALESCE({call}, NULL)"))


def scalar(text: str) -> Scalar:
    """The text as the compiler reads it, with Spark's hash by grebe's name for it."""
    tree = parse_one(text, dialect=READ["spark"])
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == "xxhash64":
            call.set("this", "__grebe_hash")
    return Scalar.of(tree)


@dataclass(slots=True)
class Fuzz:
    """Some rows in both engines."""

    runner: SmallRunner
    table: pa.Table
    name: str
    frame: DataFrame
    compared: int = 0

    @staticmethod
    def opened(spark: SparkSession, rng: random.Random) -> Fuzz:
        table = edge_rows(rng, ROWS)
        runner = SmallRunner.opened()
        types = {NAMES[kind]: kind for kind in KINDS}
        return Fuzz(runner, table, runner.put("rows", table), to_frame(spark, table, types))

    def by_duckdb(self, text: str, *, grouped: bool) -> tuple[SmallKind, list[Any]] | None:
        """The type and values; None for what is left to Spark."""
        writer = SmallWriter({NAMES[kind]: kind_of(kind) for kind in KINDS}, utc=True)
        try:
            found: Typed = writer.typed(scalar(text))
            if found.kind.is_void:
                return None
            rows = Named("rows", tuple(NAMES.values()))
            call = Scalar.of(found.ast)
            key = NAMES["boolean"]
            node: Node = Projection(rows, (("v", call),))
            kinds = {"v": found.kind}
            if grouped:
                node = Aggregate(rows, (key,), (("v", call),))
                kinds = {key: kind_of("boolean"), "v": found.kind}
            given = self.runner.run(node, kinds, writer.hashes, {rows.digest: self.name})
        except (NotSmallError, CannotRunError):
            return None
        return found.kind, _bag(given, grouped=grouped, key=key)

    def differences(self, texts: list[str], *, grouped: bool) -> list[str]:
        """What is not the same in both engines."""
        known = {text: found for text in texts if (found := self.by_duckdb(text, grouped=grouped))}
        return self._compared(list(known.items()), grouped=grouped)

    def _compared(
        self, known: list[tuple[str, tuple[SmallKind, list[Any]]]], *, grouped: bool
    ) -> list[str]:
        if not known:
            return []
        items = [f"{text} AS v{place}" for place, (text, _) in enumerate(known)]
        try:
            frame = self._frame(items, grouped=grouped)
            given = frame.toArrow()
        except Exception as error:
            if len(known) == 1:
                return [
                    f"{known[0][0]}: DuckDB gives {known[0][1]}, Spark raises {str(error)[:200]}"
                ]
            middle = len(known) // 2
            return [
                *self._compared(known[:middle], grouped=grouped),
                *self._compared(known[middle:], grouped=grouped),
            ]
        found = []
        key = NAMES["boolean"]
        for place, (text, (kind, values)) in enumerate(known):
            own = frame.schema[f"v{place}"].dataType.simpleString()
            names = [key, f"v{place}"] if grouped else [f"v{place}"]
            wanted = _bag(
                given.select(names).rename_columns([*names[:-1], "v"]), grouped=grouped, key=key
            )
            if own != kind.text or wanted != values:
                found.append(f"{text}: {kind} {values} by DuckDB, {own} {wanted} by Spark")
        self.compared += len(known)
        return found

    def _frame(self, items: list[str], *, grouped: bool) -> DataFrame:
        if not grouped:
            return self.frame.selectExpr(*items)
        from pyspark.sql import functions as sf

        return self.frame.groupBy(NAMES["boolean"]).agg(*[sf.expr(item) for item in items])


def _bag(table: pa.Table, *, grouped: bool, key: str) -> list[Any]:
    """The values, as text: NaN is NaN, and -0.0 is not 0.0."""
    values = [repr(value) for value in table["v"].to_pylist()]
    if not grouped:
        return values
    return sorted(
        f"{group}: {value}" for group, value in zip(table[key].to_pylist(), values, strict=True)
    )
