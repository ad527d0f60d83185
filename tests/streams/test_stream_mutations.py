"""What may never be built otherwise: each rule broken on purpose, and a check that notices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grebe.formats.base import Append
from grebe.formats.delta.event_table import DeltaEvents
from grebe.formats.event_tables import DEAD
from grebe.streams import ingest, landed
from grebe.streams.event_memory import EventMemory
from grebe.streams.event_types import BadValueError, stored, type_of
from grebe.streams.ingest import EventWriter
from streams.feeding import batch_of, check, fed, killed_once

Break = Callable[[pytest.MonkeyPatch], None]


def overlap_is_not_cut(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(landed, "_behind", lambda batch, window, known: list(range(len(batch.events))))


def label_is_not_looked_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EventMemory, "landed", _without_labels(EventMemory.landed))


def _without_labels(real: Callable[..., landed.Landed]) -> Callable[..., landed.Landed]:
    def found(*args: Any) -> landed.Landed:
        known = real(*args)
        known.labels.clear()
        return known

    return found


def key_is_not_looked_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EventMemory, "has_key", lambda *_: False)


def dead_letters_are_not_known(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EventMemory, "has_letter", lambda *_: False)


def position_leads_nowhere(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ingest, "advanced", lambda window, known: known.positions or {"0": 0})


def position_leads_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ingest, "advanced", lambda window, known: dict(window.end))


def somebody_else_is_not_looked_for(patch: pytest.MonkeyPatch) -> None:
    """What others stored since is not read."""
    patch.setattr(DeltaEvents, "added", lambda self, after, columns: self.rows(columns).slice(0, 0))


def dead_letters_are_lost(patch: pytest.MonkeyPatch) -> None:
    real = DeltaEvents.commit

    def alive(self: DeltaEvents, writes: Any, frontier: Any, expected: Any) -> Any:
        kept = []
        for write in writes:
            rows = write.rows.arrow
            if isinstance(write, Append):
                write = replace(
                    write, rows=replace(write.rows, arrow=rows.filter(rows[DEAD].is_null()))
                )
            kept.append(write)
        return real(self, kept, frontier, expected)

    patch.setattr(DeltaEvents, "commit", alive)


def rows_and_position_are_two_commits(patch: pytest.MonkeyPatch) -> None:
    real = EventWriter._move

    def two(self: EventWriter, writes: Any, frontier: Any, position: Any) -> Any:
        if not writes or position.frontier is None:
            return real(self, writes, frontier, position)
        before = replace(position.frontier, run_id=f"{frontier.run_id}-rows")
        if real(self, writes, before, position) is None:
            return None
        from grebe.formats.failpoints import reach

        reach("between")
        return real(self, (), frontier, self.table.position())

    patch.setattr(EventWriter, "_move", two)


KINDS: dict[Break, tuple[str, ...]] = {
    overlap_is_not_cut: ("offset",),
    label_is_not_looked_up: ("label",),
    key_is_not_looked_up: ("key",),
    dead_letters_are_not_known: ("key",),
    position_leads_nowhere: ("offset",),
    position_leads_back: ("offset",),
    somebody_else_is_not_looked_for: ("label", "key"),
    dead_letters_are_lost: ("label", "offset", "key"),
}


def history(folder: Path, kind: str) -> None:
    """What every rule above is needed for: two consumers, batches again and out of order."""
    one, other = fed(folder, kind), fed(folder, kind)
    for who, number in [(one, 0), (one, 1), (other, 0), (other, 2), (one, 1), (one, 0), (one, 2)]:
        who.store(batch_of(kind, number))
    fed(folder, kind).store(batch_of(kind, 2))
    check(one.table, range(18))


@pytest.mark.parametrize("kind", ["label", "offset", "key"])
def test_the_history_ends_well_as_it_is(kind: str, tmp_path: Path) -> None:
    history(tmp_path, kind)


@pytest.mark.parametrize(
    ("broken", "kind"),
    [(broken, kind) for broken, kinds in KINDS.items() for kind in kinds],
    ids=lambda item: getattr(item, "__name__", item),
)
def test_what_is_broken_is_noticed(
    broken: Break, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    with pytest.raises(Exception) as raised:
        history(tmp_path, kind)
    assert raised.value is not None


def test_a_position_behind_its_rows_doubles_what_a_kill_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same kill between two commits, as it is and broken: only one commit leaves every event once."""
    fed(tmp_path / "whole", "offset").store(batch_of("offset", 0))
    fed(tmp_path / "broken", "offset").store(batch_of("offset", 0))
    assert killed_once(tmp_path / "whole", "offset", 1, "delta.committed", "") == -9
    again = fed(tmp_path / "whole", "offset")
    again.store(batch_of("offset", 1))
    check(again.table, range(12))
    break_ = "streams.test_stream_mutations:rows_and_position_are_two_commits"
    assert killed_once(tmp_path / "broken", "offset", 1, "between", break_) == -9
    again = fed(tmp_path / "broken", "offset")
    again.store(batch_of("offset", 1))
    with pytest.raises(AssertionError):
        check(again.table, range(12))


def test_bool_is_no_int(monkeypatch: pytest.MonkeyPatch) -> None:
    from grebe.streams import event_types

    with pytest.raises(BadValueError):
        stored(type_of("int", "v"), True, "v")
    monkeypatch.setattr(event_types, "_whole", lambda value, field: int(value))
    assert stored(event_types.type_of("int", "v"), True, "v") == 1  # so it is that rule alone
