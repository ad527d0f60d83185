"""Heads of sources as copies see them together: who claims a look looks, all others read what it saw."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from grebe.engine.heads import Heads
from grebe.engine.standing import Standing
from grebe.errors import GrebeError
from grebe.model import TableName
from grebe.registry import Registry, polls
from grebe.registry.polls import PollRow
from grebe.scheduler.moves import SeenHead, seen, since
from grebe.scheduler.wishes import Wish
from grebe.view_timing import Trigger

LEAST, MOST = 0.2, 60.0
"""Seconds between two looks at a source."""
SHARE_OF_LAG: Final = 10.0
log = logging.getLogger(__name__)


def intervals(wishes: Iterable[Wish], poll: float) -> dict[str, float]:
    """How often each source is looked at: a tenth of the smallest lag above it, or as `update` views ask."""
    by_name = {wish.name: wish for wish in wishes}
    found: dict[str, float] = {}

    def ask(wish: Wish, wanted: float, path: tuple[str, ...]) -> None:
        for source in wish.sources:
            found[source] = min(found.get(source, MOST), wanted)
        for parent in wish.parents:
            if parent in by_name and parent not in path:
                ask(by_name[parent], wanted, (*path, wish.name))

    for wish in by_name.values():
        wanted = MOST
        if wish.kind is Trigger.UPDATE:
            wanted = poll
        elif wish.lag is not None and wish.kind is Trigger.LAG:
            wanted = min(MOST, max(LEAST, wish.lag / SHARE_OF_LAG))
        ask(wish, wanted, ())
    return found


def look(
    registry: Registry, heads: Heads, names: Mapping[str, TableName], wanted: Mapping[str, float]
) -> dict[str, PollRow]:
    """The sources as they were seen last; those that are ours to look at are read now."""
    with registry.database.writing() as connection:
        ours = polls.claim(connection, wanted)
        known = polls.listed(connection)
        now = polls.time(connection)
    if ours:
        rows = [_seen(known[source], names[source], heads, now) for source in sorted(ours)]
        with registry.database.writing() as connection:
            polls.write(connection, rows)
        known |= {row.source: row for row in rows}
    return known


def _seen(row: PollRow, name: TableName, heads: Heads, now: float) -> PollRow:
    try:
        head = heads.head(name)
    except GrebeError as error:
        return _away(row, f"{name}: {error}")
    except Exception as error:  # what nobody foresaw in one table holds up no other
        log.warning("the head of %s cannot be read: %s", name, error)
        return _away(row, f"{name}: {error}")
    text = f"{head.identity}:{head.version}"
    moves = seen([SeenHead(*item) for item in row.moves], text, now)
    committed = head.committed_at.timestamp() if head.committed_at else None
    pairs = tuple((item.version, item.first, item.last) for item in moves)
    return replace(row, head=text, committed_at=committed, moves=pairs, problem=None)


def _away(row: PollRow, problem: str) -> PollRow:
    """A source that cannot be seen: when it is there again, what failed before may be tried again."""
    if row.problem is None:
        return replace(row, problem=problem, absences=row.absences + 1)
    return replace(row, problem=problem)


def stale_since(
    stand: Standing, seen_heads: Mapping[str, PollRow], now: float, pinned: float | None
) -> float | None:
    """When the first change came that a view does not show itself; None: nobody can tell."""
    times = []
    for item in stand.moved:
        row = seen_heads.get(str(item.source))
        committed = item.since.timestamp() if item.since else None
        moves: tuple[SeenHead, ...] = ()
        shown = None
        if row is not None and row.head is not None:
            moves = tuple(SeenHead(*move) for move in row.moves)
            shown = f"{row.head.rpartition(':')[0]}:{item.window.after}"
        times.append(since(moves, shown, committed=committed, now=now, pinned=pinned))
    return min(times, default=None)
