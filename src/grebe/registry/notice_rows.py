"""Notices that wait to be sent: written once for each edge and sink, tried again for a day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from grebe.registry.database import clock
from grebe.registry.journal_tables import notices

KEPT_SECONDS = 86400.0
"""How long a notice is tried, and then remembered."""
CLAIM = 60.0
"""Seconds for one attempt to be made, before another copy may make one."""


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A message about an edge, for one sink."""

    view: str
    kind: str
    since: float
    sink: str
    body: str
    number: int = 0
    attempts: int = 0


def write(connection: sa.Connection, row: NoticeRow) -> bool:
    """Keep a notice to be sent; False when it was kept already."""
    insert: Any = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    made = insert(notices).values(
        view=row.view, kind=row.kind, since=row.since, sink=row.sink, body=row.body,
        made_at=clock(), attempts=0, next_at=clock(),
    )  # fmt: skip
    once = made.on_conflict_do_nothing(index_elements=["view", "kind", "since", "sink"])
    return connection.execute(once.returning(notices.c.number)).one_or_none() is not None


def claim(connection: sa.Connection, sinks: list[str], most: int = 20) -> list[NoticeRow]:
    """Notices that are ours to send now."""
    waits = sa.or_(notices.c.next_at <= clock(), notices.c.next_at - clock() > 2 * KEPT_SECONDS)
    young = clock() - notices.c.made_at < KEPT_SECONDS
    wanted = (notices.c.sent_at.is_(None), waits, young, notices.c.sink.in_(sinks))
    rows = connection.execute(
        sa.select(notices).where(*wanted).order_by(notices.c.number).limit(most)
    ).all()
    ours = []
    for row in rows:
        mine = (notices.c.number == row.number, notices.c.attempts == row.attempts)
        taken = connection.execute(
            sa.update(notices)
            .where(*mine)
            .values(attempts=row.attempts + 1, next_at=clock() + CLAIM)
        )
        if taken.rowcount == 1:
            ours.append(
                NoticeRow(
                    row.view, row.kind, row.since, row.sink, row.body, row.number, row.attempts + 1
                )
            )
    return ours


def sent(connection: sa.Connection, number: int) -> None:
    """A notice arrived."""
    connection.execute(sa.update(notices).where(notices.c.number == number).values(sent_at=clock()))


def failed(connection: sa.Connection, number: int, wait: float) -> None:
    """A notice did not arrive, and is tried again."""
    connection.execute(
        sa.update(notices).where(notices.c.number == number).values(next_at=clock() + wait)
    )


def forget_old(connection: sa.Connection) -> None:
    """Remove what is older than anybody asks for."""
    connection.execute(sa.delete(notices).where(clock() - notices.c.made_at > 7 * KEPT_SECONDS))
