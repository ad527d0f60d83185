"""Everything that must hold of one query: its text, its tree, its change and its refreshes agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from compiler.laws.batching import changed_by_batching
from compiler.laws.check import DeltaLaw, Difference, Law, bag_difference, report, smallest
from compiler.laws.databases import ident
from compiler.laws.engine import Database, one_case, original
from compiler.laws.plans import Runner, batched, lowered, planned
from grebe.compiler.lower import Lowered
from grebe.compiler.plan.refresh_plan import RefreshPlan, Strategy
from grebe.compiler.plan.strategy import make_plan


class BrokenLawError(AssertionError):
    """A law does not hold; the text is a reproduction that a person can follow."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was checked: (query, database) pairs, and how the view is maintained."""

    pairs: int
    alone: int
    incremental: bool


def check_query(
    database: Database, sql: str, *, cases: int, cycles: int, alone: Sequence[int]
) -> Checked:
    """All laws of one query over a batch of databases, and alone where the batch would differ.

    A root that is written by value applies its own change, so its delta law is checked by that.
    """
    database.texts.clear()
    one = lowered(sql, database.at(1))
    if one.root is None:
        return Checked(0, 0, incremental=False)
    agree_with_text(database, sql, one, alone)
    plan, laws = check_batch(database, sql, batched(one), cycles)
    singly = 0
    if changed_by_batching(one.root):
        singly = check_alone(database, sql, one, cycles, alone)
    return Checked(cases * laws, singly, plan.is_incremental)


def agree_with_text(database: Database, sql: str, one: Lowered, cases: Sequence[int]) -> None:
    """The tree gives what the text gives, in databases of their own."""
    if one.root is None:
        return
    places = [f"column{place}" for place in range(len(one.outputs))]
    items = ", ".join(
        f"{ident(name)} AS {place}" for (name, _), place in zip(one.outputs, places, strict=True)
    )
    for case in cases:
        small = one_case(database, case)
        written = f"SELECT * FROM (\n{original(small, sql)}\n) AS w({', '.join(places)})"
        try:
            small.rows(written)
        except duckdb.NotImplementedException:
            return
        tree = f"SELECT {items} FROM (\n{small.sql(one.root)}\n) AS tree"
        found = bag_difference(small, places, ((tree, "1"), (written, "-1")))
        if found:
            raise BrokenLawError(f"the tree is not the text\n{sql}\n{_rows(small)}\n{found}")


def check_batch(
    database: Database, sql: str, many: Lowered, cycles: int
) -> tuple[RefreshPlan, int]:
    """The delta law, then a build and some refreshes, in every database of the batch at once."""
    if many.root is None:
        raise AssertionError("nothing to check")
    types = database.at(1).types_of(many.root)
    plan = make_plan(many, types)
    by_value = plan.strategy is Strategy.BAG
    if not by_value:
        law = DeltaLaw.of(many.root, types)
        found = law(database)
        if found:
            raise BrokenLawError(_smallest(database, sql, "the delta law", law, found))
    runner = Runner(database.at(0), plan)
    runner.fill()
    for cycle in range(1, cycles + 1):
        database.at(cycle)
        # Key ranges are optional: with them and without them the rows must be the same.
        runner.with_bounds = cycle % 2 == 0
        runner.refresh()
        found = runner.difference()
        if found:
            title = f"{plan.strategy}, refresh {cycle}"
            raise BrokenLawError(_smallest(database, sql, title, applied(plan), found))
    return plan, cycles + int(not by_value)


def applied(plan: RefreshPlan) -> Law:
    """The apply law as a function of a database with two versions."""

    def law(some: Database) -> Difference:
        runner = Runner(some.at(0), plan)
        runner.fill()
        some.at(1)
        runner.refresh()
        return runner.difference()

    return law


def check_alone(
    database: Database, sql: str, one: Lowered, cycles: int, cases: Sequence[int]
) -> int:
    """Builds and refreshes in databases of their own, compared with the text as well."""
    plan = None
    for case in cases:
        small = one_case(database.at(0), case)
        plan = plan or planned(one, small)
        # Key ranges make another text for every database, which is most of the time.
        runner = Runner(small, plan, _runnable(small, sql), with_bounds=case % 20 == 0)
        runner.fill()
        for cycle in range(1, cycles + 1):
            small.at(cycle)
            runner.refresh()
            found = runner.difference()
            if found and contradicts_itself(small, sql):
                found = runner.difference_to(sql, named=True)
            if found:
                title = f"alone, case {case}, {plan.strategy}, refresh {cycle}"
                raise BrokenLawError(f"{title}\n{sql}\n{_rows(small)}\n{found}")
    return len(cases) * cycles


def contradicts_itself(small: Database, sql: str) -> bool:
    """Whether DuckDB answers otherwise when the tables' own names stand in the text.

    DuckDB 1.5 loses the one row of an aggregate over an empty table inside a correlated subquery
    when that table stands in a WITH. Then the answer over the tables themselves is the measure.
    """
    one, two = (small.rows(original(small, sql, named=named)) for named in (True, False))
    return Counter(map(repr, one)) != Counter(map(repr, two))


def _runnable(small: Database, sql: str) -> str | None:
    """The text, unless DuckDB itself cannot run it."""
    try:
        small.rows(original(small, sql))
    except duckdb.NotImplementedException:
        return None
    return sql


def _smallest(database: Database, sql: str, title: str, law: Law, found: Difference) -> str:
    rows, least = smallest(database, law, found.cases())
    return report(f"{title}: {len(found.cases())} databases differ", sql, rows, least or found)


def _rows(small: Database) -> str:
    return "\n".join(
        f"{table} {side}: {_held(small, f'{table}_{side}')}"
        for table in sorted(small.tables)
        for side in (("old", "new") if small.cycle else ("new",))
    )


def _held(small: Database, table: str) -> object:
    return small.rows(f"SELECT * FROM {ident(small.prefix + table)} ORDER BY ALL")
