"""What of a batch landed already: positions are cut, ids compared, gaps and other sources told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grebe.errors import HistoryExpiredError, RefreshError, SourceReplacedError
from grebe.streams.landed import (
    Batch,
    Incoming,
    Landed,
    SourceWindow,
    advanced,
    label_of,
    position_text,
    positions_of,
    read_label,
    stored_label,
    unseen,
)


def window(begin: int, end: int, identity: str = "t") -> Batch:
    events = [Incoming(b"{}", f"0:{place}", "0", place) for place in range(begin, end)]
    return Batch(events, SourceWindow(identity, {"0": begin}, {"0": end}))


def labelled(label: str, digest: str) -> Batch:
    return Batch([Incoming(b"{}", f"{label}:0")], label=label, digest=digest)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=12))
def test_overlap_is_cut_and_every_position_lands_once(windows: list[tuple[int, int]]) -> None:
    landed, seen = Landed(), []
    for begin, length in windows:
        begin = min(begin, landed.positions.get("0", begin))
        batch = window(begin, begin + length)
        seen += [batch.events[place].offset for place in unseen(batch, landed)]
        assert batch.window is not None
        landed.identity, landed.positions = "t", advanced(batch.window, landed)
    assert seen == sorted(set(seen))
    assert not seen or seen == list(range(seen[0], seen[-1] + 1))


def test_a_gap_is_told_and_nothing_is_left_out_silently() -> None:
    landed = Landed("t", {"0": 5})
    assert len(unseen(window(3, 9), landed)) == 4
    with pytest.raises(HistoryExpiredError, match="events 5 to 5 of partition 0 are gone"):
        unseen(window(6, 9), landed)


def test_another_source_of_the_same_name_is_told() -> None:
    with pytest.raises(SourceReplacedError):
        unseen(window(0, 3, "other"), Landed("t", {"0": 5}))


def test_a_batch_id_is_known_and_other_events_under_it_are_refused() -> None:
    landed = Landed(labels={"b": "1"})
    assert unseen(labelled("b", "1"), landed) == []
    assert unseen(labelled("c", "1"), landed) == [0]
    with pytest.raises(RefreshError) as raised:
        unseen(labelled("b", "2"), landed)
    assert raised.value.code == "batch-differs"


@given(st.text(), st.integers(0, 3))
def test_labels_come_back_whatever_an_id_holds(batch: str, number: int) -> None:
    label = label_of(batch, number)
    assert len(label) < 210
    assert read_label(stored_label(label, "0a")) == (label, "0a")
    assert number == 0 or label_of(batch) != label
    assert label_of(f"{batch}#1") != label_of(batch, 1)


def test_an_id_of_a_million_signs_is_known_by_its_digest() -> None:
    assert label_of("x" * 1_000_000) != label_of("x" * 999_999)


def test_positions_come_back() -> None:
    assert positions_of(position_text({"1": 2, "0": 7})) == {"0": 7, "1": 2}
