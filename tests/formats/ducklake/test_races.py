"""Two processes at once: exactly one wins. A DuckDB file lets only one process in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evidence import LongRun
from formats.commit.arena import Arena
from formats.commit.client import Client, arrow
from formats.commit.lake import Barrier, frontier
from formats.ducklake.client import start
from formats.ducklake.lakes import Lake, Servers, open_lake
from formats.ducklake.views import View, Views
from grebe.formats.base import Overwrite, Rows

PLACES = {
    "after position": "ducklake.begun",
    "after staging": "ducklake.staged",
    "inside the transaction": "ducklake.opened",
    "before commit": "ducklake.commit.request",
}
KINDS = ("sqlite", "postgres")
RACES = 4


@pytest.fixture
def barrier(tmp_path: Path) -> Iterator[Barrier]:
    with Barrier(tmp_path / "barrier") as barrier:
        yield barrier


Shared = tuple[Lake, tuple[Client, Client]]


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory, servers: Servers
) -> Iterator[Callable[[str], Shared]]:
    """One lake of each kind, and two processes that write to it; made at first use."""
    made: dict[str, Shared] = {}

    def get(kind: str) -> Shared:
        if kind not in made:
            lake = open_lake(kind, tmp_path_factory.mktemp(f"race-{kind}"), servers)
            View(lake).create()
            made[kind] = (lake, (start(lake.address), start(lake.address)))
        return made[kind]

    yield get
    for lake, writers in made.values():
        for writer in writers:
            writer.kill()
        lake.close()


def opened_arena(shared: Shared, barrier: Barrier) -> Arena:
    lake, writers = shared
    tables = Views(lake)
    return Arena(tables, writers, barrier, tables.create())


@pytest.fixture
def arena(shared: Callable[[str], Shared], barrier: Barrier) -> Arena:
    return opened_arena(shared("sqlite"), barrier)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_exactly_one_of_two_writers_wins(arena: Arena, place: str) -> None:
    for seed in range(RACES):
        arena.race(place, seed)


@pytest.mark.races
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_exactly_one_of_two_writers_wins_often(
    shared: Callable[[str], Shared], barrier: Barrier, kind: str, place: str, long_run: LongRun
) -> None:
    arena = opened_arena(shared(kind), barrier)
    for seed in long_run.seeds():
        for number in range(20):
            way = arena.race(place, seed * 20 + number)
            long_run.add(races=1, **{way.replace(" ", "_"): 1})


def test_a_foreign_write_during_a_commit_is_not_lost(arena: Arena) -> None:
    """A foreign insert does not conflict with ours: it is found by whoever looks next."""
    view, writer = arena.table, arena.writers[0]
    assert isinstance(view, View)
    view.build([[1, "a", 1]])
    for place in ("ducklake.begun", "ducklake.staged", "ducklake.opened", "ducklake.written"):
        writer.ask("position", view.name)
        points = arena.barrier.at(place)
        rows = [[2, "b", 2]]
        writer.send("commit", view.name, run=place, kind="append", rows=rows, failpoints=points)
        waiting = arena.barrier.arrive()
        view.sql("INSERT INTO {t} VALUES (7, 'theirs', 7)")
        arena.barrier.release(waiting)
        answer = writer.answer()
        if "version" not in answer:
            assert answer["error"] == "ConflictError"
        assert view.storage.position().foreign != ()
        planned = view.storage.position()
        rebuilt = Overwrite(Rows(arrow=arrow([[1, "a", 1]])))
        view.storage.commit([rebuilt], frontier(f"again {place}"), planned)
        assert view.storage.position().foreign == ()


def test_a_run_applies_itself_again_on_top_of_maintenance(arena: Arena) -> None:
    view, writer = arena.table, arena.writers[0]
    assert isinstance(view, View)
    for k in range(3):
        view.build([[k, "a", k]], f"b{k}")
    writer.ask("position", view.name)
    rows = [[1, "x", 9, "update"], [2, None, None, "delete"], [5, "e", 5, "insert"]]
    points = arena.barrier.at("ducklake.staged")
    writer.send("commit", view.name, run="r", kind="merge", rows=rows, failpoints=points)
    waiting = arena.barrier.arrive()
    view.upkeep()
    arena.barrier.release(waiting)
    answer = writer.answer()
    assert "version" in answer, answer
    assert view.rows() == [(0, "a", 0), (1, "x", 9), (5, "e", 5)]
    assert view.storage.position().foreign == ()
