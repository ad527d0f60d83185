"""The statement that is printed for a person: what it keeps, what it needs, until when it holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from grebe.formats.delta.statements import WEEK, expiry

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("past", [timedelta(0), timedelta(minutes=61), timedelta(days=20)])
def test_F268_the_moment_is_kept_whenever_it_is_run_until_then(past: timedelta) -> None:
    before = NOW - past
    way = expiry("t", before, NOW)
    assert way.until is not None
    hours = int(way.statement.split()[-2])
    for run_at in (NOW, way.until):
        assert run_at - timedelta(hours=hours) <= before
    assert way.until - NOW >= timedelta(hours=24)
    assert (way.setting is not None) == (hours < WEEK)
