"""A writer that dies, or never hears the answer: the position is the old or the new one."""

from __future__ import annotations

from typing import Any

import pytest

from evidence import LongRun
from formats.commit.client import Client, arrow
from formats.commit.lake import Barrier, Row, frontier
from formats.delta.commit.conftest import Clients
from formats.delta.commit.folders import Folders, StorageFolder
from grebe.errors import ConflictError, StepFailedError, UnknownOutcomeError
from grebe.formats.base import Append, Committed, Merge, Rows
from grebe.formats.delta.commit import PLACES
from grebe.formats.failpoints import VARIABLE
from grebe.model import RunId

LANDED = ("delta.commit.reply", "delta.committed", "delta.checkpointed")
BASE: list[Row] = [(1, "a", 1), (2, "b", 2)]
CHANGES: dict[str, tuple[list[list[Any]], list[Row]]] = {
    "append": ([[3, "c", 3]], [*BASE, (3, "c", 3)]),
    "merge": (
        [[1, "x", 9, "update"], [2, None, None, "delete"], [3, "c", 3, "insert"]],
        [(1, "x", 9), (3, "c", 3)],
    ),
    "overwrite": ([[5, "e", 5]], [(5, "e", 5)]),
    "frontier": ([], BASE),
}
KINDS = tuple(CHANGES)


def base(table: StorageFolder) -> None:
    rows = Append(Rows(arrow=arrow([list(row) for row in BASE])))
    table.storage.commit([rows], frontier("base"), table.storage.position())


def is_old_or_new(table: StorageFolder, kind: str, *, landed: bool) -> None:
    found = table.storage.position()
    assert found.frontier == frontier("r" if landed else "base")
    assert (found.foreign, found.unproven) == ((), None)
    assert table.rows() == (CHANGES[kind][1] if landed else BASE)


def recovered(table: StorageFolder) -> None:
    """Nothing is in the way of the next run."""
    table.storage.abandon(RunId("r"))
    assert table.storage.orphans() == ()
    rows = table.rows()
    write = Append(Rows(arrow=arrow([[99, "z", 99]])))
    table.storage.commit([write], frontier("next"), table.storage.position())
    assert table.rows() == [*rows, (99, "z", 99)]


def killed_at(table: StorageFolder, writer: Client, place: str, kind: str) -> None:
    base(table)
    writer.ask("position", table.name)
    points = f"{place}=kill"
    rows = CHANGES[kind][0]
    answer = writer.ask("commit", table.name, run="r", kind=kind, rows=rows, failpoints=points)
    assert answer == {"died": -9}
    writer.close()
    is_old_or_new(table, kind, landed=place in LANDED)
    recovered(table)


@pytest.mark.parametrize("place", PLACES)
def test_a_kill_between_two_steps(table: StorageFolder, client: Clients, place: str) -> None:
    killed_at(table, client(2), place, KINDS[PLACES.index(place) % len(KINDS)])


@pytest.mark.crash
def test_kills_between_any_two_steps_of_a_delta_commit(
    folders: Folders, client: Clients, long_run: LongRun
) -> None:
    for seed in long_run.seeds():
        for kind in KINDS:
            place = PLACES[seed % len(PLACES)]
            killed_at(folders.create(), client(2), place, kind)
            long_run.add(kills=1, **{place.replace(".", "_"): 1})


def test_a_kill_during_the_first_build_leaves_an_empty_table(
    table: StorageFolder, client: Clients
) -> None:
    writer = client(2)
    writer.ask("position", table.name)
    points = "delta.commit.request=kill"
    rows = [[1, "a", 1]]
    writer.ask("commit", table.name, run="r", kind="append", rows=rows, failpoints=points)
    writer.close()
    assert table.storage.position().frontier is None
    base(table)
    assert table.rows() == BASE


def commit(table: StorageFolder, kind: str) -> Committed:
    rows = CHANGES[kind][0]
    write = (
        Append(Rows(arrow=arrow(rows)))
        if kind == "append"
        else Merge(Rows(arrow=arrow(rows, actions=True)), ("k",), 1, 1)
    )
    return table.storage.commit([write], frontier("r"), table.storage.position())


@pytest.mark.parametrize("kind", ["append", "merge"])
@pytest.mark.parametrize("place", ["delta.commit.request", "delta.commit.reply"])
def test_a_lost_reply_is_resolved_by_reading(
    table: StorageFolder, monkeypatch: pytest.MonkeyPatch, place: str, kind: str
) -> None:
    base(table)
    monkeypatch.setenv(VARIABLE, f"{place}=raise:once")
    done = commit(table, kind)
    assert table.storage.position().version == done.version
    is_old_or_new(table, kind, landed=True)


def test_replies_that_are_always_lost_before_landing_leave_nothing(
    table: StorageFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    base(table)
    monkeypatch.setenv(VARIABLE, "delta.commit.request=raise")
    with pytest.raises(StepFailedError):
        commit(table, "append")
    is_old_or_new(table, "append", landed=False)


@pytest.mark.parametrize("place", ["delta.commit.request", "delta.commit.reply"])
def test_an_outcome_that_cannot_be_read_is_unknown(
    table: StorageFolder, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    base(table)
    monkeypatch.setenv(VARIABLE, f"{place}=raise;delta.outcome=raise")
    with pytest.raises(UnknownOutcomeError) as caught:
        commit(table, "append")
    assert caught.value.retryable
    monkeypatch.setenv(VARIABLE, "")
    is_old_or_new(table, "append", landed=place in LANDED)
    recovered(table)


def test_a_run_that_landed_unheard_fences_the_run_planned_before(
    table: StorageFolder, client: Clients, barrier: Barrier
) -> None:
    base(table)
    writer = client(2)
    writer.ask("position", table.name)
    planned = table.storage.position()
    points = barrier.at("delta.committed")
    rows = CHANGES["append"][0]
    writer.send("commit", table.name, run="r", kind="append", rows=rows, failpoints=points)
    barrier.arrive()
    writer.kill()
    with pytest.raises(ConflictError):
        table.storage.commit([Append(Rows(arrow=arrow(rows)))], frontier("late"), planned)
    is_old_or_new(table, "append", landed=True)
