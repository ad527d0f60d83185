"""Lags and schedules: text in, times out, with the cases that clocks make hard."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from grebe.errors import DefinitionError
from grebe.schedule import Cron, checked_lag, duration, schedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10 minutes", 600), ("1h", 3600), ("7d", 604800), ("15m", 900), (" 2  Weeks ", 1209600), ("30 s", 30)],
)  # fmt: skip
def test_durations(text: str, seconds: int) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "10", "0 minutes", "-1 hour", "1.5 hours", "1 lightyear", "999999999w"])  # fmt: skip
def test_bad_durations(text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        duration(text)
    assert caught.value.code == "bad-duration"


def test_a_lag_may_be_downstream() -> None:
    assert checked_lag("DOWNSTREAM") == "downstream"


@pytest.mark.parametrize(
    ("text", "now", "then"),
    [
        ("CRON '0 2 * * *'", "2026-01-01T02:00", "2026-01-02T02:00"),
        ("CRON '0 2 * * *'", "2026-01-01T01:59:59", "2026-01-01T02:00"),
        ("CRON '*/15 9-17 * * mon-fri'", "2026-11-13T17:46", "2026-11-16T09:00"),
        ("CRON '0 0 29 2 *'", "2026-01-01T00:00", "2028-02-29T00:00"),
        ("CRON '0 0 1 * sun'", "2026-11-02T00:00", "2026-11-08T00:00"),
        ("CRON '0 0 * * 7'", "2026-11-02T00:00", "2026-11-08T00:00"),
        ("CRON '30 12 * jan,jul 1'", "2026-02-01T00:00", "2026-07-06T12:30"),
        # 02:30 does not exist in Oslo on 2026-03-29: the clocks go on at 03:00, which is 01:00 UTC.
        ("CRON '30 2 29 3 *' AT TIME ZONE 'Europe/Oslo'", "2026-03-28T12:00", "2026-03-29T01:00"),
        ("CRON '30 2 * * *' AT TIME ZONE 'Europe/Oslo'", "2026-03-29T01:00", "2026-03-30T00:30"),
        ("CRON '*/15 * * * *' AT TIME ZONE 'Europe/Oslo'", "2026-03-29T00:50", "2026-03-29T01:00"),
        # 02:30 comes twice in Oslo on 2026-10-25 (00:30 and 01:30 UTC): a fixed time once, a step always.
        ("CRON '30 2 * * *' AT TIME ZONE 'Europe/Oslo'", "2026-10-24T12:00", "2026-10-25T00:30"),
        ("CRON '30 2 * * *' AT TIME ZONE 'Europe/Oslo'", "2026-10-25T00:30", "2026-10-26T01:30"),
        ("CRON '30 2 * * *' AT TIME ZONE 'Europe/Oslo'", "2026-10-25T01:10", "2026-10-26T01:30"),
        ("CRON '*/15 * * * *' AT TIME ZONE 'Europe/Oslo'", "2026-10-25T01:05", "2026-10-25T01:15"),
        ("CRON '0 9 * * mon' AT TIME ZONE 'America/New_York'", "2026-03-07T00:00", "2026-03-09T13:00"),
        ("CRON '0 9 * * mon' AT TIME ZONE 'America/New_York'", "2026-10-31T00:00", "2026-11-02T14:00"),
        ("CRON '0 0 1 1 *' AT TIME ZONE 'Asia/Kathmandu'", "2026-06-01T00:00", "2026-12-31T18:15"),
        # Lord Howe's clocks move by half an hour.
        ("CRON '15 2 * * *' AT TIME ZONE 'Australia/Lord_Howe'", "2026-10-03T12:00", "2026-10-03T15:30"),
        ("CRON '0 2 * * *' AT TIME ZONE 'Europe/Oslo'", "2026-06-30T12:00", "2026-07-01T00:00"),
        ("EVERY 1 HOUR", "2026-01-01T00:10", "2026-01-01T01:00"),
        ("EVERY 1 HOUR", "2026-01-01T01:00", "2026-01-01T02:00"),
    ],
)  # fmt: skip
def test_the_next_time(text: str, now: str, then: str) -> None:
    assert schedule(text).after(at(now)) == at(then)


def test_a_day_that_never_comes() -> None:
    assert Cron.parse("0 0 31 2 *").after(at("2026-01-01T00:00")) is None


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("60 * * * *", "minute"), ("* 24 * * *", "hour"), ("* * 0 * *", "day of month"),
        ("* * * 13 *", "month"), ("* * * * 8", "day of week"), ("*/0 * * * *", "minute"),
        ("5-1 * * * *", "minute"), ("* * * foo *", "month"), ("*-3 * * * *", "minute"),
        ("1,,2 * * * *", "minute"), ("* * * *", "4 fields"), ("", "0 fields"),
        ("0 * * * * *", "6 fields"), (f"{'9' * 5000} * * * *", "minute"),
    ],
)  # fmt: skip
def test_a_bad_cron_text_names_its_field(text: str, field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Cron.parse(text)
    assert field in str(caught.value.detail)


@pytest.mark.parametrize("text", ["CRON '0 0 * * *' AT TIME ZONE 'Mars/Olympus'", "HOURLY", "EVERY", "EVERY now", ""])  # fmt: skip
def test_bad_schedules(text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        schedule(text)
    assert caught.value.hint
