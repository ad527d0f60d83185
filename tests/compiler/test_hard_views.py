"""Views written to break a rule: each over random databases, against its own text as well.

Those under a title that names a fault were counterexamples once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.laws.compositions import check_query
from compiler.laws.databases import draw
from compiler.laws.engine import Database

CASES = 120
CYCLES = 3
ALONE = 3
STILL = frozenset({("s", 1), ("t", 2), ("r", 3)})


def views() -> list[str]:
    """The statements of `hard_views.sql` without its titles."""
    lines = (Path(__file__).parent / "hard_views.sql").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    return [part.strip() for part in text.split(";") if part.strip()]


@pytest.fixture(scope="module")
def databases() -> Database:
    return Database.of(draw(77, cases=CASES, cycles=CYCLES, still=STILL))


@pytest.mark.parametrize("sql", views())
def test_hard_view_keeps_every_law(databases: Database, sql: str) -> None:
    databases.texts.clear()
    done = check_query(databases, sql, cases=CASES, cycles=CYCLES, alone=range(ALONE))
    assert done.incremental
    assert done.pairs >= CASES * CYCLES
