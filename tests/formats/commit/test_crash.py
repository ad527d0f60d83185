"""A writer that dies, or never hears the answer: the position is the old or the new one."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evidence import LongRun
from formats.commit.client import Client, arrow
from formats.commit.lake import (
    CATALOG,
    NAMESPACE,
    Barrier,
    Lake,
    Row,
    Server,
    Table,
    frontier,
    readable,
    until,
)
from grebe.errors import ConflictError, StepFailedError, UnknownOutcomeError
from grebe.formats.base import Append, Merge, Rows
from grebe.formats.failpoints import VARIABLE
from grebe.formats.iceberg.commit import PLACES
from grebe.model import RunId

pytestmark = pytest.mark.spark

Clients = Callable[[int], Client]

LANDED = ("iceberg.publish.reply", "iceberg.published", "iceberg.tagged", "iceberg.dropped")
BASE: list[Row] = [(1, "a", 1), (2, "b", 2)]
CHANGES: dict[str, tuple[list[list[Any]], list[Row]]] = {
    "append": ([[3, "c", 3]], [*BASE, (3, "c", 3)]),
    "merge": (
        [[1, "x", 9, "update"], [2, None, None, "delete"], [3, "c", 3, "insert"]],
        [(1, "x", 9), (3, "c", 3)],
    ),
    "large": ([[2, "y", 8, "update"], [3, "c", 3, "insert"]], [BASE[0], (2, "y", 8), (3, "c", 3)]),
    "overwrite": ([[5, "e", 5]], [(5, "e", 5)]),
    "frontier": ([], BASE),
}
KINDS = tuple(CHANGES)


def base(table: Table) -> None:
    rows = Append(Rows(arrow=arrow([list(row) for row in BASE])))
    table.storage.commit([rows], frontier("base"), table.storage.position())


def recovered(table: Table, run: str) -> None:
    """What is left of a run is removed, and the next run goes through."""
    table.storage.abandon(RunId(run))
    assert table.refs() == {"main", "grebe_frontier"}
    found = table.storage.position()
    history = table.lake.reader(table.name).read()
    tagged = history.tip("grebe_frontier")
    assert tagged is not None
    assert found.frontier is not None
    assert tagged.summary["grebe.run"] == found.frontier.run_id
    rows = table.rows()
    table.storage.commit([Append(Rows(arrow=arrow([[99, "z", 99]])))], frontier("next"), found)
    assert table.rows() == [*rows, (99, "z", 99)]


def is_old_or_new(table: Table, kind: str, *, landed: bool) -> None:
    found = table.storage.position()
    assert found.frontier == frontier("r" if landed else "base")
    assert (found.foreign, found.unproven) == ((), None)
    assert table.rows() == (CHANGES[kind][1] if landed else BASE)


def killed_at(table: Table, writer: Client, place: str, kind: str) -> None:
    base(table)
    writer.ask("position", table.name)
    rows = CHANGES[kind][0]
    answer = writer.ask(
        "commit", table.name, run="r", kind=kind, rows=rows, failpoints=f"{place}=kill"
    )
    assert answer == {"died": -9}
    writer.close()
    is_old_or_new(table, kind, landed=place in LANDED)
    recovered(table, "r")


@pytest.mark.parametrize("place", PLACES)
def test_a_kill_between_two_steps(table: Table, client: Clients, place: str) -> None:
    killed_at(table, client(2), place, KINDS[PLACES.index(place) % len(KINDS)])


@pytest.mark.crash
def test_kills_between_any_two_steps(lake: Lake, client: Clients, long_run: LongRun) -> None:
    for seed in long_run.seeds():
        place, kind = PLACES[seed % len(PLACES)], KINDS[seed // len(PLACES) % len(KINDS)]
        killed_at(lake.create(), client(2), place, kind)
        long_run.add(kills=1, **{place.replace(".", "_"): 1})


def test_a_kill_during_the_first_build_leaves_an_empty_table(table: Table, client: Clients) -> None:
    writer = client(2)
    writer.ask("position", table.name)
    points = "iceberg.proved=kill"
    rows = [[1, "a", 1]]
    writer.ask("commit", table.name, run="r", kind="append", rows=rows, failpoints=points)
    writer.close()
    found = table.storage.position()
    assert (found.frontier, found.version) == (None, None)
    table.storage.abandon(RunId("r"))
    base(table)
    assert table.rows() == BASE


class Held:
    """The catalog's write lock: statements of others stop at their commit until it is let go."""

    def __init__(self, lake: Lake) -> None:
        self._connection = sqlite3.connect(lake.catalog_file, isolation_level=None)

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        with closing(self._connection):
            self._connection.execute("ROLLBACK")


def metadata_files(table: Table) -> int:
    folder = Path(table.location()).parent
    return sum(1 for _ in folder.glob("*.metadata.json"))


def zombie(table: Table, writer: Client, barrier: Barrier, place: str, kind: str) -> None:
    """Kill a writer while the server is inside the statement that follows a place.

    The statement outlives its client: it has written its metadata file and waits for the catalog.
    """
    base(table)
    writer.ask("position", table.name)
    rows = CHANGES[kind][0]
    points = barrier.at(place)
    writer.send("commit", table.name, run="r", kind=kind, rows=rows, failpoints=points)
    waiting = barrier.arrive()
    before = metadata_files(table)
    location = table.location()
    with Held(table.lake):
        barrier.release(waiting)
        until(lambda: metadata_files(table) > before or None, "the statement under way")
        writer.kill()
        assert table.location() == location
    until(lambda: table.location() != location or None, "the zombie's commit")


def test_a_publish_that_outlives_its_client_lands(
    table: Table, client: Clients, barrier: Barrier
) -> None:
    zombie(table, client(2), barrier, "iceberg.proved", "merge")
    is_old_or_new(table, "merge", landed=True)
    recovered(table, "r")


def test_a_write_that_outlives_its_client_stays_invisible(
    table: Table, client: Clients, barrier: Barrier
) -> None:
    zombie(table, client(2), barrier, "iceberg.branched", "append")
    is_old_or_new(table, "append", landed=False)
    assert [orphan.run_id for orphan in table.storage.orphans()] == ["r"]
    recovered(table, "r")


def test_a_publish_that_outlives_its_client_fences_the_run_planned_before(
    table: Table, client: Clients, barrier: Barrier
) -> None:
    base(table)
    writer = client(2)
    writer.ask("position", table.name)
    planned = table.storage.position()
    points = barrier.at("iceberg.published")
    rows = CHANGES["append"][0]
    writer.send("commit", table.name, run="r", kind="append", rows=rows, failpoints=points)
    barrier.arrive()
    writer.kill()
    with pytest.raises(ConflictError):
        table.storage.commit([Append(Rows(arrow=arrow(rows)))], frontier("late"), planned)
    is_old_or_new(table, "append", landed=True)


def commit(table: Table, kind: str) -> Any:
    rows = CHANGES[kind][0]
    write = (
        Append(Rows(arrow=arrow(rows)))
        if kind == "append"
        else Merge(Rows(arrow=arrow(rows, actions=True)), ("k",), 1, 1)
    )
    return table.storage.commit([write], frontier("r"), table.storage.position())


@pytest.mark.parametrize("kind", ["append", "merge"])
@pytest.mark.parametrize("place", ["iceberg.publish.request", "iceberg.publish.reply"])
def test_a_lost_reply_is_resolved_by_reading(
    table: Table, monkeypatch: pytest.MonkeyPatch, place: str, kind: str
) -> None:
    base(table)
    monkeypatch.setenv(VARIABLE, f"{place}=raise:once")
    done = commit(table, kind)
    assert table.storage.position().version == done.version
    is_old_or_new(table, kind, landed=True)


def test_replies_that_are_always_lost_before_landing_leave_nothing(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    base(table)
    monkeypatch.setenv(VARIABLE, "iceberg.publish.request=raise")
    with pytest.raises(StepFailedError):
        commit(table, "append")
    is_old_or_new(table, "append", landed=False)
    assert table.refs() == {"main", "grebe_frontier"}


@pytest.mark.parametrize("place", ["iceberg.publish.request", "iceberg.publish.reply"])
def test_an_outcome_that_cannot_be_read_is_unknown_and_nothing_is_deleted(
    table: Table, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    base(table)
    monkeypatch.setenv(VARIABLE, f"{place}=raise;iceberg.outcome=raise")
    with pytest.raises(UnknownOutcomeError) as caught:
        commit(table, "append")
    assert caught.value.retryable
    monkeypatch.setenv(VARIABLE, "")
    assert "grebe_r" in table.refs()
    is_old_or_new(table, "append", landed=place in LANDED)
    recovered(table, "r")


def test_a_run_id_that_was_used_before_is_refused(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    base(table)
    monkeypatch.setenv(VARIABLE, "iceberg.publish.request=raise;iceberg.outcome=raise")
    with pytest.raises(UnknownOutcomeError):
        commit(table, "append")
    monkeypatch.setenv(VARIABLE, "")
    with pytest.raises(ConflictError, match="has begun"):
        commit(table, "append")


@pytest.mark.crash
def test_kills_of_the_whole_spark(
    tmp_path_factory: pytest.TempPathFactory, barrier: Barrier, long_run: LongRun
) -> None:
    """At each place between two steps, and at any moment: every second one."""
    folder = tmp_path_factory.mktemp("power")
    for seed in long_run.seeds():
        place = PLACES[seed // 2 % len(PLACES)] if seed % 2 else None
        kind = KINDS[seed % len(KINDS)]
        table = killed_spark(folder, barrier, seed, place, kind)
        landed = checked_after_restart(folder, table, kind)
        long_run.add(kills=1, landed=int(landed), at_a_place=seed % 2)


def started(folder: Path) -> tuple[Server, Lake]:
    server = Server(folder)
    server.start()
    session = server.connect()
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{NAMESPACE}").collect()
    return server, Lake(folder, session)


def killed_spark(folder: Path, barrier: Barrier, seed: int, place: str | None, kind: str) -> Table:
    """The table that was being written to when the JVM died."""
    server, lake = started(folder)
    table = lake.create(name=f"p{seed}")
    base(table)
    lake.session.stop()
    writer = Client.start(folder, server.url)
    writer.ask("position", table.name)
    rows = CHANGES[kind][0]
    points = barrier.at(place) if place else ""
    writer.send("commit", table.name, run="r", kind=kind, rows=rows, failpoints=points)
    if place:
        barrier.arrive()
    else:
        readable([writer.process.stdout], random.Random(seed).uniform(0, 1.5))
    server.kill()
    writer.kill()
    return table


def checked_after_restart(folder: Path, before: Table, kind: str) -> bool:
    """Whether the run landed."""
    server, lake = started(folder)
    table = Table(lake, before.name, lake.storage(before.name))
    found = table.storage.position()
    assert found.frontier is not None
    landed = found.frontier.run_id == "r"
    is_old_or_new(table, kind, landed=landed)
    recovered(table, "r")
    lake.session.stop()
    server.kill()
    return landed
