"""What is due: every rule as a case."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest

from grebe.schedule import Cron, Every
from grebe.scheduler.due import Decision, Moment, decisions
from grebe.scheduler.run_groups import plan_runs
from grebe.scheduler.wishes import Activity, ViewKnown, Wish
from grebe.view_timing import Trigger

T = 1_790_000_400.0  # a whole hour and ten minutes
HOUR = Every(timedelta(hours=1))
LAG = Wish("v", Trigger.LAG, sources=("t",), lag=600.0)
UPDATE = Wish("v", Trigger.UPDATE, sources=("t",))
HOURLY = Wish("v", Trigger.SCHEDULE, sources=("t",), slots=HOUR)
SLOT = T // 3600 * 3600
TEN = (8.0,)


def judged(wish: Wish, known: ViewKnown, now: float = T, **moment: Any) -> Decision:
    return decisions({wish.name: wish}, {wish.name: known}, Moment(now, **moment))[wish.name]


CASES = [
    # --- lag: from half of the room on ---------------------------------------------------------------
    ("a source that rests", LAG, ViewKnown(durations=TEN), None),
    ("half of the room has not passed", LAG, ViewKnown(stale=True, since=T - 290, durations=TEN), None),
    ("half of the room has passed", LAG, ViewKnown(stale=True, since=T - 300, durations=TEN), Trigger.LAG),
    ("never refreshed", LAG, ViewKnown(stale=True, since=T - 300), Trigger.LAG),
    ("a run takes longer than the lag", LAG, ViewKnown(stale=True, since=T, durations=(900.0,)), Trigger.LAG),
    # --- update: at once, at its pace ----------------------------------------------------------------
    ("a source moved", UPDATE, ViewKnown(stale=True, since=T - 0.1), Trigger.UPDATE),
    ("nothing moved", UPDATE, ViewKnown(), None),
    ("it began half a second ago", UPDATE, ViewKnown(stale=True, since=T, started=T - 0.5, ended=T - 0.4, durations=(0.1,)), None),
    ("it began a second ago", UPDATE, ViewKnown(stale=True, since=T, started=T - 1.0, ended=T - 0.9, durations=(0.1,)), Trigger.UPDATE),
    ("it rests for a fourth of what it takes", UPDATE, ViewKnown(stale=True, since=T - 9, started=T - 9, ended=T - 1, durations=(8.0,)), None),
    ("it has rested for a fourth", UPDATE, ViewKnown(stale=True, since=T - 10, started=T - 10, ended=T - 2, durations=(8.0,)), Trigger.UPDATE),
    ("at most every 5 s", Wish("v", Trigger.UPDATE, at_most_every=5.0), ViewKnown(stale=True, since=T, started=T - 4, ended=T - 3.9, durations=(0.1,)), None),
    # --- schedule ------------------------------------------------------------------------------------
    ("its hour came", HOURLY, ViewKnown(stale=True, since=T, last_slot=SLOT - 3600), Trigger.SCHEDULE),
    ("its hour was served", HOURLY, ViewKnown(stale=True, since=T, last_slot=SLOT), None),
    ("nobody knows of a run", HOURLY, ViewKnown(), Trigger.SCHEDULE),
    ("a slot of the future became now", HOURLY, ViewKnown(last_slot=T), None),
    ("a fresh view is asked too, which costs nothing", HOURLY, ViewKnown(last_slot=SLOT - 3600), Trigger.SCHEDULE),
    # --- never ---------------------------------------------------------------------------------------
    ("manual", Wish("v", Trigger.MANUAL), ViewKnown(stale=True, since=T - 9999), None),
    ("manual, with a lag that says when it is late", Wish("v", Trigger.MANUAL, lag=60.0), ViewKnown(stale=True, since=T - 9999), None),
    ("downstream of nobody", Wish("v", Trigger.DOWNSTREAM), ViewKnown(stale=True, since=T - 9999), None),
    ("suspended", UPDATE, ViewKnown(stale=True, since=T, suspended="cleaning up"), None),
    ("suspended and asked for", UPDATE, ViewKnown(stale=True, since=T, suspended="x", wanted=True), None),
    ("broken", Wish("v", Trigger.UPDATE, broken="its text is no SQL"), ViewKnown(stale=True, since=T, wanted=True), None),
    ("its source is gone", UPDATE, ViewKnown(stale=True, since=T, unreachable="t is gone"), None),
    ("it runs", UPDATE, ViewKnown(stale=True, since=T, running=True), None),
    # --- after failures --------------------------------------------------------------------------------
    ("its time to try again has not come", UPDATE, ViewKnown(stale=True, since=T, tries=1, retry_at=T + 1), None),
    ("its time to try again came", UPDATE, ViewKnown(stale=True, since=T, tries=1, retry_at=T), Trigger.RETRY),
    ("a lost slot is tried again", HOURLY, ViewKnown(last_slot=SLOT, tries=1, retry_at=T), Trigger.RETRY),
    ("nothing is left to do again", UPDATE, ViewKnown(tries=1, retry_at=T), None),
    ("equal inputs", UPDATE, ViewKnown(stale=True, since=T, tries=1, failed_inputs="a", inputs="a"), None),
    ("other inputs", UPDATE, ViewKnown(stale=True, since=T, tries=1, failed_inputs="a", inputs="b"), Trigger.UPDATE),
    ("equal inputs, in its hour", HOURLY, ViewKnown(last_slot=SLOT - 3600, tries=1, failed_inputs="a", inputs="a"), None),
    # --- people ----------------------------------------------------------------------------------------
    ("somebody asked", Wish("v", Trigger.MANUAL), ViewKnown(wanted=True), Trigger.MANUAL),
    ("somebody asked, whatever failed", UPDATE, ViewKnown(wanted=True, tries=1, failed_inputs="a", inputs="a"), Trigger.MANUAL),
    # --- checks ----------------------------------------------------------------------------------------
    ("checked long ago", Wish("v", Trigger.UPDATE, verify=3600.0), ViewKnown(checked=T - 3600), Trigger.CHECK),
    ("checked just now", Wish("v", Trigger.UPDATE, verify=3600.0), ViewKnown(checked=T - 3599), None),
    ("a refresh comes first", Wish("v", Trigger.UPDATE, verify=3600.0), ViewKnown(stale=True, since=T, checked=T - 9999), Trigger.UPDATE),
    ("a manual view is checked too", Wish("v", Trigger.MANUAL, verify=3600.0), ViewKnown(checked=T - 3600), Trigger.CHECK),
]  # fmt: skip


@pytest.mark.parametrize(
    ("wish", "known", "trigger"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_due(wish: Wish, known: ViewKnown, trigger: Trigger | None) -> None:
    found = judged(wish, known)
    assert (found.trigger if found.due else None) == trigger
    assert found.why


def test_what_is_asked_when() -> None:
    """The time at which a view is looked at again is the one from which it is due."""
    for wish, known in (
        (LAG, ViewKnown(stale=True, since=T - 5, durations=TEN)),
        (UPDATE, ViewKnown(stale=True, since=T, started=T - 0.5, ended=T - 0.4, durations=(0.1,))),
        (HOURLY, ViewKnown(last_slot=SLOT)),
        (UPDATE, ViewKnown(stale=True, since=T, tries=1, retry_at=T + 7)),
        (Wish("v", Trigger.MANUAL, verify=3600.0), ViewKnown(checked=T - 7)),
    ):
        found = judged(wish, known)
        assert found.at is not None
        assert not judged(wish, known, found.at - 0.01).due
        assert judged(wish, known, found.at).due


@pytest.mark.parametrize(
    ("catch_up", "watching_since", "last_slot", "due"),
    [
        ("one", -math.inf, SLOT - 30 * 3600, True),
        ("one", T, SLOT - 30 * 3600, True),
        ("none", T, SLOT - 30 * 3600, False),  # the loop began after that slot
        ("none", T - 3600, SLOT - 30 * 3600, True),  # it was there: hands were busy
        ("none", T, SLOT, False),
    ],
)
def test_missed_slots_are_one_run_or_none(
    catch_up: str, watching_since: float, last_slot: float, due: bool
) -> None:
    wish = Wish("v", Trigger.SCHEDULE, slots=HOUR, catch_up=catch_up)
    found = judged(wish, ViewKnown(last_slot=last_slot), watching_since=watching_since)
    assert found.due == due
    assert found.slot == (SLOT if due else None)  # the last of them: no other is left to serve
    later = judged(wish, ViewKnown(last_slot=last_slot), SLOT + 3601, watching_since=watching_since)
    assert (later.due, later.slot) == (True, SLOT + 3600)


def test_a_slot_that_comes_while_the_view_runs_is_absorbed_by_what_follows() -> None:
    running = ViewKnown(last_slot=SLOT - 3600, running=True)
    assert judged(HOURLY, running).activity is Activity.RUNNING
    assert judged(HOURLY, ViewKnown(last_slot=SLOT - 3600)).slot == SLOT


def test_the_rank_is_the_share_of_the_lag_that_is_left() -> None:
    short = Wish("short", Trigger.LAG, lag=60.0)
    long = Wish("long", Trigger.LAG, lag=6000.0)
    known = {
        "short": ViewKnown(stale=True, since=T - 40, durations=(1.0,)),
        "long": ViewKnown(stale=True, since=T - 4000, durations=(1.0,)),
    }
    found = decisions({"short": short, "long": long}, known, Moment(T))
    assert found["short"].start_by < found["long"].start_by
    assert found["short"].rank == pytest.approx((60 - 1.25 - 1 - 40) / 60)
    assert found["long"].rank == pytest.approx((6000 - 1.25 - 1 - 4000) / 6000)
    check = judged(Wish("v", Trigger.MANUAL, verify=1.0), ViewKnown(checked=0.0))
    assert check.rank == math.inf


# --- views over views ---------------------------------------------------------------------------------

A = Wish("a", Trigger.LAG, sources=("t",), lag=3600.0)
B = Wish("b", Trigger.DOWNSTREAM, parents=("a",))
C = Wish("c", Trigger.LAG, parents=("b",), lag=600.0)
OLD = ViewKnown(stale=True, since=T - 400, durations=TEN)
FRESH = ViewKnown(durations=TEN)
DIAMOND = {
    "a": Wish("a", Trigger.DOWNSTREAM, sources=("t",)),
    "l": Wish("l", Trigger.DOWNSTREAM, parents=("a",)),
    "r": Wish("r", Trigger.DOWNSTREAM, parents=("a",)),
    "d": Wish("d", Trigger.UPDATE, parents=("l", "r")),
}
CHAIN = {"a": A, "b": B, "c": C}
MANUAL = {**CHAIN, "a": Wish("a", Trigger.MANUAL, sources=("t",))}

CASCADES: list[tuple[str, dict[str, Wish], dict[str, ViewKnown], list[list[str]]]] = [
    ("a child that is stricter than its parent takes it along", CHAIN, {"a": OLD, "b": FRESH, "c": FRESH}, [["a", "b", "c"]]),
    ("all that is stale above comes along", CHAIN, {"a": OLD, "b": OLD, "c": FRESH}, [["a", "b", "c"]]),
    ("nothing is stale", CHAIN, {"a": FRESH, "b": FRESH, "c": FRESH}, []),
    ("the parent alone is not due yet", {"a": A, "b": B}, {"a": OLD, "b": FRESH}, []),
    ("a parent that is due goes without children that are not", {"a": A, "b": B}, {"a": ViewKnown(stale=True, since=T - 3000, durations=TEN), "b": FRESH}, [["a"]]),
    ("downstream of nobody waits", {"b": Wish("b", Trigger.DOWNSTREAM, sources=("t",))}, {"b": OLD}, []),
    ("a diamond is one run", DIAMOND, {"a": OLD, "l": FRESH, "r": OLD, "d": FRESH}, [["a", "l", "r", "d"]]),
    ("a suspended parent is read as it is", CHAIN, {"a": ViewKnown(stale=True, since=T - 400, suspended="x"), "b": FRESH, "c": FRESH}, []),
    ("a suspended parent, and what moved below it", CHAIN, {"a": ViewKnown(stale=True, since=T - 400, suspended="x"), "b": OLD, "c": FRESH}, [["b", "c"]]),
    ("a manual parent is read as it is", MANUAL, {"a": OLD, "b": FRESH, "c": FRESH}, []),
    ("a manual parent that a person refreshed", MANUAL, {"a": FRESH, "b": OLD, "c": FRESH}, [["b", "c"]]),
    ("a parent that fails is read as it is", CHAIN, {"a": ViewKnown(stale=True, since=T - 400, failed_inputs="a", inputs="a"), "b": FRESH, "c": FRESH}, []),
    ("a parent that runs is waited for", CHAIN, {"a": ViewKnown(stale=True, since=T - 400, running=True), "b": FRESH, "c": FRESH}, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("wishes", "known", "runs"), [case[1:] for case in CASCADES], ids=[case[0] for case in CASCADES]
)
def test_F251_who_runs_when_views_read_views(
    wishes: dict[str, Wish], known: dict[str, ViewKnown], runs: list[list[str]]
) -> None:
    found = decisions(wishes, known, Moment(T))
    assert [list(run.names) for run in plan_runs(found, wishes, known, T)] == runs


def test_who_is_taken_along_says_for_whom() -> None:
    known = {"a": OLD, "b": FRESH, "c": FRESH}
    (run,) = plan_runs(decisions(CHAIN, known, Moment(T)), CHAIN, known, T)
    first, _, last = run.members
    assert (first.view, first.trigger, first.refreshed_for) == ("a", Trigger.DOWNSTREAM, ("c",))
    assert (last.view, last.trigger, last.refreshed_for) == ("c", Trigger.LAG, ())


def two(second: Wish, known: ViewKnown) -> list[list[str]]:
    wishes = {"v": LAG, second.name: second}
    states = {"v": ViewKnown(stale=True, since=T - 500, durations=TEN), second.name: known}
    found = decisions(wishes, states, Moment(T))
    return [list(run.names) for run in plan_runs(found, wishes, states, T)]


def test_who_joins_whom() -> None:
    due = ViewKnown(stale=True, since=T - 400, durations=(10.0,))
    assert two(Wish("w", Trigger.LAG, sources=("t",), lag=600.0), due) == [["v", "w"]]
    assert two(Wish("w", Trigger.LAG, sources=("other",), lag=600.0), due) == [["v"], ["w"]]
    slow = ViewKnown(stale=True, since=T - 500, durations=(33.0,))
    assert sorted(two(Wish("w", Trigger.LAG, sources=("t",), lag=600.0), slow)) == [["v"], ["w"]]
    assert sorted(two(Wish("w", Trigger.UPDATE, sources=("t",)), due)) == [["v"], ["w"]]
    killer = ViewKnown(stale=True, since=T - 400, durations=(10.0,), alone=True)
    assert two(Wish("w", Trigger.LAG, sources=("t",), lag=600.0), killer) == [["v"], ["w"]]


def test_two_runs_never_share_a_view() -> None:
    """Two `update` views over one stale parent: the second waits for the first's run."""
    wishes = {
        "p": Wish("p", Trigger.DOWNSTREAM, sources=("t",)),
        "x": Wish("x", Trigger.UPDATE, parents=("p",)),
        "y": Wish("y", Trigger.UPDATE, parents=("p",)),
    }
    known = {"p": OLD, "x": FRESH, "y": FRESH}
    found = decisions(wishes, known, Moment(T))
    assert [list(run.names) for run in plan_runs(found, wishes, known, T)] == [["p", "x"]]


def test_a_circle_stops_nobody() -> None:
    wishes = {
        "x": Wish("x", Trigger.UPDATE, parents=("y",)),
        "y": Wish("y", Trigger.UPDATE, parents=("x",)),
        "v": UPDATE,
    }
    known = dict.fromkeys(wishes, OLD)
    found = decisions(wishes, known, Moment(T))
    assert ["v"] in [list(run.names) for run in plan_runs(found, wishes, known, T)]


def test_cron_is_asked_for_its_last_time_alone() -> None:
    minutely = Wish("v", Trigger.SCHEDULE, slots=Cron.parse("* * * * *"))
    found = judged(minutely, ViewKnown(last_slot=T - 10 * 365 * 86400))
    assert found.slot == T // 60 * 60
