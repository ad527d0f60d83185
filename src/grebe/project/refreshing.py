"""Refreshing the chosen views of a project; without Spark where nothing is to be done."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe.engine.result import RefreshResult
from grebe.events import CycleEnded, CycleStarted
from grebe.model import Outcome, Policy, RunId, TableName
from grebe.project.definitions import Definition
from grebe.project.freshness import replaced_parents, standings
from grebe.project.recovery import end_dead_runs
from grebe.project.seeds import make_missing
from grebe.project.selection import Selection
from grebe.project.stream_views import refreshed as refreshed_stream
from grebe.project.vacuum import expire_old
from grebe.view_graph import levels, with_parents

if TYPE_CHECKING:
    from grebe.engine.rows.row_options import RowOptions
    from grebe.project.workspace import Workspace


def refresh(  # noqa: PLR0913  every option of a run, by name
    workspace: Workspace,
    selection: Selection,
    policy: Policy | None,
    jobs: int = 1,
    *,
    trigger: str = "manual",
    skips_held: bool = False,
    rows: RowOptions | None = None,
) -> list[RefreshResult]:
    """Refresh the chosen views; the results, parents before children.

    With ``skips_held`` views that somebody else refreshes are left out, and nothing is told of them.
    """
    run_id = RunId(uuid.uuid4().hex[:12])
    begun = time.monotonic()
    views = workspace.written()
    names = list(workspace.selected(views, selection))
    end_dead_runs(workspace, views)
    if skips_held:  # whoever schedules is not stopped by a circle elsewhere
        views = _needed(views, names)
    levels({name: view.parents_among(views) for name, view in views.items()})
    streams = [name for name in names if views[name].stream is not None]
    names = [name for name in names if name not in streams]
    # First: what waits in a stream is no version of a table that somebody could compare.
    pulled = [refreshed_stream(workspace, views[name], run_id) for name in streams]
    if not names:
        return _with_notes(pulled, views)
    if policy is not Policy.FULL and not (rows and rows.retry_errors):
        fresh = all_fresh(workspace, views, set(names))
        if fresh is not None:
            took = time.monotonic() - begun
            done = [replace(item, run_id=run_id, seconds=took) for item in fresh]
            return _with_notes([*pulled, *done], views)
    if make_missing(workspace):
        views = workspace.written()
        views = _needed(views, names) if skips_held else views
    chosen = tuple(views[name].name for name in names)
    workspace.tell(CycleStarted(run_id, chosen, datetime.now(UTC)))
    try:
        made = workspace.builder.refresh(
            views,
            names,
            run_id,
            policy=policy,
            jobs=jobs,
            trigger=trigger,
            skips_held=skips_held,
            rows=rows,
        )
    finally:
        workspace.tell(CycleEnded(run_id, time.monotonic() - begun, datetime.now(UTC)))
    done = [*pulled, *made]
    # Also where no row changed: a frontier that moves alone is a version, too.
    kept = [item for item in done if item.outcome is not Outcome.FAILED]
    expire_old(workspace, [str(item.view) for item in kept if str(item.view) not in streams])
    return _with_notes(done, views)


def _needed(views: Mapping[str, Definition], names: Iterable[str]) -> dict[str, Definition]:
    """Some views, and all that they read."""
    parents = {name: view.parents_among(views) for name, view in views.items()}
    wanted = with_parents(names, parents)
    return {name: view for name, view in views.items() if name in wanted}


def refresh_one(
    workspace: Workspace,
    name: TableName,
    policy: Policy | None = None,
    rows: RowOptions | None = None,
) -> RefreshResult:
    """Refresh one view alone.

    Raises:
        GrebeError: the refresh failed; nothing of it is visible.
    """
    results = refresh(workspace, str(name), policy, rows=rows)
    result = next(item for item in results if item.view == name)
    if result.outcome is Outcome.FAILED:
        errors = [item.error for item in (result, *results) if item.error is not None]
        if errors:
            raise errors[0]
    return result


def all_fresh(
    workspace: Workspace, views: Mapping[str, Definition], wanted: set[str]
) -> list[RefreshResult] | None:
    """The results when nothing is to be done for any view, else None."""
    stands = standings({name: views[name] for name in sorted(wanted)}, workspace.heads())
    if not all(stand.is_idle for stand in stands.values()):
        return None
    if any(views[name].policy is Policy.FULL for name in wanted):
        return None
    if any(replaced_parents(views[name], views) for name in wanted):
        return None
    parents = {name: views[name].parents_among(views) for name in sorted(wanted)}
    return [
        RefreshResult(
            views[name].name,
            Outcome.NO_OP,
            RunId(""),
            0.0,
            frontier=position.frontier if (position := stands[name].position) else None,
            version=position.version if position else None,
        )
        for level in levels(parents)
        for name in level
    ]


def _with_notes(
    results: Iterable[RefreshResult], views: Mapping[str, Definition]
) -> list[RefreshResult]:
    """The same, with what people should know of a view whatever was done with it."""
    return [
        replace(item, reasons=(*item.reasons, *views[str(item.view)].notes)) for item in results
    ]
