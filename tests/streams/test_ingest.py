"""Every event once: whatever is sent again, by whomever, and whoever is killed meanwhile."""

from __future__ import annotations

import multiprocessing
import random
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence import LongRun
from grebe.errors import GrebeError, HistoryExpiredError, RefreshError, SourceReplacedError
from grebe.formats.delta.commit import PLACES as COMMIT_PLACES
from grebe.formats.failpoints import VARIABLE
from grebe.streams.feed import feed_events
from grebe.streams.ingest import PLACES, EventWriter
from grebe.streams.landed import Batch, SourceWindow
from grebe.streams.totals import Ingested
from streams.feeding import (
    KINDS,
    batch_of,
    check,
    consume_killed,
    definition,
    dying,
    fed,
    labelled,
    plain,
    stored,
    text,
    wanted,
    window,
    writer,
)

SPAWN = multiprocessing.get_context("spawn")


def adds_up(done: Ingested) -> None:
    assert done.received == done.events + done.filtered + done.dead + done.duplicates
    assert done.rows == done.events


# --- once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_F235_the_same_batch_twice_is_stored_once(kind: str, tmp_path: Path) -> None:
    one = fed(tmp_path, kind)
    first = one.store(batch_of(kind, 0))
    adds_up(first)
    assert (first.received, first.rows, first.dead, first.exactly_once) == (6, 5, 1, True)
    for again in (one, fed(tmp_path, kind)):
        done = again.store(batch_of(kind, 0))
        adds_up(done)
        assert (done.rows, done.dead, done.received) == (0, 0, 6)
    check(one.table, range(6))


def test_F235_what_nothing_names_is_stored_at_least_once_and_said_so(tmp_path: Path) -> None:
    one = writer(tmp_path)
    assert not one.store(plain(range(3))).exactly_once
    one.store(plain(range(3)))
    assert set(stored(one.table).values()) == {2}


def test_F235_nothing_is_stored_of_an_empty_batch(tmp_path: Path) -> None:
    one = writer(tmp_path)
    before = one.position().version
    assert feed_events(one, [], batch="b").received == 0
    assert one.position().version == before


def test_rows_dead_letters_and_position_are_one_commit(tmp_path: Path) -> None:
    one = writer(tmp_path)
    before = int(one.position().version or -1)
    one.store(window(0, 10))
    position = one.position()
    assert int(position.version or -1) == before + 1
    assert position.frontier is not None
    assert position.frontier.sources[0][1].version == '{"0":10}'
    assert dict(position.frontier.values)["events.received"] == "10"


def test_a_batch_id_with_other_events_is_refused(tmp_path: Path) -> None:
    one = writer(tmp_path)
    one.store(labelled("b", range(3)))
    before = one.position().version
    with pytest.raises(RefreshError) as raised:
        one.store(labelled("b", range(4)))
    assert raised.value.code == "batch-differs"
    assert one.position().version == before


def test_a_batch_of_which_nothing_counts_is_known_all_the_same(tmp_path: Path) -> None:
    one = writer(tmp_path)
    assert one.store(labelled("b", [6, 13])).filtered == 2
    other = writer(tmp_path)
    done = other.store(labelled("b", [6, 13]))
    assert (done.duplicates, done.filtered) == (2, 0)
    assert dying(one.table) == {}


def test_an_id_of_a_million_signs_is_one(tmp_path: Path) -> None:
    one = writer(tmp_path)
    for _ in range(2):
        one.store(labelled("x" * 1_000_000, range(3)))
    check(one.table, range(3))


def test_a_generator_that_raises_in_the_middle_leaves_whole_slices(tmp_path: Path) -> None:
    one = writer(tmp_path)

    def endless() -> object:
        for number in range(25):
            yield text(number)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        feed_events(one, endless(), batch="b", size=10)
    check(one.table, range(20))
    done = feed_events(one, [text(number) for number in range(25)], batch="b", size=10)
    adds_up(done)
    assert done.duplicates == 20
    check(one.table, range(25))


def test_F235_stopped_at_the_first_error_nothing_of_its_slice_is_stored(tmp_path: Path) -> None:
    one = writer(tmp_path)
    events = [text(number) for number in (0, 1, 2, 3, 5, 4)]
    with pytest.raises(RefreshError) as raised:
        feed_events(one, events, batch="b", on_error="stop", size=3)
    assert raised.value.code == "event-failed"
    check(one.table, [0, 1, 2])


def test_a_gap_and_another_source_are_told(tmp_path: Path) -> None:
    one = writer(tmp_path)
    one.store(window(0, 5))
    with pytest.raises(HistoryExpiredError):
        one.store(window(6, 9))
    other = Batch((), SourceWindow("other", {"0": 0}, {"0": 1}))
    with pytest.raises(SourceReplacedError):
        one.store(other)
    check(one.table, range(5))
    one.begin(other)  # adopted
    assert one.store(Batch((), SourceWindow("other", {"0": 1}, {"0": 2}))).received == 0


def test_partitions_have_positions_of_their_own_and_new_ones_join(tmp_path: Path) -> None:
    one = writer(tmp_path)
    one.store(window(0, 4, "0"))
    one.store(window(10, 14, "1"))
    one.store(window(2, 6, "0"))
    check(one.table, [*range(6), *range(10, 14)])


def test_what_is_older_than_the_window_is_not_known(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    said = definition(key="id", refresh={"keyWindow": "1 hour", "dedupe": "2 hours"})
    one = writer(tmp_path, said, clock=lambda: now - timedelta(minutes=90))
    one.store(plain([0]))
    one.store(labelled("b", [1]))
    later = writer(tmp_path, said)
    assert later.store(plain([0])).rows == 1
    assert later.store(labelled("b", [1])).duplicates == 1


def test_most_events_dead_is_the_definition_and_they_wait(tmp_path: Path) -> None:
    one = writer(tmp_path)
    dead = [4 + 5 * 7 * number for number in range(1000)]
    batch = window(0, 1000)
    bad = Batch(
        [type(item)(text(n), *(item.position, item.partition, item.offset)) for item, n in zip(batch.events, dead, strict=True)],
        batch.window,
    )  # fmt: skip
    with pytest.raises(RefreshError) as raised:
        one.store(bad, doubtful=True)
    assert raised.value.code == "mostly-dead"
    assert dying(one.table) == {}
    one.store(window(0, 1000), doubtful=True)
    check(one.table, range(1000))


# --- whoever else is at it ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_two_consumers_at_once(kind: str, tmp_path: Path) -> None:
    both = [fed(tmp_path, kind), fed(tmp_path, kind)]
    errors: list[Exception] = []

    def consume(one: EventWriter) -> None:
        try:
            for number in range(8):
                adds_up(one.store(batch_of(kind, number)))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=consume, args=[one]) for one in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    check(both[0].table, range(48))


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["send", "restart", "compact", "other"]), st.integers(0, 5), st.integers(0, 1)),
    min_size=1,
    max_size=10,
)  # fmt: skip


def live_through(folder: Path, kind: str, steps: Sequence[Step]) -> None:
    """A history: batches in any order and as often as one likes, restarts, a second consumer, upkeep."""
    consumers = [fed(folder, kind), fed(folder, kind)]
    seen: set[int] = set()
    reached = 0
    for what, number, who in steps:
        one = consumers[who]
        if what == "restart":
            consumers[who] = fed(folder, kind)
        elif what == "compact":
            one.table.compact()
        else:
            if kind == "offset":
                number = min(number, reached)  # a source has no gaps
                reached = max(reached, number + 1)
            adds_up(one.store(batch_of(kind, number)))
            seen |= set(range(number * 6, number * 6 + 6))
    check(consumers[0].table, sorted(seen))


@settings(max_examples=20)
@given(kind=st.sampled_from(KINDS), steps=STEPS)
def test_whatever_is_sent_again_is_stored_once(
    kind: str, steps: list[Step], tmp_path_factory: pytest.TempPathFactory
) -> None:
    live_through(tmp_path_factory.mktemp("history"), kind, steps)


@pytest.mark.laws
def test_long_histories_end_in_the_set_of_events(long_run: LongRun, tmp_path: Path) -> None:
    for seed in long_run.seeds():
        drawn = random.Random(seed)
        kind = drawn.choice(KINDS)
        words = ["send", "send", "send", "restart", "compact", "other"]
        steps = [
            (drawn.choice(words), drawn.randrange(12), drawn.randrange(2))
            for _ in range(drawn.randrange(5, 40))
        ]
        live_through(tmp_path / str(seed), kind, steps)
        long_run.add(histories=1, steps=len(steps))


# --- whoever is killed ----------------------------------------------------------------------------


def killed(folder: Path, kind: str, number: int, place: str) -> int | None:
    process = SPAWN.Process(target=consume_killed, args=(str(folder), kind, number, place))
    process.start()
    process.join(120)
    return process.exitcode


EVERY_PLACE = [*PLACES, *(place for place in COMMIT_PLACES if place != "delta.checkpointed")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_between_any_two_steps_loses_and_doubles_nothing(kind: str, tmp_path: Path) -> None:
    one = fed(tmp_path, kind)
    one.store(batch_of(kind, 0))
    for number, place in enumerate(EVERY_PLACE, 1):
        assert killed(tmp_path, kind, number, place) == -9, place
        rows, _ = wanted(range(number * 6))
        assert rows <= stored(one.table), place
        adds_up(one.store(batch_of(kind, number)))  # whoever sent it heard nothing, and sends again
        check(one.table, range((number + 1) * 6))


@pytest.mark.crash
def test_kills_at_random_leave_every_identity_stored_once(
    long_run: LongRun, tmp_path: Path
) -> None:
    for seed in long_run.seeds():
        drawn = random.Random(seed)
        kind, place = drawn.choice(KINDS), drawn.choice(EVERY_PLACE)
        folder = tmp_path / str(seed)
        one = fed(folder, kind)
        for number in range(drawn.randrange(1, 4)):
            one.store(batch_of(kind, number))
        number += drawn.choice([0, 1, 1])
        killed(folder, kind, number, place)
        adds_up(fed(folder, kind).store(batch_of(kind, number)))
        check(one.table, range((number + 1) * 6))
        long_run.add(kills=1)


def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = writer(tmp_path)
    monkeypatch.setenv(VARIABLE, "delta.commit.reply=raise:once")
    assert one.store(labelled("b", range(4))).rows == 4
    monkeypatch.setenv(VARIABLE, "delta.outcome=raise:once")
    assert one.store(labelled("c", range(10, 13))).rows == 3
    check(one.table, [*range(4), *range(10, 13)])


def test_rows_of_somebody_else_are_not_built_upon(tmp_path: Path) -> None:
    from deltalake import DeltaTable, write_deltalake

    one = writer(tmp_path)
    one.store(labelled("b", range(3)))
    folder = str(tmp_path / "s" / "__grebe_V_01234567")
    write_deltalake(folder, DeltaTable(folder).to_pyarrow_table().slice(0, 1), mode="append")
    with pytest.raises(GrebeError) as raised:
        one.store(labelled("c", range(3, 5)))
    assert raised.value.code == "foreign-write"


def test_a_batch_costs_no_listing_of_the_log_and_one_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither ours nor that of delta-rs: the thousandth batch costs what the second does."""
    import deltalake

    from grebe.formats.files import DriverFiles

    one = writer(tmp_path)
    one.store(labelled("a", range(3)))
    counted: list[str] = []
    listed, opened = DriverFiles.listed, deltalake.DeltaTable.__init__
    monkeypatch.setattr(
        DriverFiles, "listed", lambda self, folder: counted.append(folder) or listed(self, folder)
    )
    monkeypatch.setattr(
        deltalake.DeltaTable,
        "__init__",
        lambda self, *args, **more: counted.append("delta-rs") or opened(self, *args, **more),
    )
    before = int(one.position().version or 0)
    for number in range(5):
        one.store(labelled(f"b{number}", range(3)))
    assert counted == []
    assert int(one.position().version or 0) == before + 5
