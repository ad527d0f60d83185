"""Due times where clocks are put forward and back, and writers' clocks that are believed only within bounds."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from evidence import LongRun
from grebe.schedule import Cron, Every
from grebe.scheduler.moves import is_skewed, seen, since
from grebe.scheduler.slots import latest_slot, next_slot
from scheduler.drawn import ZONES

TEXTS = (
    "0 2 * * *", "30 2 * * *", "0 3 * * *", "15 * * * *", "*/30 * * * *", "*/15 * * * *", "0 0 * * *",
    "30 0 * * *", "59 23 * * *", "0 12 * * *", "0 */6 * * *", "0 */2 * * *", "5 1-3 * * *", "0 0 1 * *",
    "0 0 29 2 *", "0 0 31 * *", "0 2 * * 0", "0 2 * * 1-5", "30 1 * * 6", "0 0 1 1 *", "0 1,13 * * *",
    "10 2 * 3 *", "10 2 * 10 *", "45 23 31 12 *", "0 0 * * 5", "20 4 28 * *", "0 22 * * 5", "7 7 7 * *",
    "0 1 * 4,10 *", "30 2 25-31 3,10 0",
)  # fmt: skip


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def listed(text: str, zone: str, begin: float, end: float) -> list[float]:
    slots, found, time = Cron.parse(text, zone), [], begin
    while (later := next_slot(slots, time)) is not None and later <= end:
        found.append(later)
        time = later
    return found


def by_cronsim(text: str, zone: str, begin: float, end: float) -> list[float]:
    """Cronsim's own times, begun long before."""
    times = CronSim(text, datetime.fromtimestamp(begin - 40 * 86400, ZoneInfo(zone)))
    found = []
    for time in times:
        moment = time.astimezone(UTC).timestamp()
        if moment > end:
            break
        if moment > begin:
            found.append(moment)
    return sorted(set(found))


CHANGES = {
    "Europe/Oslo": ("2026-03-29", "2026-10-25"),
    "America/New_York": ("2026-03-08", "2026-11-01"),
    "Australia/Lord_Howe": ("2026-04-05", "2026-10-04"),
    "Africa/Cairo": ("2026-04-24", "2026-10-30"),
    "Pacific/Apia": ("2011-12-29", "2011-12-30"),
    "Asia/Kathmandu": ("2026-03-29", "2026-10-25"),
}


@pytest.mark.parametrize("zone", ZONES)
def test_F206_slots_around_every_change_of_clocks(zone: str) -> None:
    for day in CHANGES[zone]:
        begin, end = at(day) - 2 * 86400, at(day) + 3 * 86400
        for text in TEXTS:
            ours, theirs = listed(text, zone, begin, end), by_cronsim(text, zone, begin, end)
            assert ours == theirs, (zone, text)
            for slot in ours[-3:]:
                assert latest_slot(Cron.parse(text, zone), slot + 1) == slot


@pytest.mark.laws
def test_F206_slots_of_twenty_years(long_run: LongRun) -> None:
    """A seed is one text in one zone in one of twenty years."""
    for seed in long_run.seeds():
        text = TEXTS[seed % 30]
        zone = ZONES[seed // 30 % 6]
        begin = at(f"{2010 + seed // 180 % 20}-01-01")
        ours = listed(text, zone, begin, begin + 366 * 86400)
        assert ours == by_cronsim(text, zone, begin, begin + 366 * 86400)
        long_run.add(slots=len(ours))


def test_F206_the_hole_of_autumn_is_gone() -> None:
    """Naive local times leave out 01:00 to 02:00 UTC in Oslo: two hours without an hourly run."""
    begin, end = at("2026-10-24T22:30"), at("2026-10-25T04:00")
    found = listed("15 * * * *", "Europe/Oslo", begin, end)
    assert [later - one for one, later in itertools.pairwise(found)] == [3600.0] * (len(found) - 1)
    naive, local = set(), datetime(2026, 10, 25, 0, 15, tzinfo=ZoneInfo("Europe/Oslo"))
    for _ in range(5):
        naive.add(local.astimezone(UTC).timestamp())
        local += timedelta(hours=1)  # on the wall, where the hour that comes again is not seen
    assert at("2026-10-25T01:15") in set(found) - naive


def test_the_last_slot_is_found_without_listing_all_before_it() -> None:
    slots = Cron.parse("* * * * *")
    assert latest_slot(slots, at("2026-06-01T00:00:30")) == at("2026-06-01T00:00")
    assert latest_slot(slots, at("2026-06-01T00:00:30"), at("2006-06-01")) == at("2026-06-01T00:00")
    assert latest_slot(slots, 90.0, 60.0) is None
    assert latest_slot(Cron.parse("0 0 29 2 *"), at("2027-06-01")) == at("2024-02-29")
    assert latest_slot(Cron.parse("0 0 31 2 *"), at("2027-06-01")) is None
    assert latest_slot(Every(timedelta(hours=1)), 7300.0) == 7200.0
    assert latest_slot(Every(timedelta(hours=1)), 7300.0, 7200.0) is None


# --- writers' clocks -----------------------------------------------------------------------------------

LOOKS = seen(seen(seen(seen((), "1", 100.0), "1", 110.0), "2", 120.0), "3", 130.0)


@pytest.mark.parametrize(
    ("shown", "committed", "expected"),
    [
        ("1", 115.0, 115.0),  # between the last look at 1 and the first at 2
        ("1", -9e9, 110.0), ("1", 9e9, 120.0), ("1", None, 120.0),
        ("2", 125.0, 125.0), ("2", 0.0, 120.0), ("2", 999.0, 130.0),
        ("3", 500.0, 200.0),  # not seen to have moved: now at most
        ("?", 500.0, 120.0), ("?", 0.0, 105.0),
    ],
)  # fmt: skip
def test_writers_are_believed_between_two_looks(
    shown: str, committed: float | None, expected: float
) -> None:
    assert since(LOOKS, shown, committed=committed, now=200.0, pinned=105.0) == expected


def test_a_writer_whose_clock_is_wrong_is_told_of() -> None:
    assert is_skewed(LOOKS, "1", committed=9e9, now=200.0)
    assert is_skewed(LOOKS, "1", committed=-9e9, now=200.0)
    assert not is_skewed(LOOKS, "1", committed=115.0, now=200.0)
    assert not is_skewed(LOOKS, "1", committed=None, now=200.0)


def test_looks_stay_few_and_never_lie_in_the_future() -> None:
    random, moves, now = Random(1), (), 1e6
    for number in range(500):
        now += random.choice([1.0, 1.0, -86400.0, 3600.0])
        moves = seen(moves, str(number), now)
        assert len(moves) <= 64
        assert all(item.first <= now and item.last <= now for item in moves)
