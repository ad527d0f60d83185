"""Two writers at once: exactly one wins, and nothing of the other one is visible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence import LongRun
from formats.commit.arena import Arena
from formats.commit.client import Client
from formats.commit.lake import Barrier, Lake, Row, Server, Table

pytestmark = pytest.mark.spark

Clients = Callable[[int], Client]

PLACES = {
    "after position": "iceberg.begun",
    "after the branch": "iceberg.branched",
    "before publish": "iceberg.proved",
}


@pytest.fixture
def arena(lake: Lake, client: Clients, barrier: Barrier) -> Arena:
    return Arena(lake, (client(0), client(1)), barrier, lake.create())


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_exactly_one_of_two_writers_wins(arena: Arena, place: str) -> None:
    for seed in range(4):
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
