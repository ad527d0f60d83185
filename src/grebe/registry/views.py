"""Views as they were last seen: what can be known without Spark and without the catalog."""

from __future__ import annotations

import json

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from grebe.registry.database import clock
from grebe.registry.leases import as_time
from grebe.registry.records import ViewRecord
from grebe.registry.tables import leases, views


def save(connection: sa.Connection, view: ViewRecord) -> None:
    """The record of a view, in place of an older one."""
    values = {
        "definition": view.definition,
        "policy": view.policy,
        "lag": view.lag,
        "schedule": view.schedule,
        "properties": json.dumps(view.properties),
        "fingerprint": view.fingerprint,
        "storage": view.storage,
        "state": view.state,
        "compiled": view.compiled,
        "updated_at": clock(),
    }
    # One statement: two programs that save the same view at once must not meet between two.
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(views).values(name=view.name, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=values))


def drop(connection: sa.Connection, name: str) -> bool:
    """Forget a view and its lease; its runs stay. False when there was none."""
    connection.execute(sa.delete(leases).where(leases.c.view == name))
    return connection.execute(sa.delete(views).where(views.c.name == name)).rowcount == 1


def listed(connection: sa.Connection) -> list[ViewRecord]:
    """All views, by name."""
    rows = connection.execute(sa.select(views).order_by(views.c.name))
    return [
        ViewRecord(
            name=row.name,
            definition=row.definition,
            policy=row.policy,
            lag=row.lag,
            schedule=row.schedule,
            properties=tuple((key, value) for key, value in json.loads(row.properties)),
            fingerprint=row.fingerprint,
            storage=row.storage,
            state=row.state,
            compiled=row.compiled,
            updated_at=as_time(row.updated_at),
        )
        for row in rows
    ]
