"""Views written to break a rule: each over random databases, against its own text as well.

Those under a title that names a fault were counterexamples once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.laws.compositions import check_query
from compiler.laws.databases import WILD_FLOATS, draw, tables_of
from compiler.laws.engine import Database

CASES = 80
CYCLES = 3
ALONE = 1
ENOUGH = 90
STILL = frozenset({("s", 1), ("t", 2), ("r", 3)})


def views(name: str) -> list[str]:
    """The statements of a file without its titles."""
    lines = (Path(__file__).parent / name).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    return [part.strip() for part in text.split(";") if part.strip()]


@pytest.fixture(scope="module")
def databases() -> Database:
    return Database.of(draw(77, cases=CASES, cycles=CYCLES, still=STILL))


@pytest.fixture(scope="module")
def wild() -> Database:
    tables = tables_of(WILD_FLOATS)
    return Database.of(draw(78, cases=CASES, cycles=CYCLES, tables=tables, still=STILL))


def test_there_are_enough_views() -> None:
    assert len(views("hard_views.sql")) + len(views("wild_views.sql")) >= ENOUGH


@pytest.mark.parametrize("sql", views("hard_views.sql"))
def test_hard_view_keeps_every_law(databases: Database, sql: str) -> None:
    check(databases, sql)


@pytest.mark.parametrize("sql", views("wild_views.sql"))
def test_view_of_wild_floats_keeps_every_law(wild: Database, sql: str) -> None:
    check(wild, sql)


def check(databases: Database, sql: str) -> None:
    databases.texts.clear()
    done = check_query(databases, sql, cases=CASES, cycles=CYCLES, alone=range(ALONE))
    assert done.incremental
    assert done.pairs >= CASES * CYCLES
