"""A clock that stands still touches times alone: a text that says "now" is a text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from grebe.compiler.text.clock import stopped

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name = 'now' AS n FROM t",
        "SELECT 'today' AS label, concat('(', 'now', ')') AS c FROM t",
        "SELECT CAST('now' AS STRING) AS s, 'now'::STRING AS u FROM t",
        "SELECT `now`, t.now FROM t",
    ],
)
def test_texts_stay(text: str) -> None:
    assert stopped(text, MOMENT) == text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("TIMESTAMP 'now'", "TIMESTAMP '2026-01-02 03:04:05.000000'"),
        ("CAST('tomorrow' AS DATE)", "CAST('2026-01-03 00:00:00' AS DATE)"),
        ("'yesterday'::TIMESTAMP", "'2026-01-01 00:00:00'::TIMESTAMP"),
    ],
)
def test_times_stand_still(text: str, wanted: str) -> None:
    assert stopped(f"SELECT {text} AS t", MOMENT) == f"SELECT {wanted} AS t"
