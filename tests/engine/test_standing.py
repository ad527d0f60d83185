"""Where a view stands: one judgement, over tables in memory; what is remembered and what was compiled agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pyarrow as pa
import pytest

from formats.memory import MemoryTable
from grebe.compiler.reasons import ReasonCode
from grebe.engine import standing
from grebe.engine.pins import point_of
from grebe.engine.standing import Pinned, Reads, SourceUse, Standing, stand
from grebe.model import (
    LAYOUT,
    Column,
    Frontier,
    Position,
    Reason,
    RunId,
    SourcePoint,
    State,
    TableName,
    Version,
)

NAME = TableName("mem", "s", "t")
K, X = Column(1, "k", "bigint"), Column(2, "x", "bigint")
ROWS = pa.table({"k": [1, 2], "x": [10, 20]})
MORE = pa.table({"k": [1, 2, 3], "x": [10, 20, 30]})


@dataclass
class Site:
    """A table, and a view over its column k that was filled from its first rows."""

    table: MemoryTable = field(default_factory=lambda: MemoryTable(NAME, [K, X]))
    compiled: bool = True
    full_only: tuple[Reason, ...] = ()
    position: Position | None = None

    def fill(self) -> Site:
        """Write rows, and let the view show them."""
        self.table.write(ROWS)
        point = replace(point_of(Pinned(self.table, self.table.head())), columns=(K,))
        self.position = shows(point)
        return self

    def stand(self, pin: Pinned | None = None) -> Standing:
        use = SourceUse(NAME, (K.id,), (K,) if self.compiled else None)
        found = pin or Pinned(self.table, self.table.head())
        return stand(Reads("f", (use,), self.full_only), self.position, lambda _: found)


def shows(point: SourcePoint, *, layout: int = LAYOUT) -> Position:
    frontier = Frontier(((str(NAME), point),), "f", RunId("r"), "1", layout)
    return Position(frontier, Version("1"), Version("1"))


@pytest.fixture(params=[True, False], ids=["compiled", "remembered"])
def site(request: pytest.FixtureRequest) -> Site:
    return Site(compiled=request.param).fill()


def codes(found: Standing) -> list[str]:
    return [reason.code for reason in found.reasons]


def test_a_view_without_rows_was_never_refreshed(site: Site) -> None:
    for position in (None, Position(None, None)):
        site.position = position
        assert site.stand().state is State.NEVER_REFRESHED


def test_a_view_is_idle_until_a_row_changes(site: Site) -> None:
    assert site.stand().is_idle
    site.table.write(MORE)
    found = site.stand()
    assert (found.state, codes(found), found.is_idle) == (State.STALE, ["source-moved"], False)
    assert found.windows == tuple((item.source, item.window) for item in found.moved)
    assert found.stale_since == site.table.head().committed_at
    assert found.moved[0].stats is not None
    assert found.moved[0].stats.rows_added == 1


def test_maintenance_moves_only_the_frontier_and_only_in_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.table.write(ROWS, maintenance=True)
    assert site.stand().is_idle
    monkeypatch.setattr(standing, "HALF_RETENTION", timedelta(0))
    found = site.stand()
    assert (found.state, found.frontier_lags, found.is_idle) == (State.FRESH, True, False)


def test_a_table_of_the_same_name_is_another_one(site: Site) -> None:
    site.table = MemoryTable(NAME, [K, X])
    found = site.stand()
    assert (found.state, codes(found), found.moved) == (State.STALE, ["source-replaced"], ())
    assert found.broken


@pytest.mark.parametrize(
    "columns",
    [[Column(3, "k", "bigint"), X], [Column(1, "k", "string"), X], [Column(1, "kk", "bigint"), X]],
    ids=["another", "retyped", "renamed"],
)
def test_other_columns_under_the_names_that_are_read_break_the_view(
    columns: list[Column],
) -> None:
    site = Site(compiled=False).fill()
    rows = pa.table({column.name: pa.array([], pa.int64()) for column in columns})
    site.table.write(rows, columns=columns)
    found = site.stand()
    assert (found.state, codes(found)) == (State.STALE, ["schema-changed"])
    assert found.broken


def test_columns_that_are_not_read_do_not_count(site: Site) -> None:
    other = pa.table({"k": [1, 2], "y": [1, 2]})
    site.table.write(other, columns=[K, Column(3, "y", "bigint")])
    assert site.stand().state is State.FRESH


def test_a_window_that_is_gone_cannot_be_followed_but_is_one(site: Site) -> None:
    assert site.position is not None
    assert site.position.frontier is not None
    shown = site.position.frontier.by_source[str(NAME)].version
    site.table.write(MORE)
    site.table.expire(shown)
    found = site.stand()
    assert codes(found) == ["history-expired", "source-moved"]
    assert [reason.code for reason in found.broken] == ["history-expired"]
    site.full_only = (Reason("some", "it cannot"),)  # which is not read by windows
    found = site.stand()
    assert (codes(found), found.broken) == (["source-moved"], ())


def test_a_view_of_the_clock_is_fresh_and_never_idle(site: Site) -> None:
    site.full_only = (Reason(ReasonCode.TIME_FUNCTION, "it says now"),)
    found = site.stand()
    assert (found.state, found.is_idle) == (State.FRESH, False)


def test_a_parent_that_moved_without_a_row_did_not_move(site: Site) -> None:
    assert site.position is not None
    assert site.position.frontier is not None
    shown = site.position.frontier.by_source[str(NAME)].version
    site.table.write(MORE)
    assert site.stand(Pinned(site.table, site.table.head(), rows=shown)).is_idle


DOUBTS: dict[str, Callable[[Position], Position]] = {
    "foreign-write": lambda position: replace(position, foreign=("version 9",)),
    "frontier-unproven": lambda position: replace(position, unproven="nobody knows"),
    "layout-older": lambda position: _with_layout(position, LAYOUT - 1),
    "layout-newer": lambda position: _with_layout(position, LAYOUT + 1),
}


def _with_layout(position: Position, layout: int) -> Position:
    assert position.frontier is not None
    return replace(position, frontier=replace(position.frontier, state_layout=layout))


@pytest.mark.parametrize("code", DOUBTS)
def test_rows_that_cannot_be_trusted_are_not_built_upon(site: Site, code: str) -> None:
    assert site.position is not None
    site.position = DOUBTS[code](site.position)
    found = site.stand()
    assert (found.state, codes(found)) == (State.STALE, [code])
    assert found.distrust == found.reasons


def test_rows_of_another_definition_are_invalid(site: Site) -> None:
    assert site.position is not None
    assert site.position.frontier is not None
    other = replace(site.position.frontier, fingerprint="g")
    site.position = replace(site.position, frontier=other)
    assert (site.stand().state, codes(site.stand())) == (State.INVALID, ["definition-changed"])
