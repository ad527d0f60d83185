"""The right to write a view: one statement each, so that two programs cannot both have it.

A lease saves work; the commit of the storage table is what keeps views right.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from grebe.registry.database import clock
from grebe.registry.journal_tables import leases
from grebe.registry.records import Lease


def acquire(connection: sa.Connection, view: str, owner: str, seconds: float) -> Lease | None:
    """A new lease, unless somebody holds one that has not expired."""
    insert: Any = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    statement = insert(leases).values(
        view=view, owner=owner, number=1, expires_at=clock() + seconds
    )
    taken = connection.execute(
        statement.on_conflict_do_update(
            index_elements=[leases.c.view],
            set_={
                "owner": owner,
                "number": leases.c.number + 1,
                "expires_at": clock() + seconds,
            },
            # Subtracted: for SQLite a text, which only a person can have written, is later than any time.
            where=leases.c.expires_at - clock() <= 0,
        ).returning(leases.c.number, leases.c.expires_at)
    ).one_or_none()
    if taken is None:
        return None
    return Lease(view, owner, taken.number, seconds, as_time(taken.expires_at))


def renew(connection: sa.Connection, lease: Lease) -> Lease | None:
    """The lease with its whole time again, or None when somebody else has taken it over."""
    statement = (
        sa.update(leases)
        .where(_is(lease))
        .values(expires_at=clock() + lease.seconds)
        .returning(leases.c.expires_at)
    )
    expires = connection.execute(statement).scalar_one_or_none()
    if expires is None:
        return None
    return Lease(lease.view, lease.owner, lease.number, lease.seconds, as_time(expires))


def release(connection: sa.Connection, lease: Lease) -> bool:
    """End a lease; False when it was somebody else's by then, which changes nothing for him."""
    # The row stays: the next holder's number must be a higher one.
    done = connection.execute(sa.update(leases).where(_is(lease)).values(owner="", expires_at=0.0))
    return done.rowcount == 1


def held(connection: sa.Connection) -> list[Lease]:
    """All leases that are held now."""
    left = leases.c.expires_at - clock()
    rows = connection.execute(sa.select(leases, left.label("left")).where(left > 0))
    return [
        Lease(row.view, row.owner, row.number, row.left, as_time(row.expires_at)) for row in rows
    ]


def free_all(connection: sa.Connection) -> None:
    """End every lease, whoever holds it."""
    connection.execute(sa.update(leases).values(owner="", expires_at=0.0))


def holder(connection: sa.Connection, view: str) -> Lease | None:
    """The lease that is held now, if any; ``seconds`` is what is left of it."""
    left = leases.c.expires_at - clock()
    statement = sa.select(leases, left.label("left")).where(leases.c.view == view, left > 0)
    row = connection.execute(statement).one_or_none()
    if row is None:
        return None
    return Lease(row.view, row.owner, row.number, row.left, as_time(row.expires_at))


def as_time(seconds: float) -> datetime:
    """A moment by the database's clock."""
    return datetime.fromtimestamp(seconds, UTC)


def _is(lease: Lease) -> sa.ColumnElement[bool]:
    return sa.and_(
        leases.c.view == lease.view,
        leases.c.owner == lease.owner,
        leases.c.number == lease.number,
    )
