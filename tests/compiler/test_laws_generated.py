"""Random compositions of all operators over random databases: the laws of the whole compiler.

`make test` checks the first queries in which every operator is met three times; `make test-laws` the other seeds, as many
as its time allows, and keeps count in docs/evidence/laws.json.
"""

from __future__ import annotations

from collections import Counter

import pytest

from compiler.laws.compositions import check_query
from compiler.laws.databases import draw, tables_of
from compiler.laws.disguise import hostile, names_of
from compiler.laws.engine import Database
from compiler.laws.generator import LARGE, generate
from evidence import LongRun

QUERIES = 300
PER_TEST = 10
CASES = 1_120
CYCLES = 3
ALONE = 1
TIMES = 3
OPERATORS = 57
ENOUGH = 200_000

STILL = frozenset({("s", 1), ("t", 2)})
"""Once a source does not change at all: its terms must be dropped, not its rows."""


def short(seeds: range, times: int = TIMES) -> list[int]:
    """The seeds that are needed for every operator to be met so many times."""
    met: Counter[str] = Counter()
    taken = []
    for seed in seeds:
        features = generate(seed).features
        if any(met[feature] < times for feature in features):
            met.update(features)
            taken.append(seed)
    return taken


SHORT = short(range(QUERIES))


@pytest.fixture(scope="module")
def databases() -> Database:
    return Database.of(draw(11, cases=CASES, cycles=CYCLES, still=STILL))


@pytest.fixture(scope="module")
def disguised() -> Database:
    return hostile_databases(11)


def hostile_databases(seed: int) -> Database:
    """The same databases, their tables and columns under hostile names."""
    names = names_of(seed)
    still = frozenset((names[table], cycle) for table, cycle in STILL)
    tables = tables_of(names=names)
    return Database.of(draw(seed, cases=CASES, cycles=CYCLES, tables=tables, still=still))


def test_there_are_enough_checks() -> None:
    assert len(SHORT) * CASES * CYCLES >= ENOUGH


@pytest.mark.parametrize("first", range(0, len(SHORT), PER_TEST))
def test_generated_queries_keep_every_law(
    databases: Database, disguised: Database, first: int
) -> None:
    pairs = 0
    incremental = 0
    seeds = SHORT[first : first + PER_TEST]
    for seed in seeds:
        plainly = seed % 4 == 0
        sql = generate(seed).sql
        start = seed * 7 % (CASES - ALONE)
        done = check_query(
            databases if plainly else disguised,
            sql if plainly else hostile(disguised, sql, names_of(11), seed),
            cases=CASES,
            cycles=CYCLES,
            alone=range(start, start + ALONE),
        )
        pairs += done.pairs
        incremental += done.incremental
    assert pairs >= len(seeds) * CASES * CYCLES
    assert incremental >= len(seeds) // 2


def test_the_generator_meets_every_operator() -> None:
    """What no query contains is not checked, whatever the counts say."""
    met = Counter(feature for seed in SHORT for feature in generate(seed).features)
    rare = {name: count for name, count in met.items() if count < TIMES}
    assert len(met) >= OPERATORS
    assert not rare


@pytest.mark.laws
@pytest.mark.timeout(0)
def test_generated_queries_go_on(long_run: LongRun) -> None:
    for seed in long_run.seeds():
        databases = hostile_databases(1_000 + seed)
        for place in range(PER_TEST):
            number = QUERIES + seed * PER_TEST + place
            query = generate(number, size=3 + place % 2, largest=LARGE)
            sql = hostile(databases, query.sql, names_of(1_000 + seed), number)
            done = check_query(
                databases, sql, cases=CASES, cycles=CYCLES, alone=range(place, place + ALONE)
            )
            long_run.add(
                queries=1,
                pairs=done.pairs,
                alone=done.alone,
                incremental=int(done.incremental),
                hostile=1,
            )
