"""Listeners cannot harm: whatever one does, the others hear everything, and telling takes no time."""

from __future__ import annotations

import logging
import threading

import pytest

from grebe.engine.announcer import Announcer
from grebe.events import Event, Preparing

WAIT = threading.TIMEOUT_MAX / 2
EVENTS = [Preparing(f"thing {number}") for number in range(50)]


def test_every_listener_hears_everything_in_order() -> None:
    one: list[Event] = []
    other: list[Event] = []
    announcer = Announcer([one.append, other.append])
    for event in EVENTS:
        announcer.tell(event)
    assert announcer.settle()
    assert one == other == EVENTS
    assert announcer.dropped == {}
    announcer.close()
    announcer.tell(EVENTS[0])
    assert len(one) == len(EVENTS), "what is told after the end is heard by nobody"


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3), KeyboardInterrupt()])
def test_one_that_raises_is_reported_once_and_left_out(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Event] = []
    asked: list[Event] = []

    def raises(event: Event) -> None:
        asked.append(event)
        raise error

    announcer = Announcer([raises, heard.append])
    with caplog.at_level(logging.WARNING):
        for event in EVENTS:
            announcer.tell(event)
        assert announcer.settle()
        announcer.close()
    assert heard == EVENTS
    assert asked == EVENTS[:1]
    (said,) = [record.getMessage() for record in caplog.records]
    assert "raises" in said
    assert type(error).__name__ in said


def test_one_that_blocks_holds_up_nobody_and_what_it_misses_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on = threading.Event()
    begun = threading.Event()
    heard: list[Event] = []

    def blocks(_: Event) -> None:
        begun.set()
        go_on.wait(60)

    announcer = Announcer([blocks, heard.append], queued=10)
    announcer.tell(EVENTS[0])
    assert begun.wait(10)  # one event is in its hands, ten wait
    for event in EVENTS[1:]:
        announcer.tell(event)
        assert announcer._channels[1].settle(WAIT)
    assert heard == EVENTS
    name = next(iter(announcer.dropped))
    assert announcer.dropped[name] == len(EVENTS) - 11
    with caplog.at_level(logging.WARNING):
        assert announcer.settle(0.0) is False
        announcer.close(0.0)
    assert f"was not told {len(EVENTS) - 1} events" in caplog.text
    go_on.set()


def test_without_events_there_are_no_threads() -> None:
    before = threading.active_count()
    announcer = Announcer([print])
    assert threading.active_count() == before
    announcer.close()
