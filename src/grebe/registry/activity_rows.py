"""What the scheduler keeps of views: claims and slots by compare-and-set, failures, suspensions. One statement each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from grebe.registry.database import clock, written_by_us
from grebe.registry.journal_tables import activity, runs

CLAIM_SECONDS = 60.0
"""How long a claim lasts without being renewed: what a killed copy costs the others."""


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """What is kept of one view."""

    view: str
    claim: str | None = None
    """The copy that refreshes it, or is about to."""
    claim_until: float | None = None
    last_slot: float | None = None
    failures: int = 0
    tries: int = 0
    retry_at: float | None = None
    failed_inputs: str | None = None
    alone: bool = False
    suspended: str | None = None
    wanted: bool = False
    checked_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    durations: tuple[float, ...] = ()
    no_ops: int = 0
    """Runs that found nothing to do, of which no more is kept."""
    edges: tuple[tuple[str, float], ...] = ()
    """What people were told of, and since when it is so: late, failing."""


_FRESH: dict[str, Any] = {
    "failures": 0, "tries": 0, "alone": False, "wanted": False, "durations": "[]", "no_ops": 0,
    "edges": "[]",
}  # fmt: skip


def _insert(connection: sa.Connection) -> Any:  # noqa: ANN401  one of two dialects' own types
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(activity)


def know(connection: sa.Connection, views: Iterable[str]) -> None:
    """Make rows for views that have none."""
    for view in sorted(views):
        made = _insert(connection).values(view=view, **_FRESH, checked_at=clock())
        connection.execute(made.on_conflict_do_nothing(index_elements=["view"]))


def listed(connection: sa.Connection) -> tuple[float, dict[str, ActivityRow]]:
    """The database's time, and what is kept of every view."""
    now = connection.execute(sa.select(clock())).scalar_one()
    found = {}
    for row in connection.execute(sa.select(activity)):
        with written_by_us(f'the activity of "{row.view}"'):
            values = dict(row._mapping)
            values["durations"] = tuple(float(item) for item in json.loads(row.durations))
            values["edges"] = tuple((str(k), float(v)) for k, v in json.loads(row.edges))
            values["alone"], values["wanted"] = bool(row.alone), bool(row.wanted)
            found[row.view] = ActivityRow(**values)
    return float(now), found


def claim(
    connection: sa.Connection, view: str, owner: str, slot: float | None, seen: ActivityRow
) -> bool:
    """Take a view, and the slot that its run serves; False when somebody else has either, or ran it since."""
    left = activity.c.claim_until - clock()
    free = sa.or_(activity.c.claim_until.is_(None), left <= 0, left > 2 * CLAIM_SECONDS)
    conditions = [
        activity.c.view == view,
        free,
        activity.c.ended_at.is_not_distinct_from(seen.ended_at),
        activity.c.suspended.is_(None),
    ]
    values: dict[str, Any] = {
        "claim": owner, "claim_until": clock() + CLAIM_SECONDS, "started_at": clock(), "wanted": False,
    }  # fmt: skip
    if slot is not None:
        last = activity.c.last_slot
        conditions.append(sa.or_(last.is_(None), last < slot, last > clock()))
        values["last_slot"] = slot
    done = connection.execute(sa.update(activity).where(*conditions).values(**values))
    return done.rowcount == 1


def renew(connection: sa.Connection, views: Iterable[str], owner: str) -> None:
    """Keep claims for their whole time again."""
    names = list(views)
    if names:
        connection.execute(
            sa.update(activity)
            .where(activity.c.view.in_(names), activity.c.claim == owner)
            .values(claim_until=clock() + CLAIM_SECONDS)
        )


def release(connection: sa.Connection, view: str, owner: str) -> None:
    """Give a claim back, whatever became of the run."""
    connection.execute(
        sa.update(activity)
        .where(activity.c.view == view, activity.c.claim == owner)
        .values(claim=None, claim_until=None)
    )


def finish(connection: sa.Connection, row: ActivityRow, owner: str | None) -> bool:
    """Write down what is known of a view after its run; False when the claim was somebody else's by then.

    What a person said meanwhile, that it is suspended or wanted, stays.
    """
    values: dict[str, Any] = {
        "claim": None,
        "claim_until": None,
        "failures": row.failures,
        "tries": row.tries,
        "retry_at": row.retry_at,
        "failed_inputs": row.failed_inputs,
        "alone": row.alone,
        "ended_at": clock(),
        "durations": json.dumps(row.durations),
        "no_ops": row.no_ops,
        "checked_at": row.checked_at,
    }
    if row.suspended is not None:
        values["suspended"] = sa.func.coalesce(activity.c.suspended, row.suspended)
    where = [activity.c.view == row.view, activity.c.claim == owner]
    return connection.execute(sa.update(activity).where(*where).values(**values)).rowcount == 1


def suspend(connection: sa.Connection, view: str, reason: str) -> None:
    """Let no run of a view begin any more."""
    know(connection, [view])
    connection.execute(sa.update(activity).where(activity.c.view == view).values(suspended=reason))


def resume(connection: sa.Connection, view: str) -> bool:
    """Let a view run again: what failed is forgotten, and it is due. False when it was not stopped."""
    know(connection, [view])
    was = connection.execute(
        sa.select(activity.c.suspended).where(activity.c.view == view)
    ).scalar_one()
    connection.execute(
        sa.update(activity)
        .where(activity.c.view == view)
        .values(
            suspended=None, failures=0, tries=0, retry_at=None, failed_inputs=None, alone=False,
            wanted=True,
        )
    )  # fmt: skip
    return was is not None


def want(connection: sa.Connection, view: str) -> None:
    """Make a view due, because a person asked."""
    know(connection, [view])
    connection.execute(sa.update(activity).where(activity.c.view == view).values(wanted=True))


def edge(connection: sa.Connection, seen: ActivityRow, edges: Mapping[str, float]) -> bool:
    """Write down what people are told of; False when another copy did so first."""
    done = connection.execute(
        sa.update(activity)
        .where(activity.c.view == seen.view, activity.c.edges == json.dumps(seen.edges))
        .values(edges=json.dumps(tuple(sorted(edges.items()))))
    )
    return done.rowcount == 1


def note_run(
    connection: sa.Connection,
    run_id: str,
    view: str,
    trigger: str,
    times: Mapping[str, float | None],
) -> None:
    """What set a run off, the slot that it served, and since when the view was stale."""
    connection.execute(
        sa.update(runs)
        .where(runs.c.run_id == run_id, runs.c.view == view)
        .values(trigger=trigger, **times)
    )


def stamp(connection: sa.Connection) -> tuple[object, ...]:
    """Another one when a run ended or a definition changed."""
    from grebe.registry.journal_tables import views

    newest = connection.execute(
        sa.select(sa.func.max(runs.c.number), sa.func.count(runs.c.ended_at))
    ).one()
    kept = connection.execute(
        sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(views.c.updated_at), 0.0))
    ).one()
    return (*newest, *kept)
