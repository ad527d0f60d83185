"""The comparison of bags, and a failing database reduced to the few rows that matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isnan

from compiler.laws.databases import CASE, ident
from compiler.laws.engine import Database
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import WEIGHT, At, Node
from grebe.compiler.algebra.rewriting import pinned
from grebe.compiler.delta import change

Row = tuple[object, ...]
RELATIVE = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows that one side has more often than the other: positive counts are too many."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Row, int], ...]

    def __bool__(self) -> bool:
        return bool(self.rows)

    def cases(self) -> list[int]:
        """The case ids that differ."""
        if CASE not in self.columns:
            return []
        place = self.columns.index(CASE)
        return sorted({int(str(row[place])) for row, _ in self.rows})


def bag_difference(
    database: Database, columns: Sequence[str], weighted: Iterable[tuple[str, str]]
) -> Difference:
    """The sum of weighted queries, which is nothing when a law holds."""
    names = ", ".join(ident(name) for name in columns)
    parts = " UNION ALL ".join(
        f"SELECT {names}, CAST({weight} AS BIGINT) AS __sum FROM (\n{sql}\n) AS part{place}"
        for place, (sql, weight) in enumerate(weighted)
    )
    listed = f"{names}, " if names else ""
    text = f"SELECT {listed}SUM(__sum) AS __sum FROM (\n{parts}\n) AS parts"
    text += f" GROUP BY {names}" if names else ""
    found = database.rows(f"{text} HAVING SUM(__sum) <> 0 ORDER BY ALL LIMIT 20000")
    rows = tuple((row[:-1], int(str(row[-1]))) for row in found)
    return Difference(tuple(columns), without_rounding(rows))


def without_rounding(rows: Sequence[tuple[Row, int]]) -> tuple[tuple[Row, int], ...]:
    """Differences other than those of floats that were added up in another order."""
    left: dict[Row, list[tuple[Row, int]]] = {}
    for row, weight in rows:
        left.setdefault(_without_floats(row), []).append((row, weight))
    kept: list[tuple[Row, int]] = []
    for group in left.values():
        kept += group if not _is_rounding(group) else []
    return tuple(kept)


def _without_floats(row: Row) -> Row:
    return tuple("float" if isinstance(item, float) else str(item) for item in row)


def _is_rounding(group: list[tuple[Row, int]]) -> bool:
    many = [row for row, weight in group for _ in range(max(weight, 0))]
    few = [row for row, weight in group for _ in range(max(-weight, 0))]
    if len(many) != len(few):
        return False
    ordered = zip(sorted(many, key=repr), sorted(few, key=repr), strict=True)
    return all(
        _close(one, two) for row, other in ordered for one, two in zip(row, other, strict=True)
    )


def _close(one: object, two: object) -> bool:
    if not isinstance(one, float) or not isinstance(two, float):
        return True
    if isnan(one) or isnan(two):
        return isnan(one) and isnan(two)
    return isclose(one, two, rel_tol=RELATIVE, abs_tol=1e-12)


@dataclass(frozen=True, slots=True)
class DeltaLaw:
    """V(old) plus the change minus V(new) is nothing."""

    old: Node
    change: Node
    new: Node

    @staticmethod
    def of(root: Node, types: Types) -> DeltaLaw:
        return DeltaLaw(pinned(root, At.OLD), change(root, types), pinned(root, At.NEW))

    def __call__(self, database: Database) -> Difference:
        return bag_difference(
            database,
            self.new.columns,
            (
                (database.sql(self.old), "1"),
                (database.sql(self.change), ident(WEIGHT)),
                (database.sql(self.new), "-1"),
            ),
        )


Law = Callable[[Database], Difference]
Rows = dict[str, tuple[Counter[Row], Counter[Row]]]
"""For each table its rows before and after."""


def smallest(database: Database, law: Law, cases: Sequence[int]) -> tuple[Rows, Difference]:
    """One failing database with as few rows as still fail, and how it fails."""
    rows = min((_rows_of(database, case) for case in cases[:50]), key=_size)
    shrunk = _loaded(database, rows)
    progress = True
    while progress:
        progress = False
        for smaller in _one_less(rows):
            if _size(smaller) < _size(rows) and law(_loaded(database, smaller)):
                rows, progress = smaller, True
                break
    shrunk = _loaded(database, rows)
    return rows, law(shrunk)


def _size(rows: Rows) -> int:
    return sum(side.total() for sides in rows.values() for side in sides)


def _rows_of(database: Database, case: int) -> Rows:
    def read(table: str, version: int) -> Counter[Row]:
        name = f"{database.tables_prefix}{table}_{version}"
        return Counter(
            tuple(_hashable(item) for item in row)
            for row in database.rows(f"SELECT * FROM {ident(name)} WHERE {CASE} = {case}")
        )

    cycle = database.cycle
    return {
        table: (read(table, cycle - 1), read(table, cycle)) for table in sorted(database.tables)
    }


def _hashable(item: object) -> object:
    return tuple(item) if isinstance(item, list) else item


def _one_less(rows: Rows) -> Iterable[Rows]:
    for table, (before, after) in rows.items():
        for row in before | after:
            both = Counter([row])
            for less in (
                (before - both, after - both),
                (before - both, after),
                (before, after - both),
            ):
                yield {**rows, table: less}


def _loaded(database: Database, rows: Rows, prefix: str = "min_") -> Database:
    """A database of one case: old rows, new rows and their difference."""
    connection = database.connection
    for table, (before, after) in rows.items():
        like, delta = (
            ident(f"{database.prefix}{table}_new"),
            ident(f"{database.prefix}{table}_delta"),
        )
        net = {row: after[row] - before[row] for row in before | after}
        changed = [(*row, weight) for row, weight in net.items() if weight]
        _fill(connection, f"{prefix}{table}_0", like, list(before.elements()))
        _fill(connection, f"{prefix}{table}_1", like, list(after.elements()))
        _fill(connection, f"{prefix}{table}_d1", delta, changed)
    cases = sorted({int(str(row[0])) for sides in rows.values() for side in sides for row in side})
    _fill(connection, f"{prefix}cases", '"cases"', [(case,) for case in cases])
    return Database(connection, database.tables, prefix, tables_prefix=prefix).at(1)


def _fill(connection: object, name: str, like: str, rows: Sequence[Row]) -> None:
    connection.execute(f"CREATE OR REPLACE TABLE {ident(name)} AS SELECT * FROM {like} WHERE FALSE")
    if rows:
        marks = ", ".join("?" for _ in rows[0])
        connection.executemany(
            f"INSERT INTO {ident(name)} VALUES ({marks})",
            [[list(item) if isinstance(item, tuple) else item for item in row] for row in rows],
        )


def report(
    title: str, query: str, rows: Mapping[str, tuple[Counter[Row], Counter[Row]]], found: Difference
) -> str:
    """A failing case as a person reads it."""
    lines = [title, "", query, ""]
    for table, (before, after) in rows.items():
        lines += [
            f"{table} before: {sorted(before.elements(), key=repr)}",
            f"{table} after:  {sorted(after.elements(), key=repr)}",
        ]
    lines += ["", f"columns: {found.columns}", "differences (+ too many, - missing):"]
    lines += [f"  {weight:+d} {row}" for row, weight in found.rows]
    return "\n".join(lines)
