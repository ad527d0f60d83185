"""Two writers at once: exactly one wins, and nothing of the other one is visible."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evidence import LongRun
from formats.commit.client import Client
from formats.commit.lake import Barrier, Lake, Row, Server, Table, readable

pytestmark = pytest.mark.spark

Clients = Callable[[int], Client]

PLACES = {
    "after position": "iceberg.begun",
    "after the branch": "iceberg.branched",
    "before publish": "iceberg.proved",
}
KINDS = ("first build", "append", "merge", "large", "overwrite", "frontier")
RACES_PER_TABLE = 12


@dataclass(slots=True)
class Arena:
    """Two long-lived writers and the table they fight for, with the rows it must hold."""

    lake: Lake
    writers: tuple[Client, Client]
    barrier: Barrier
    table: Table
    rows: list[Row] = field(default_factory=list)
    races: int = 0

    def race(self, place: str, seed: int) -> str:
        """Which kind of commit was raced; raises when there is not exactly one winner."""
        chance = random.Random(seed)
        kind = KINDS[seed % len(KINDS)]
        if kind == "first build" or self.races >= RACES_PER_TABLE:
            self.table, self.rows, self.races = self.lake.create(), [], 0
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
        first = readable_writer(self.writers)
        answers = {first: self.writers[first].answer()}
        self.barrier.release(waiting[1])
        answers[1 - first] = self.writers[1 - first].answer()
        return [answers[0], answers[1]]

    def _command(self, kind: str, seed: int, number: int) -> dict[str, Any]:
        mine = [seed * 2 + number + 1, f"w{number}", seed]
        match kind:
            case "first build" | "append":
                return {"kind": "append", "rows": [mine]}
            case "merge" | "large":
                kept = self.rows[0]
                update = [kept[0], f"w{number}", seed, "update"]
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
            case "merge" | "large":
                self.rows = [(self.rows[0][0], f"w{winner}", seed), *self.rows[1:], mine]
            case "overwrite":
                self.rows = [mine]
        found = self.table.storage.position()
        assert found.frontier is not None
        assert found.frontier.run_id == f"s{seed}w{winner}"
        assert (found.version, found.foreign) == (answers[winner]["version"], ())
        assert self.table.rows() == sorted(self.rows, key=lambda row: str(row[0]))
        assert self.table.refs() == {"main", "grebe_frontier"}


def readable_writer(writers: tuple[Client, Client]) -> int:
    """The number of the writer that has answered."""
    [stream] = readable([writer.process.stdout for writer in writers], 120)
    return 0 if stream is writers[0].process.stdout else 1


@pytest.fixture
def arena(lake: Lake, client: Clients, barrier: Barrier) -> Arena:
    return Arena(lake, (client(0), client(1)), barrier, lake.create())


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_exactly_one_of_two_writers_wins(arena: Arena, place: str) -> None:
    for seed in range(10):
        arena.race(place, seed)


@pytest.mark.races
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_exactly_one_of_two_writers_wins_many_times(
    arena: Arena, place: str, long_run: LongRun
) -> None:
    for seed in long_run.seeds():
        for number in range(10):
            kind = arena.race(place, seed * 10 + number)
            long_run.add(races=1, **{kind.replace(" ", "_"): 1})


@pytest.fixture(scope="module")
def two_machines(server: Server, lake: Lake) -> Iterator[tuple[Client, Client]]:
    """Two writers, each with a Spark of its own, that share nothing but the catalog."""
    writers = (Client.start(server.folder, None), Client.start(server.folder, None))
    yield writers
    for writer in writers:
        writer.kill()


@pytest.mark.races
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_exactly_one_of_two_sparks_wins(
    lake: Lake,
    two_machines: tuple[Client, Client],
    barrier: Barrier,
    place: str,
    long_run: LongRun,
) -> None:
    arena = Arena(lake, two_machines, barrier, lake.create())
    for seed in long_run.seeds():
        for number in range(6):
            arena.race(place, seed * 6 + number)
            long_run.add(races=1)


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("iceberg.begun", "append"),
        ("iceberg.branched", "large"),
        ("iceberg.proved", "append"),
        ("iceberg.proved", "large"),
    ],
)
def test_a_run_applies_itself_again_on_top_of_compaction(
    table: Table, client: Clients, barrier: Barrier, place: str, kind: str
) -> None:
    writer = client(0)
    compacted_commit(table, writer, barrier, [place], kind)
    assert table.rows() == after(kind)
    assert table.refs() == {"main", "grebe_frontier"}


def test_a_run_gives_up_when_compaction_never_ends(
    table: Table, client: Clients, barrier: Barrier
) -> None:
    writer = client(0)
    answer = compacted_commit(table, writer, barrier, ["iceberg.proved"] * 4, "append")
    assert answer["error"] == "ConflictError"
    assert table.rows() == [(1, "a", 1), (2, "b", 2)]
    assert table.refs() == {"main", "grebe_frontier"}


def compacted_commit(
    table: Table, writer: Client, barrier: Barrier, places: list[str], kind: str
) -> dict[str, Any]:
    """The answer of a commit during which somebody compacts at each of the places."""
    name = table.name
    for k in (1, 2):
        writer.ask("position", name)
        rows = [[k, "ab"[k - 1], k]]
        assert "version" in writer.ask("commit", name, run=f"b{k}", kind="append", rows=rows)
    writer.ask("position", name)
    change = {"append": [[3, "c", 3]], "large": [[1, "x", 9, "update"], [3, "c", 3, "insert"]]}
    points = barrier.at(places[0])
    writer.send("commit", name, run="r", kind=kind, rows=change[kind], failpoints=points)
    for _ in places:
        waiting = barrier.arrive()
        table.call("rewrite_data_files", "options => map('rewrite-all', 'true')")
        barrier.release(waiting)
    if places in (["iceberg.branched"], ["iceberg.proved"]):
        barrier.release(barrier.arrive())  # the second attempt comes by the same place
    return writer.answer()


def after(kind: str) -> list[Row]:
    first: Row = (1, "a", 1) if kind == "append" else (1, "x", 9)
    return [first, (2, "b", 2), (3, "c", 3)]


def test_a_foreign_write_during_a_commit_is_a_conflict(
    table: Table, client: Clients, barrier: Barrier
) -> None:
    writer = client(0)
    writer.ask("position", table.name)
    rows = [[1, "a", 1]]
    writer.ask("commit", table.name, run="b", kind="append", rows=rows)
    writer.ask("position", table.name)
    points = barrier.at("iceberg.proved")
    writer.send("commit", table.name, run="r", kind="append", rows=rows, failpoints=points)
    waiting = barrier.arrive()
    table.sql("INSERT INTO {t} VALUES (7, 'theirs', 7)")
    barrier.release(waiting)
    assert writer.answer()["error"] == "ConflictError"
    assert table.rows() == [(1, "a", 1), (7, "theirs", 7)]


def test_a_first_build_that_forks_a_filled_table_is_refused(
    table: Table, client: Clients, barrier: Barrier
) -> None:
    first, second = client(0), client(1)
    for writer in (first, second):
        writer.ask("position", table.name)
    points = barrier.at("iceberg.planned")
    rows = [[1, "a", 1]]
    first.send("commit", table.name, run="late", kind="append", rows=rows, failpoints=points)
    waiting = barrier.arrive()
    assert "version" in second.ask("commit", table.name, run="won", kind="append", rows=rows)
    barrier.release(waiting)
    assert first.answer()["error"] == "ConflictError"
    assert table.rows() == [(1, "a", 1)]


def test_the_branch_of_a_plan_made_before_a_publish_is_refused(
    table: Table, client: Clients, barrier: Barrier, tmp_path: Path
) -> None:
    first, second = client(0), client(1)
    first.ask("position", table.name)
    first.ask("commit", table.name, run="b", kind="append", rows=[[1, "a", 1]])
    for writer in (first, second):
        writer.ask("position", table.name)
    points = barrier.at("iceberg.planned")
    rows = [[2, "b", 2]]
    first.send("commit", table.name, run="late", kind="append", rows=rows, failpoints=points)
    waiting = barrier.arrive()
    assert "version" in second.ask("commit", table.name, run="won", kind="append", rows=rows)
    barrier.release(waiting)
    assert first.answer()["error"] == "ConflictError"
    assert table.rows() == [(1, "a", 1), (2, "b", 2)]
