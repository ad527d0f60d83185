"""Clears up after runs that did not end. Asked again, it finds nothing to do.

Nothing here is needed for right results: what a dead run left is invisible. A branch or a staged
table is removed only when nobody holds the view's lease and it is older than any run may last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from grebe.engine.compiled_view import CompiledView
from grebe.engine.lease import run_of
from grebe.engine.public import may_replace, publish
from grebe.engine.public_name import shown_storage
from grebe.engine.tables import Tables
from grebe.errors import GrebeError
from grebe.formats.base import STAGED
from grebe.formats.failpoints import reach
from grebe.model import Outcome, Position, Reason, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from grebe.registry import Registry, RunRecord

HOUR: Final = timedelta(hours=1)
UNREADABLE: Final = "unreadable"
PLACES: Final = ("recover.abandoned", "recover.shown", "recover.unstaged", "recover.repaired")


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that recovery did, and to what."""

    kind: str
    """`branch`, `public-name`, `staged`, `run`; or `unreadable`: it has to be done by somebody."""
    name: str
    detail: str


def recover(
    views: Mapping[str, CompiledView],
    tables: Tables,
    spark: SparkSession,
    registry: Registry | None = None,
    *,
    older_than: timedelta = HOUR,
) -> list[Repair]:
    """What was repaired."""
    before = datetime.now(UTC) - older_than
    free = [view for name, view in views.items() if not registry or not registry.holder(name)]
    found: list[Repair] = []
    for view in free:
        try:
            found += _abandon_branches(view, tables, spark, before)
            found += _show_again(view, tables, spark)
        except GrebeError as error:
            found.append(Repair(UNREADABLE, str(view.name), str(error)))
    live = {holder.owner for name in views if registry and (holder := registry.holder(name))}
    found += _remove_staged(views.values(), tables, spark, before, live)
    if registry is not None:
        found += end_dead(registry, lambda name: _position(views.get(name), tables, spark))
    return found


def _abandon_branches(
    view: CompiledView, tables: Tables, spark: SparkSession, before: datetime
) -> list[Repair]:
    """What unfinished runs left in the storage table."""
    if tables.position(view.storage_name, lambda: spark) is None:
        return []
    storage = tables.storage(view.storage_name, spark)
    found: list[Repair] = []
    for orphan in storage.orphans():
        if orphan.since <= before:
            storage.abandon(orphan.run_id)
            reach("recover.abandoned")
            found.append(Repair("branch", str(view.name), f"run {orphan.run_id}"))
    return found


def _show_again(view: CompiledView, tables: Tables, spark: SparkSession) -> list[Repair]:
    """A published storage table that its public name does not show."""
    position = tables.position(view.storage_name, lambda: spark)
    if position is None or position.frontier is None:
        return []
    shown = shown_storage(view.name, tables.shown(view.name, lambda: spark))
    if shown == view.storage_name or not may_replace(view, shown):
        return []  # what somebody published since the view was compiled is the newer one
    publish(tables, spark, view)
    reach("recover.shown")
    return [Repair("public-name", str(view.name), f"shows {view.storage_name.name}")]


def _remove_staged(
    views: Iterable[CompiledView],
    tables: Tables,
    spark: SparkSession,
    before: datetime,
    live: Collection[str],
) -> list[Repair]:
    """Staged tables of runs that are over; one schema is looked through once."""
    beside = {(view.name.catalog, view.name.schema): view.name for view in views}
    found: list[Repair] = []
    for name in beside.values():
        for staged in tables.staged(name, spark):
            # Without a time it cannot be told how old it is: a run may be about to fill it.
            made = tables.staged_at(staged, lambda: spark)
            if made is not None and made <= before and not _is_of(staged, live):
                tables.unstage(staged, spark)
                reach("recover.unstaged")
                found.append(Repair("staged", str(staged), "dropped"))
    return found


def _is_of(staged: TableName, live: Collection[str]) -> bool:
    """Whether a run that holds a lease has staged this.

    >>> staged = TableName("c", "s", f"{STAGED}ab_0")
    >>> _is_of(staged, ["host/1/ab"]), _is_of(staged, ["host/1/a"]), _is_of(staged, [])
    (True, False, False)
    """
    return any(staged.name.startswith(f"{STAGED}{run_of(owner)}_") for owner in live)


def _position(view: CompiledView | None, tables: Tables, spark: SparkSession) -> Position | None:
    return tables.position(view.storage_name, lambda: spark) if view else None


def end_dead(registry: Registry, position: Callable[[str], Position | None]) -> list[Repair]:
    """Write down how dead runs ended: the storage table knows whether they landed."""
    found: list[Repair] = []
    for run in registry.dead(registry.unfinished()):
        try:
            ended = _ended(run, position(run.view))
        except GrebeError as error:
            found.append(Repair(UNREADABLE, run.view, f"run {run.run_id}: {error}"))
            continue
        registry.finish(ended)
        reach("recover.repaired")
        found.append(Repair("run", run.view, f"run {run.run_id}: {ended.outcome}"))
    return found


def _ended(run: RunRecord, position: Position | None) -> RunRecord:
    frontier = position.frontier if position else None
    if frontier is not None and frontier.run_id == run.run_id:
        outcome = Outcome(dict(frontier.values).get("outcome", Outcome.INCREMENTAL))
        reason = Reason("recovered", "the run landed, but did not live to say so")
        return replace(run, outcome=outcome, reasons=(reason,), frontier_json=frontier.to_json())
    reason = Reason("abandoned", "the run ended without a result, and is not the last that landed")
    return replace(run, outcome=Outcome.FAILED, reasons=(reason,), error=reason.message)
