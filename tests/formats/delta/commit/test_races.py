"""Two writers at once, in two processes: exactly one wins, and nothing of the other is visible."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from deltalake import write_deltalake

from evidence import LongRun
from formats.commit.client import Client, arrow
from formats.commit.lake import Barrier, Row, readable
from formats.delta.commit.conftest import Clients
from formats.delta.commit.folders import Folders, StorageFolder
from grebe.formats.delta.commit import REAPPLIES

PLACES = {
    "after position": "delta.begun",
    "after the plan": "delta.planned",
    "after the check": "delta.checked",
    "before the commit": "delta.commit.request",
}
KINDS = ("first build", "append", "merge", "overwrite", "frontier")
RACES_PER_TABLE = 25


@dataclass(slots=True)
class Arena:
    """Two long-lived writers and the table they fight for, with the rows it must hold."""

    folders: Folders
    writers: tuple[Client, Client]
    barrier: Barrier
    table: StorageFolder
    rows: list[Row] = field(default_factory=list)
    races: int = 0

    def race(self, place: str, seed: int) -> str:
        """Which kind of commit was raced; raises when there is not exactly one winner."""
        chance = random.Random(seed)
        kind = KINDS[seed % len(KINDS)]
        if kind == "first build" or self.races >= RACES_PER_TABLE:
            self.table, self.rows, self.races = self.folders.create(), [], 0
        self.races += 1
        if kind != "first build" and not self.rows:
            self._build(seed)
        answers = self._run(place, kind, seed, together=chance.random() < 0.5, chance=chance)
        self._check(kind, seed, answers)
        return kind

    def _build(self, seed: int) -> None:
        first = self.writers[0]
        first.ask("position", self.table.name)
        rows = [[0, "base", 0]]
        done = first.ask("commit", self.table.name, run=f"b{seed}", kind="append", rows=rows)
        assert "version" in done, done
        self.rows = [(0, "base", 0)]

    def _run(
        self, place: str, kind: str, seed: int, *, together: bool, chance: random.Random
    ) -> list[dict[str, Any]]:
        for writer in self.writers:
            writer.ask("position", self.table.name)
        for number, writer in enumerate(self.writers):
            writer.send(
                "commit",
                self.table.name,
                run=f"s{seed}w{number}",
                failpoints=self.barrier.at(place),
                **self._command(kind, seed, number),
            )
        waiting = [self.barrier.arrive(), self.barrier.arrive()]
        if together:
            self.barrier.release(*waiting)
            return [writer.answer() for writer in self.writers]
        chance.shuffle(waiting)
        self.barrier.release(waiting[0])
        [stream] = readable([writer.process.stdout for writer in self.writers], 120)
        first = 0 if stream is self.writers[0].process.stdout else 1
        answers = {first: self.writers[first].answer()}
        self.barrier.release(waiting[1])
        answers[1 - first] = self.writers[1 - first].answer()
        return [answers[0], answers[1]]

    def _command(self, kind: str, seed: int, number: int) -> dict[str, Any]:
        mine = [seed * 2 + number + 1, f"w{number}", seed]
        match kind:
            case "first build" | "append":
                return {"kind": "append", "rows": [mine]}
            case "merge":
                update = [self.rows[0][0], f"w{number}", seed, "update"]
                return {"kind": kind, "rows": [update, [*mine, "insert"]]}
            case "overwrite":
                return {"kind": "overwrite", "rows": [mine]}
            case _:
                return {"kind": "frontier"}

    def _check(self, kind: str, seed: int, answers: list[dict[str, Any]]) -> None:
        outcomes = sorted(answer.get("error", "won") for answer in answers)
        assert outcomes == ["ConflictError", "won"], (kind, seed, answers)
        winner = next(number for number in (0, 1) if "version" in answers[number])
        mine: Row = (seed * 2 + winner + 1, f"w{winner}", seed)
        match kind:
            case "first build" | "append":
                self.rows = [*self.rows, mine]
            case "merge":
                self.rows = [(self.rows[0][0], f"w{winner}", seed), *self.rows[1:], mine]
            case "overwrite":
                self.rows = [mine]
        found = self.table.storage.position()
        assert found.frontier is not None
        assert found.frontier.run_id == f"s{seed}w{winner}"
        assert (found.version, found.foreign) == (answers[winner]["version"], ())
        assert self.table.rows() == sorted(self.rows, key=lambda row: str(row[0]))


@pytest.fixture
def arena(folders: Folders, client: Clients, barrier: Barrier) -> Arena:
    return Arena(folders, (client(0), client(1)), barrier, folders.create())


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_exactly_one_of_two_writers_wins(arena: Arena, place: str) -> None:
    for seed in range(10):
        arena.race(place, seed)


@pytest.mark.races
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_exactly_one_of_two_delta_writers_wins_many_times(
    arena: Arena, place: str, long_run: LongRun
) -> None:
    for seed in long_run.seeds():
        for number in range(20):
            kind = arena.race(place, seed * 20 + number)
            long_run.add(races=1, **{kind.replace(" ", "_"): 1})


BASE: list[Row] = [(1, "a", 1), (2, "b", 2)]


def build(table: StorageFolder, writer: Client) -> None:
    for number, row in enumerate(BASE):
        writer.ask("position", table.name)
        done = writer.ask("commit", table.name, run=f"b{number}", kind="append", rows=[list(row)])
        assert "version" in done
    writer.ask("position", table.name)


@pytest.mark.parametrize("kind", ["append", "merge"])
@pytest.mark.parametrize("place", ["delta.begun", "delta.planned", "delta.commit.request"])
def test_a_run_applies_itself_again_on_top_of_compaction(
    table: StorageFolder, client: Clients, barrier: Barrier, place: str, kind: str
) -> None:
    writer = client(0)
    build(table, writer)
    change = {"append": [[3, "c", 3]], "merge": [[1, "x", 9, "update"], [3, "c", 3, "insert"]]}
    points = barrier.at(place)
    writer.send("commit", table.name, run="r", kind=kind, rows=change[kind], failpoints=points)
    waiting = barrier.arrive()
    table.table.optimize.compact()
    barrier.release(waiting)
    if place != "delta.begun":
        barrier.release(barrier.arrive())  # the second attempt comes by the same place
    assert "version" in writer.answer()
    first: Row = (1, "a", 1) if kind == "append" else (1, "x", 9)
    assert table.rows() == [first, (2, "b", 2), (3, "c", 3)]
    assert table.storage.position().foreign == ()


def test_a_run_gives_up_when_maintenance_never_ends(
    table: StorageFolder, client: Clients, barrier: Barrier
) -> None:
    writer = client(0)
    build(table, writer)
    points = barrier.at("delta.commit.request")
    writer.send("commit", table.name, run="r", kind="append", rows=[[3, "c", 3]], failpoints=points)
    for number in range(REAPPLIES + 1):
        waiting = barrier.arrive()
        note = {"owner.note": str(number)}
        table.table.alter.set_table_properties(note, raise_if_not_exists=False)
        barrier.release(waiting)
    assert writer.answer()["error"] == "ConflictError"
    assert table.rows() == BASE


@pytest.mark.parametrize("place", ["delta.planned", "delta.commit.request"])
def test_a_foreign_write_during_a_commit_is_a_conflict(
    table: StorageFolder, client: Clients, barrier: Barrier, place: str
) -> None:
    writer = client(0)
    build(table, writer)
    points = barrier.at(place)
    writer.send("commit", table.name, run="r", kind="append", rows=[[3, "c", 3]], failpoints=points)
    waiting = barrier.arrive()
    write_deltalake(table.table, arrow([[7, "theirs", 7]]), mode="append")
    barrier.release(waiting)
    assert writer.answer()["error"] == "ConflictError"
    assert table.rows() == [*BASE, (7, "theirs", 7)]
    assert table.storage.position().foreign
