"""Golden pairs per operator: a query, and the SQL that computes its change.

Every pair is compared with what the compiler writes today, and executed: the query goes through
all laws, and the text in the file, run as it stands, must turn the old rows into the new ones.
`GREBE_GOLDEN=write` writes the files anew.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from compiler.laws.check import bag_difference
from compiler.laws.compositions import check_query
from compiler.laws.databases import draw
from compiler.laws.engine import Database, one_case
from compiler.laws.plans import lowered
from grebe.compiler.algebra.nodes import WEIGHT, At, Scan
from grebe.compiler.algebra.rewriting import pinned
from grebe.compiler.bind.prune import pruned
from grebe.compiler.delta import change
from grebe.compiler.emit import Leaf, emit

FOLDER = Path(__file__).parent / "golden"
CASES = 400
CYCLES = 2
ALONE = range(6)
TITLE, QUERY, DELTA = "-- title: ", "-- query\n", "-- delta\n"


@dataclass(frozen=True, slots=True)
class Pair:
    """One entry of a golden file."""

    title: str
    query: str
    delta: str

    @staticmethod
    def read(text: str) -> Pair:
        title, rest = text.split("\n", 1)
        query, delta = rest.removeprefix(QUERY).split(DELTA, 1)
        return Pair(title, query.strip(), delta.strip())

    @property
    def text(self) -> str:
        return f"{TITLE}{self.title}\n{QUERY}{self.query}\n{DELTA}{self.delta}\n"


def pairs_of(file: Path) -> list[Pair]:
    return [Pair.read(part) for part in file.read_text().split(TITLE)[1:]]


FILES = sorted(FOLDER.glob("*.sql"))
PAIRS = {f"{file.stem}: {pair.title}": pair for file in FILES for pair in pairs_of(file)}


@pytest.fixture(scope="module")
def databases() -> Database:
    return Database.of(draw(77, cases=CASES, cycles=CYCLES))


def table(leaf: Leaf) -> str:
    """The name of a table as the golden files write it."""
    if not isinstance(leaf, Scan):
        raise AssertionError("a change reads sources only")
    return f"{leaf.table}_{'new' if leaf.at is At.QUERY else leaf.at}"


def compiled(query: str, database: Database) -> str:
    """The SQL that computes the change of a query."""
    root = lowered(query, database).root
    if root is None:
        raise AssertionError("not understood")
    return emit(pruned(change(root, database.types_of(root)), ()), "duckdb", table)


@pytest.mark.parametrize("name", PAIRS)
def test_pair_is_what_the_compiler_writes(databases: Database, name: str) -> None:
    if os.environ.get("GREBE_GOLDEN") == "write":
        pytest.skip("written by test_files_are_written")
    small = one_case(databases.at(1), 0, prefix="")
    assert compiled(PAIRS[name].query, small) == PAIRS[name].delta


@pytest.mark.parametrize("name", PAIRS)
def test_query_keeps_every_law(databases: Database, name: str) -> None:
    done = check_query(databases, PAIRS[name].query, cases=CASES, cycles=CYCLES, alone=ALONE[:2])
    assert done.incremental


@pytest.mark.parametrize("name", PAIRS)
def test_delta_runs_as_it_is_written(databases: Database, name: str) -> None:
    databases.texts.clear()
    for case in ALONE:
        small = one_case(databases.at(1), case, prefix="")
        root = lowered(PAIRS[name].query, small).root
        if root is None:
            raise AssertionError("not understood")
        weighted = (
            (small.sql(pinned(root, At.OLD)), "1"),
            (PAIRS[name].delta, f'"{WEIGHT}"'),
            (small.sql(pinned(root, At.NEW)), "-1"),
        )
        found = bag_difference(small, root.columns, weighted)
        assert not found, f"case {case}\n{found}"


@pytest.mark.skipif(os.environ.get("GREBE_GOLDEN") != "write", reason="only on request")
def test_files_are_written(databases: Database) -> None:
    small = one_case(databases.at(1), 0, prefix="")
    for file in FILES:
        anew = [
            Pair(pair.title, pair.query, compiled(pair.query, small)) for pair in pairs_of(file)
        ]
        file.write_text("\n".join(pair.text for pair in anew))
