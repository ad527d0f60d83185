"""Views as they were last seen: what can be known without Spark and without the catalog."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from grebe.model import Policy
from grebe.registry.database import clock, written_by_us
from grebe.registry.journal_tables import leases, views
from grebe.registry.leases import as_time
from grebe.registry.records import ViewRecord


def save(connection: sa.Connection, view: ViewRecord) -> None:
    """The record of a view, in place of an older one."""
    values = _values(view)
    # One statement: two programs that save the same view at once must not meet between two.
    statement = _insert(connection).values(name=view.name, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=values))


def change(connection: sa.Connection, view: ViewRecord, seen: ViewRecord | None) -> bool:
    """The record of a view, if what people say of it is still what was seen; None: no such view.

    False: it was changed, dropped or made meanwhile, and nothing was written.
    """
    if seen is None:
        statement = _insert(connection).values(name=view.name, **_values(view))
        made = statement.on_conflict_do_nothing(index_elements=["name"]).returning(views.c.name)
        return connection.execute(made).one_or_none() is not None
    said = (
        views.c.definition == seen.definition,
        views.c.policy == seen.policy,
        views.c.lag.is_not_distinct_from(seen.lag),
        views.c.schedule.is_not_distinct_from(seen.schedule),
        views.c.timing.is_not_distinct_from(_timing_text(seen)),
        views.c.properties == json.dumps(seen.properties),
    )
    statement = sa.update(views).where(views.c.name == view.name, *said).values(_values(view))
    return connection.execute(statement).rowcount == 1


def _insert(connection: sa.Connection) -> Any:  # noqa: ANN401  one of two dialects' own types
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(views)


def _values(view: ViewRecord) -> dict[str, Any]:
    return {
        "definition": view.definition,
        "policy": view.policy,
        "lag": view.lag,
        "schedule": view.schedule,
        "timing": _timing_text(view),
        "properties": json.dumps(view.properties),
        "fingerprint": view.fingerprint,
        "storage": view.storage,
        "state": view.state,
        "compiled": view.compiled,
        "updated_at": clock(),
    }


def drop(connection: sa.Connection, name: str) -> bool:
    """Forget a view and its lease; its runs stay. False when there was none."""
    connection.execute(sa.delete(leases).where(leases.c.view == name))
    return connection.execute(sa.delete(views).where(views.c.name == name)).rowcount == 1


def listed(connection: sa.Connection, name: str | None = None) -> list[ViewRecord]:
    """All views, by name, or the one of a name."""
    wanted = sa.true() if name is None else views.c.name == name
    rows = connection.execute(sa.select(views).where(wanted).order_by(views.c.name))
    return [_record(row) for row in rows]


def _record(row: sa.Row[tuple[object, ...]]) -> ViewRecord:
    with written_by_us(f'view "{row.name}"'):
        return ViewRecord(
            name=row.name,
            definition=row.definition,
            policy=Policy(row.policy),
            lag=row.lag,
            schedule=row.schedule,
            timing=None if row.timing is None else _pairs(row.timing),
            properties=_pairs(row.properties),
            fingerprint=row.fingerprint,
            storage=row.storage,
            state=row.state,
            compiled=row.compiled,
            updated_at=as_time(row.updated_at),
        )


def _timing_text(view: ViewRecord) -> str | None:
    return None if view.timing is None else json.dumps(view.timing)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    found = tuple((key, value) for key, value in json.loads(text))
    if not all(isinstance(item, str) for pair in found for item in pair):
        raise ValueError("properties are pairs of texts")
    return found
