"""Names that generated SQL once made, given by a user: right with the prefix, noticed without it."""

from __future__ import annotations

import duckdb
import pytest

from compiler.laws.plans import IntegrityError, Runner, Sources
from compiler.mutations import Mutation, broken

VIEWS = {
    "step": 'SELECT "step", v FROM "t"',
    "place": 'SELECT u.g, l."place" FROM "u", LATERAL (SELECT "place", v FROM "t"'
    ' WHERE "t".g = u.g ORDER BY v, "place" LIMIT 1) AS l',
    "key": 'SELECT g, COUNT(*) AS "key", MAX("key") AS n, AVG(v) AS stored FROM "t" GROUP BY g',
    "matches": 'SELECT v, "matches" FROM "t" WHERE v IN (SELECT "matches" FROM "t") OR v = 1',
    "weight": 'SELECT a."weight", b."weight" AS copies FROM "t" AS a'
    ' LEFT JOIN "t" AS b ON a.v = b."weight"',
    "count": 'SELECT g, (SELECT COUNT(*) FROM "t" AS i WHERE i."count" = o.v) AS "value"'
    ' FROM "t" AS o',
    "v__key": 'SELECT v, "v__key", g FROM "t"',
}
OLD = (
    Mutation("places under a bare name", "emit", 'made("place")', '"place"', ("place",)),
    Mutation(
        "keys under a bare name",
        "delta.weighted",
        'return made(f"key_{name}")',
        'return f"{name}__key"',
        ("v__key",),
    ),
)


def is_right(name: str) -> bool:
    """True when a view over a table with such a column follows its changes."""
    columns = {"g": "INTEGER", name: "INTEGER", "v": "INTEGER"}
    sources = Sources.of({"t": columns, "u": {"g": "INTEGER"}})
    sources.take({"t": {(1, 2, 1): 3, (1, 2, 3): 1, (2, 3, 2): 1}, "u": {(1,): 1, (2,): 1}})
    try:
        runner = Runner.build(VIEWS[name], sources)
        for change in (
            {(1, 2, 1): -2, (2, 3, 1): 1, (2, 3, 2): -1},
            {(1, 2, 1): -1, (1, 3, 3): 2, (2, 1, 2): 2},
        ):
            sources.take({"t": change})
            runner.refresh()
            if runner.difference():
                return False
    except (duckdb.Error, IntegrityError):
        return False
    return True


@pytest.mark.parametrize("name", VIEWS)
def test_view_over_a_hostile_column(name: str) -> None:
    assert is_right(name)


@pytest.mark.parametrize("mutation", OLD, ids=lambda mutation: mutation.what)
def test_an_old_alias_is_noticed(mutation: Mutation) -> None:
    with broken(mutation):
        assert not any(is_right(name) for name in mutation.trees)
