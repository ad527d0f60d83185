"""Checks: what verify said of a view, and when."""

from __future__ import annotations

import json

import sqlalchemy as sa

from grebe.registry.database import clock, written_by_us
from grebe.registry.journal_tables import checks
from grebe.registry.leases import as_time
from grebe.registry.records import CheckRecord


def note(connection: sa.Connection, check: CheckRecord) -> None:
    """A check that ends now."""
    connection.execute(
        sa.insert(checks).values(
            view=check.view,
            checked_at=clock(),
            equal=check.equal,
            rows=check.rows,
            differing=check.differing,
            sample=check.sample,
            seconds=check.seconds,
            versions=json.dumps(dict(check.versions)),
            trouble=check.trouble,
            error=check.error,
        )
    )


def listed(connection: sa.Connection, view: str | None, limit: int | None) -> list[CheckRecord]:
    """Checks, newest first."""
    statement = sa.select(checks).order_by(checks.c.number.desc()).limit(limit)
    if view is not None:
        statement = statement.where(checks.c.view == view)
    return [_check(row) for row in connection.execute(statement)]


def latest(connection: sa.Connection) -> dict[str, CheckRecord]:
    """The newest check of every view."""
    newest = sa.select(sa.func.max(checks.c.number)).group_by(checks.c.view)
    statement = sa.select(checks).where(checks.c.number.in_(newest))
    return {row.view: _check(row) for row in connection.execute(statement)}


def _check(row: sa.Row[tuple[object, ...]]) -> CheckRecord:
    with written_by_us(f'check of view "{row.view}"'):
        return CheckRecord(
            view=row.view,
            equal=row.equal,
            rows=int(row.rows),
            differing=int(row.differing),
            seconds=float(row.seconds),
            sample=None if row.sample is None else float(row.sample),
            versions=tuple(json.loads(row.versions).items()),
            trouble=row.trouble,
            error=row.error,
            checked_at=as_time(row.checked_at),
        )
