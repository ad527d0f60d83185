"""Which heads of sources were seen, and who looks next: copies claim a look, so that many look as often as one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from grebe.registry.database import clock, written_by_us
from grebe.registry.journal_tables import polls


@dataclass(frozen=True, slots=True)
class PollRow:
    """A source as some copy saw it last."""

    source: str
    head: str | None = None
    committed_at: float | None = None
    moves: tuple[tuple[str, float, float], ...] = ()
    """Heads with when they were first and last seen, by the registry's clock."""
    absences: int = 0
    """How often it was found to be gone."""
    problem: str | None = None
    claimed_at: float = 0.0


def claim(connection: sa.Connection, intervals: Mapping[str, float]) -> set[str]:
    """The sources that are ours to look at now: nobody looked for as long as is said of each."""
    if not intervals:
        return set()
    known = {
        row.source: (row.claimed_at, row.now)
        for row in connection.execute(
            sa.select(polls.c.source, polls.c.claimed_at, clock().label("now"))
        )
    }
    insert: Any = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    ours: set[str] = set()
    for source, interval in sorted(intervals.items()):
        if source in known and 0 <= known[source][1] - known[source][0] < interval:
            continue
        left = clock() - polls.c.claimed_at
        made = insert(polls).values(source=source, claimed_at=clock(), moves="[]", absences=0)
        taken = connection.execute(
            made.on_conflict_do_update(
                index_elements=["source"],
                set_={"claimed_at": clock()},
                # A claim of the future is one of another clock.
                where=sa.or_(left >= interval, left < 0),
            ).returning(polls.c.source)
        )
        if taken.one_or_none() is not None:
            ours.add(source)
    return ours


def write(connection: sa.Connection, rows: Iterable[PollRow]) -> None:
    """What was seen of sources that were claimed."""
    for row in rows:
        connection.execute(
            sa.update(polls)
            .where(polls.c.source == row.source)
            .values(
                head=row.head,
                committed_at=row.committed_at,
                moves=json.dumps(row.moves),
                absences=row.absences,
                problem=row.problem,
            )
        )


def hint(connection: sa.Connection, source: str) -> None:
    """Make the next look at a source due now."""
    insert: Any = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    made = insert(polls).values(source=source, claimed_at=0.0, moves="[]", absences=0)
    connection.execute(
        made.on_conflict_do_update(index_elements=["source"], set_={"claimed_at": 0.0})
    )


def listed(connection: sa.Connection) -> dict[str, PollRow]:
    """Every source that was looked at."""
    found = {}
    for row in connection.execute(sa.select(polls)):
        with written_by_us(f'looks at "{row.source}"'):
            moves = tuple((str(v), float(a), float(b)) for v, a, b in json.loads(row.moves))
            found[row.source] = PollRow(
                row.source, row.head, row.committed_at, moves, row.absences, row.problem,
                row.claimed_at,
            )  # fmt: skip
    return found


def time(connection: sa.Connection) -> float:
    """The database's time."""
    return float(connection.execute(sa.select(clock())).scalar_one())
