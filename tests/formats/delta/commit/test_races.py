"""Two writers at once, in two processes: exactly one wins, and nothing of the other is visible."""

from __future__ import annotations

import pytest
from deltalake import write_deltalake

from evidence import LongRun
from formats.commit.arena import Arena
from formats.commit.client import Client, arrow
from formats.commit.lake import Barrier, Row
from formats.delta.commit.conftest import Clients
from formats.delta.commit.folders import Folders, StorageFolder
from grebe.formats.delta.commit import REAPPLIES

PLACES = {
    "after position": "delta.begun",
    "after the plan": "delta.planned",
    "after the check": "delta.checked",
    "before the commit": "delta.commit.request",
}


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
