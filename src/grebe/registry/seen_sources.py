"""Versions of sources: each written down once, when somebody first saw it."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from grebe.registry.database import clock, written_by_us
from grebe.registry.journal_tables import sources
from grebe.registry.leases import as_time
from grebe.registry.records import SourceRecord


def see(connection: sa.Connection, seen: Iterable[SourceRecord]) -> None:
    """Versions that are seen now; what was seen before, here or by somebody else, stays."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    for item in sorted(seen, key=lambda item: (item.source, item.identity, item.version)):
        connection.execute(
            dialect.insert(sources)
            .values(
                source=item.source,
                identity=item.identity,
                version=item.version,
                committed_at=item.committed_at.timestamp() if item.committed_at else None,
                seen_at=clock(),
            )
            .on_conflict_do_nothing()
        )


def listed(connection: sa.Connection, source: str | None, limit: int | None) -> list[SourceRecord]:
    """Versions that were seen, newest first."""
    statement = sa.select(sources).order_by(sources.c.number.desc()).limit(limit)
    if source is not None:
        statement = statement.where(sources.c.source == source)
    return [_source(row) for row in connection.execute(statement)]


def _source(row: sa.Row[tuple[object, ...]]) -> SourceRecord:
    with written_by_us(f'source "{row.source}"'):
        return SourceRecord(
            source=row.source,
            identity=row.identity,
            version=row.version,
            committed_at=None if row.committed_at is None else as_time(row.committed_at),
            seen_at=as_time(row.seen_at),
        )
