"""A writer that dies, or never hears the answer: the position is the old or the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence import LongRun
from formats.commit.client import Client, arrow
from formats.commit.lake import Barrier, Row, frontier
from formats.commit.test_crash import BASE, CHANGES
from formats.ducklake.client import start
from formats.ducklake.lakes import KINDS, Lake, Servers, open_lake
from formats.ducklake.views import View, merge
from grebe.errors import ConflictError, StepFailedError, UnknownOutcomeError
from grebe.formats.base import Append, Committed, Rows
from grebe.formats.ducklake.commit import PLACES
from grebe.formats.failpoints import VARIABLE
from grebe.model import RunId

LANDED = PLACES[PLACES.index("ducklake.commit.reply") :]
WAYS = tuple(CHANGES)
Lakes = Callable[..., Lake]


@pytest.fixture
def barrier(tmp_path: Path) -> Iterator[Barrier]:
    with Barrier(tmp_path / "barrier") as barrier:
        yield barrier


def built(lake: Lake) -> View:
    view = View(lake).create()
    view.build([list(row) for row in BASE])
    return view


def is_old_or_new(view: View, kind: str, *, landed: bool) -> None:
    found = view.storage.position()
    assert found.frontier == frontier("r" if landed else "base")
    assert (found.foreign, found.unproven) == ((), None)
    wanted: list[Row] = CHANGES[kind][1] if landed else BASE
    assert view.rows() == wanted


def recovered(view: View, run: str) -> None:
    """What is left of a run is removed, and the next run goes through."""
    view.storage.abandon(RunId(run))
    assert view.storage.orphans() == ()
    rows = view.rows()
    view.build([[99, "z", 99]], "next")
    assert view.rows() == [*rows, (99, "z", 99)]


def killed_at(view: View, writer: Client, place: str, kind: str) -> None:
    writer.ask("position", view.name)
    rows = CHANGES[kind][0]
    answer = writer.ask(
        "commit", view.name, run="r", kind=kind, rows=rows, failpoints=f"{place}=kill"
    )
    assert answer == {"died": -9}
    writer.close()
    is_old_or_new(view, kind, landed=place in LANDED)
    recovered(view, "r")


@pytest.mark.parametrize("place", PLACES)
def test_a_kill_between_two_steps(opened: Lakes, place: str) -> None:
    number = PLACES.index(place)
    lake = opened(KINDS[number % len(KINDS)])
    killed_at(built(lake), start(lake.address), place, WAYS[number % len(WAYS)])


@pytest.mark.crash
def test_kills_between_any_two_steps(tmp_path: Path, servers: Servers, long_run: LongRun) -> None:
    lakes = {kind: open_lake(kind, tmp_path / kind, servers) for kind in KINDS}
    for seed in long_run.seeds():
        place = PLACES[seed % len(PLACES)]
        kind = WAYS[seed // len(PLACES) % len(WAYS)]
        lake = lakes[KINDS[seed // len(PLACES) // len(WAYS) % len(KINDS)]]
        killed_at(built(lake), start(lake.address), place, kind)
        long_run.add(kills=1, **{place.replace(".", "_"): 1}, **{lake.kind: 1})
    for lake in lakes.values():
        lake.close()


def test_a_kill_during_the_first_build_leaves_an_empty_table(lake: Lake) -> None:
    view = View(lake).create()
    writer = start(lake.address)
    writer.ask("position", view.name)
    points = "ducklake.commit.request=kill"
    writer.ask("commit", view.name, run="r", kind="append", rows=[[1, "a", 1]], failpoints=points)
    writer.close()
    found = view.storage.position()
    assert (found.frontier, found.foreign, view.rows()) == (None, (), [])
    view.build([[1, "a", 1]])
    assert view.rows() == [(1, "a", 1)]


def commit(view: View, kind: str) -> Committed:
    rows: list[list[Any]] = CHANGES[kind][0]
    write = Append(Rows(arrow=arrow(rows))) if kind == "append" else merge(rows)
    return view.storage.commit([write], frontier("r"), view.storage.position())


def test_replies_that_are_always_lost_before_landing_leave_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = built(lake)
    monkeypatch.setenv(VARIABLE, "ducklake.commit.request=raise")
    with pytest.raises(StepFailedError):
        commit(view, "append")
    monkeypatch.setenv(VARIABLE, "")
    is_old_or_new(view, "append", landed=False)


@pytest.mark.parametrize("place", ["ducklake.commit.request", "ducklake.commit.reply"])
def test_an_outcome_that_cannot_be_read_is_unknown_and_nothing_is_deleted(
    any_lake: Lake, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    view = built(any_lake)
    monkeypatch.setenv(VARIABLE, f"{place}=raise;ducklake.outcome=raise")
    with pytest.raises(UnknownOutcomeError) as caught:
        commit(view, "append")
    assert caught.value.retryable
    monkeypatch.setenv(VARIABLE, "")
    is_old_or_new(view, "append", landed=place in LANDED)
    recovered(view, "r")


def test_an_abandoned_run_that_still_lives_cannot_publish(opened: Lakes, barrier: Barrier) -> None:
    """Its files would be gone under a commit that lands after all."""
    view = built(opened("sqlite"))
    writer = start(view.lake.address)
    writer.ask("position", view.name)
    points = barrier.at("ducklake.commit.request")
    rows = CHANGES["append"][0]
    writer.send("commit", view.name, run="r", kind="append", rows=rows, failpoints=points)
    waiting = barrier.arrive()
    folder = Path(view.lake.address.data_path or "") / "views" / view.name.name
    (folder / "__grebe_run_r" / "0").mkdir(parents=True)
    view.storage.abandon(RunId("r"))
    barrier.release(waiting)
    # The open transaction is refused; the run tries once more, from the start, and may land then.
    barrier.release(barrier.arrive())
    answer = writer.answer()
    writer.kill()
    assert "version" in answer
    is_old_or_new(view, "append", landed=True)


def test_a_commit_that_lands_late_fences_the_run_planned_before(
    opened: Lakes, barrier: Barrier
) -> None:
    view = built(opened("sqlite"))
    writer = start(view.lake.address)
    writer.ask("position", view.name)
    planned = view.storage.position()
    points = barrier.at("ducklake.published")
    rows = CHANGES["append"][0]
    writer.send("commit", view.name, run="r", kind="append", rows=rows, failpoints=points)
    barrier.arrive()
    writer.kill()
    with pytest.raises(ConflictError):
        view.storage.commit(
            [merge([], expect_updated=0, expect_deleted=0)], frontier("late"), planned
        )
    is_old_or_new(view, "append", landed=True)
