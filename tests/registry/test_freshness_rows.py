"""Polls, claims, slots and notices: one winner each, over SQLite and PostgreSQL, whatever the clock does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from grebe.registry import Registry, activity_rows, notice_rows, polls
from grebe.registry.activity_rows import ActivityRow
from grebe.registry.journal_tables import activity
from grebe.registry.journal_tables import polls as polls_table
from grebe.registry.notice_rows import NoticeRow
from grebe.registry.polls import PollRow


def row(registry: Registry, view: str = "v") -> ActivityRow:
    with registry.database.writing() as connection:
        activity_rows.know(connection, [view])
        return activity_rows.listed(connection)[1][view]


def claim(registry: Registry, owner: str, slot: float | None, seen: ActivityRow) -> bool:
    with registry.database.writing() as connection:
        return activity_rows.claim(connection, seen.view, owner, slot, seen)


def now(registry: Registry) -> float:
    with registry.database.reading() as connection:
        return activity_rows.listed(connection)[0]


def test_one_of_many_looks_and_the_others_do_not(url: str) -> None:
    Registry.open(url).close()

    def look(_: int) -> int:
        with Registry.open(url) as registry, registry.database.writing() as connection:
            return len(polls.claim(connection, {"a": 60.0, "b": 60.0}))

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(look, range(12))) == 2


def test_a_look_is_due_again_after_its_interval_or_a_hint_or_a_clock_that_was_put_back(
    registry: Registry,
) -> None:
    with registry.database.writing() as connection:
        assert polls.claim(connection, {"a": 60.0}) == {"a"}
        assert polls.claim(connection, {"a": 60.0}) == set()
        assert polls.claim(connection, {"a": 0.0}) == {"a"}
        polls.hint(connection, "a")
        assert polls.claim(connection, {"a": 60.0}) == {"a"}
        connection.execute(
            sa.update(polls_table).values(claimed_at=polls_table.c.claimed_at + 86400)
        )
        assert polls.claim(connection, {"a": 60.0}) == {"a"}
        polls.hint(connection, "unknown")
        assert polls.claim(connection, {"unknown": 60.0}) == {"unknown"}


def test_what_was_seen_comes_back(registry: Registry) -> None:
    seen = PollRow("a", "1:7", 5.0, (("1:6", 1.0, 2.0), ("1:7", 3.0, 4.0)), 2, "gone")
    with registry.database.writing() as connection:
        polls.claim(connection, {"a": 1.0})
        polls.write(connection, [seen])
        found = polls.listed(connection)["a"]
    assert (found.head, found.moves, found.absences, found.problem) == (
        seen.head, seen.moves, 2, "gone",
    )  # fmt: skip


def test_one_slot_has_one_run(registry: Registry) -> None:
    seen = row(registry)
    slot = now(registry) - 5
    assert claim(registry, "one", slot, seen)
    assert not claim(registry, "two", slot, seen)  # claimed
    with registry.database.writing() as connection:
        activity_rows.finish(connection, seen, "one")
    assert not claim(registry, "two", slot, seen)  # somebody ran it since it was looked at
    later = row(registry)
    assert not claim(registry, "two", slot, later)  # served
    assert not claim(registry, "two", slot - 3600, later)
    assert claim(registry, "two", slot + 1, later)


def test_many_that_claim_one_slot_at_once(url: str) -> None:
    with Registry.open(url) as registry:
        seen, slot = row(registry), now(registry)

    def ask(number: int) -> bool:
        with Registry.open(url) as registry:
            return claim(registry, f"copy{number}", slot, seen)

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(ask, range(12))) == 1


@pytest.mark.parametrize("shift", [-86400.0, 86400.0])
def test_a_claim_or_a_slot_of_another_clock_stops_nobody(registry: Registry, shift: float) -> None:
    """Both lie a day ahead, as after a clock that was put back; or a day behind."""
    seen = row(registry)
    assert claim(registry, "one", now(registry), seen)
    with registry.database.writing() as connection:
        connection.execute(
            sa.update(activity).values(
                claim_until=activity.c.claim_until + shift, last_slot=activity.c.last_slot + shift
            )
        )
    assert claim(registry, "two", now(registry), row(registry))


def test_who_lost_its_claim_writes_nothing_down(registry: Registry) -> None:
    seen = row(registry)
    claim(registry, "one", None, seen)
    with registry.database.writing() as connection:
        connection.execute(sa.update(activity).values(claim_until=0.0))
    assert claim(registry, "two", None, seen)
    with registry.database.writing() as connection:
        assert not activity_rows.finish(connection, ActivityRow("v", failures=3), "one")
        activity_rows.renew(connection, ["v"], "one")
        assert activity_rows.finish(connection, ActivityRow("v", durations=(1.5,)), "two")
    assert (row(registry).failures, row(registry).durations) == (0, (1.5,))


def test_what_a_person_says_while_a_view_runs_stays(registry: Registry) -> None:
    seen = row(registry)
    claim(registry, "one", None, seen)
    with registry.database.writing() as connection:
        activity_rows.suspend(connection, "v", "cleaning up")
        activity_rows.want(connection, "v")
        activity_rows.finish(connection, ActivityRow("v", suspended="it failed"), "one")
    found = row(registry)
    assert (found.suspended, found.wanted) == ("cleaning up", True)
    assert not claim(registry, "one", None, found)
    with registry.database.writing() as connection:
        assert activity_rows.resume(connection, "v")
        assert not activity_rows.resume(connection, "v")
    assert claim(registry, "one", None, row(registry))


def test_a_notice_is_kept_once_and_sent_by_one(registry: Registry) -> None:
    notice = NoticeRow("v", "late", 5.0, "log", "{}")
    with registry.database.writing() as connection:
        assert notice_rows.write(connection, notice)
        assert not notice_rows.write(connection, notice)
        (mine,) = notice_rows.claim(connection, ["log"])
        assert notice_rows.claim(connection, ["log"]) == []
        notice_rows.failed(connection, mine.number, -1.0)
        (again,) = notice_rows.claim(connection, ["log"])
        assert again.attempts == 2
        notice_rows.sent(connection, mine.number)
        notice_rows.failed(connection, mine.number, -1.0)
        assert notice_rows.claim(connection, ["log"]) == []


def test_edges_are_written_by_one_copy(registry: Registry) -> None:
    seen = row(registry)
    with registry.database.writing() as connection:
        assert activity_rows.edge(connection, seen, {"late": 5.0})
        assert not activity_rows.edge(connection, seen, {"late": 6.0})
    assert row(registry).edges == (("late", 5.0),)
