"""Runs: written down when they begin and when they end; without an end they run, or died."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import sqlalchemy as sa

from grebe.compiler.plan.cost import Past
from grebe.model import Cost, Outcome, Reason
from grebe.registry.database import clock, written_by_us
from grebe.registry.journal_tables import runs
from grebe.registry.leases import as_time
from grebe.registry.records import Counts, RunRecord

STEPS_KEPT = 10
"""Runs of a view whose steps are kept."""


def begin(connection: sa.Connection, run: RunRecord) -> None:
    """A run that begins now."""
    connection.execute(
        sa.insert(runs).values(
            run_id=run.run_id,
            view=run.view,
            trigger=run.trigger,
            owner=run.owner,
            begun_at=clock(),
            reasons="[]",
            rows_in=0,
            rows_out=0,
        )
    )


def finish(connection: sa.Connection, run: RunRecord) -> bool:
    """The end of a run, told once; False when it ended already, or nobody saw it begin."""
    done = connection.execute(
        sa.update(runs)
        .where(runs.c.run_id == run.run_id, runs.c.view == run.view, runs.c.outcome.is_(None))
        .values(
            ended_at=clock(),
            outcome=run.outcome,
            reasons=_reasons_to_json(run.reasons),
            rows_in=run.counts.rows_in,
            rows_out=run.counts.rows_out,
            seconds=run.seconds,
            frontier=run.frontier_json,
            error=run.error,
            steps=run.steps_json,
            cost=_cost_to_json(run.cost),
        )
    )
    if run.steps_json is not None:
        _forget_steps(connection, run.view)
    return done.rowcount == 1


def _forget_steps(connection: sa.Connection, view: str) -> None:
    """Their texts are long, and nobody asks for those of old runs."""
    with_steps = (runs.c.view == view, runs.c.steps.is_not(None))
    newest = sa.select(runs.c.number).where(*with_steps).order_by(runs.c.number.desc())
    kept = [row.number for row in connection.execute(newest.limit(STEPS_KEPT))]
    connection.execute(
        sa.update(runs).where(*with_steps, runs.c.number < min(kept)).values(steps=None)
    )


def steps(connection: sa.Connection, view: str, run_id: str | None) -> tuple[str, str] | None:
    """The id of a run and its steps as JSON: the newest that has some, or the one that is named."""
    statement = sa.select(runs.c.run_id, runs.c.steps).where(
        runs.c.view == view, runs.c.steps.is_not(None)
    )
    if run_id is not None:
        statement = statement.where(runs.c.run_id == run_id)
    row = connection.execute(statement.order_by(runs.c.number.desc()).limit(1)).first()
    return None if row is None else (row.run_id, row.steps)


def listed(
    connection: sa.Connection, view: str | None, limit: int | None, *, unfinished: bool = False
) -> list[RunRecord]:
    """Runs, newest first."""
    statement = sa.select(runs).order_by(runs.c.number.desc()).limit(limit)
    if view is not None:
        statement = statement.where(runs.c.view == view)
    if unfinished:
        statement = statement.where(runs.c.outcome.is_(None))
    return [_record(row) for row in connection.execute(statement)]


def latest(connection: sa.Connection, *, landed: bool = False) -> dict[str, RunRecord]:
    """The newest finished run of every view; or the newest that did not fail."""
    newest = sa.select(sa.func.max(runs.c.number)).where(runs.c.outcome.is_not(None))
    if landed:
        newest = newest.where(runs.c.outcome != Outcome.FAILED)
    statement = sa.select(runs).where(runs.c.number.in_(newest.group_by(runs.c.view)))
    return {row.view: _record(row) for row in connection.execute(statement)}


def past(connection: sa.Connection, view: str, limit: int) -> tuple[Past, ...]:
    """What earlier runs cost, for the choice between incremental and full."""
    # A change whose effect is nothing was computed like any other.
    computed = sa.or_(
        runs.c.outcome.in_((Outcome.INCREMENTAL, Outcome.FULL)),
        sa.and_(runs.c.outcome == Outcome.NO_OP, runs.c.rows_in > 0),
    )
    statement = (
        sa.select(runs.c.outcome, runs.c.rows_in, runs.c.seconds)
        .where(runs.c.view == view, computed, runs.c.seconds.is_not(None))
        .order_by(runs.c.number.desc())
        .limit(limit)
    )
    with written_by_us(f'runs of view "{view}"'):
        return tuple(
            Past(row.outcome != Outcome.FULL, int(row.rows_in), float(row.seconds))
            for row in connection.execute(statement)
        )


def _record(row: sa.Row[tuple[object, ...]]) -> RunRecord:
    with written_by_us(f"run {row.run_id}"):
        return RunRecord(
            run_id=row.run_id,
            view=row.view,
            trigger=row.trigger,
            owner=row.owner,
            begun_at=as_time(row.begun_at),
            ended_at=None if row.ended_at is None else as_time(row.ended_at),
            outcome=None if row.outcome is None else Outcome(row.outcome),
            reasons=_reasons_from_json(row.reasons),
            counts=Counts(int(row.rows_in), int(row.rows_out)),
            seconds=None if row.seconds is None else float(row.seconds),
            frontier_json=row.frontier,
            error=row.error,
            cost=_cost_from_json(row.cost),
        )


def _cost_to_json(cost: Cost | None) -> str | None:
    return None if cost is None else json.dumps(asdict(cost))


def _cost_from_json(text: str | None) -> Cost | None:
    if text is None:
        return None
    document = json.loads(text)
    rejected = document["rejected"]
    return Cost(
        **{
            **document,
            "chosen": Outcome(document["chosen"]),
            "rejected": None if rejected is None else Outcome(rejected),
        }
    )


def _reasons_to_json(reasons: Sequence[Reason]) -> str:
    items = [
        {"code": item.code, "message": item.message, "numbers": dict(item.numbers)}
        for item in reasons
    ]
    return json.dumps(items)


def _reasons_from_json(text: str) -> tuple[Reason, ...]:
    return tuple(
        Reason(item["code"], item["message"], numbers=tuple(item["numbers"].items()))
        for item in json.loads(text)
    )
