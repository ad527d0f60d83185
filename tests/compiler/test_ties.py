"""MAX_BY and MIN_BY give the same value whatever the order of rows that are equal in their key."""

from __future__ import annotations

import duckdb
import pytest

from grebe.compiler.emit import emit
from grebe.compiler.lower import Relation, lower
from grebe.compiler.reasons import ReasonCode

SOURCES = {"r": Relation("r", (("g", "INT"), ("k", "INT"), ("x", "INT")))}
ROWS = [(1, 5, 7), (1, 5, 9), (1, 5, None), (1, None, 99), (1, 2, 3), (1, 2, 1), (2, None, 4)]


@pytest.mark.parametrize("call", ["MAX_BY(x, k)", "MIN_BY(x, k)"])
def test_ties_cannot_matter(call: str) -> None:
    found = lower(f"SELECT g, {call} AS v FROM r GROUP BY g", dialect="duckdb", sources=SOURCES)
    assert found.root is not None
    text = emit(found.root, "duckdb", lambda leaf: leaf.table)
    answers = set()
    for rows in (ROWS, ROWS[::-1], ROWS[3:] + ROWS[:3]):
        connection = duckdb.connect()
        connection.execute("CREATE TABLE r (g INT, k INT, x INT)")
        connection.executemany("INSERT INTO r VALUES (?, ?, ?)", rows)
        answers.add(tuple(sorted(connection.execute(text).fetchall())))
    expected = 9 if call.startswith("MAX") else 1
    assert answers == {((1, expected), (2, None))}


def test_several_values_are_refused_with_the_reason() -> None:
    found = lower(
        "SELECT g, MAX_BY(x, k, 2) AS v FROM r GROUP BY g", dialect="duckdb", sources=SOURCES
    )
    assert [reason.code for reason in found.reasons] == [ReasonCode.ORDER_DEPENDENT_AGGREGATE]
