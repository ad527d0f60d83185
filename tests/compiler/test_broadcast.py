"""Which side of a join goes to every worker."""

from __future__ import annotations

from grebe import thresholds
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import Node
from grebe.compiler.bind.broadcast import spread
from grebe.compiler.bind.sizes import SideSizes
from grebe.compiler.delta import rules
from grebe.compiler.emit import emit
from grebe.compiler.lower import Relation, lower

SQL = "SELECT r.a, s.b FROM r JOIN s ON r.a = s.a JOIN t ON s.b = t.b"


def change() -> Node:
    tables = {name: Relation(name, (("a", "int"), ("b", "int"))) for name in ("r", "s", "t")}
    root = lower(SQL, dialect="spark", sources=tables).root
    assert root is not None
    return rules(Types("spark")).change(root)


def text(sizes: SideSizes, dialect: str = "spark") -> str:
    return emit(spread(change(), sizes), dialect, lambda leaf: type(leaf).__name__.lower())


def test_a_term_that_stays_small_goes_to_the_tables_and_not_they_to_it() -> None:
    few = SideSizes({"r": 10**6, "s": 10**6, "t": 10**6}, {"r": 10, "s": 10, "t": 10})
    assert text(few).count("BROADCAST") == 6  # three terms, two joins each


def test_a_change_of_a_small_table_may_touch_all_of_a_large_one() -> None:
    rows = {"r": 20, "s": thresholds.BROADCAST_ROWS * 2, "t": thresholds.BROADCAST_ROWS * 2}
    found = text(SideSizes(rows, {"r": 20, "s": 0, "t": 0}))
    # The delta itself goes to the workers; what it becomes by the first join may be everything.
    assert found.count("BROADCAST") < 6


def test_nothing_is_said_of_tables_whose_size_is_unknown() -> None:
    assert "BROADCAST" not in text(SideSizes({}, {"r": 1}))
    # Its own delta is known to be small; what a table of unknown size makes of it is not.
    assert text(SideSizes({"r": 10}, {"r": 1})).count("BROADCAST") == 1


def test_duckdb_decides_by_itself() -> None:
    few = SideSizes({"r": 10, "s": 10, "t": 10}, {"r": 1, "s": 1, "t": 1})
    assert "BROADCAST" not in text(few, "duckdb")
