"""What a refresh of the chosen views would do: the run over them, stopped before it computes anything.

Only what no run can look at yet is answered here: views that are fresh by what is remembered of them, views that do
not compile, and views over tables that the refresh would first make from seeds/.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from grebe.engine.preview import Plans, RefreshPreview
from grebe.errors import GrebeError, NotIncrementalError
from grebe.model import Outcome, Policy, Reason, TableName
from grebe.project.definitions import Definition
from grebe.project.foreseen import foresee
from grebe.project.refreshing import all_fresh
from grebe.project.seeds import FOLDER, pending
from grebe.project.selection import Selection
from grebe.view_graph import levels, with_parents

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace

Views = Mapping[str, Definition]
_FIRST = Reason("first-refresh", "the view holds no rows yet")


def plan(
    workspace: Workspace, selection: Selection, policy: Policy | None, *, measure: bool = True
) -> Plans:
    """What a refresh of the same views would do now; nothing is written.

    Without measuring it is told from metadata, and Spark is started only where that does not say it.
    """
    views = workspace.written()
    names = set(workspace.selected(views, selection))
    levels({name: view.parents_among(views) for name, view in views.items()})
    if not names:
        return Plans()
    if policy is not Policy.FULL:
        fresh = all_fresh(workspace, views, names)
        if fresh is not None:
            return Plans(_fresh(views[str(item.view)]) for item in fresh)
    if not measure and not _seeds(workspace):
        told = foresee(workspace, views, names, policy)
        if told is not None:
            return Plans(told)
    return Plans(_planned(workspace, views, names, policy))


def _seeds(workspace: Workspace) -> bool:
    """Whether the project has files that make tables: only Spark can tell which are there."""
    return any((workspace.settings.folder / FOLDER).glob("*.sql")) and not workspace.has_registry()


def _fresh(view: Definition) -> RefreshPreview:
    """The plan of a view that is fresh, from what is remembered of it."""
    document = json.loads(view.facts.explanation) if view.facts else {"steps": ()}
    steps = tuple((item["kind"], item["name"], item["sql"]) for item in document["steps"])
    return RefreshPreview(
        view.name, Outcome.NO_OP, strategy=view.facts.strategy if view.facts else "", steps=steps
    )


def _planned(
    workspace: Workspace, views: Views, names: Collection[str], policy: Policy | None
) -> list[RefreshPreview]:
    """The plans of views, parents before children."""
    parents = {name: view.parents_among(views) for name, view in views.items()}
    wanted = with_parents(names, parents)
    seeded = _over(map(str, pending(workspace)), views, parents, wanted)
    known = [name for name in wanted if name not in seeded]
    done, failed = workspace.builder.compile_all(views, known)
    plans = {name: _failure(views[name].name, error) for name, error in failed.items()}
    streams = {name for name in names if name in done and views[name].stream is not None}
    plans.update({name: _fresh(views[name]) for name in streams})
    able = [done[name].name.quoted() for name in names if name in done and name not in streams]
    if able:
        found = workspace.engine.plan(able, policy=policy)
        plans.update({str(item.view): item for item in found})
    order = [name for level in levels(parents) for name in level if name in wanted]
    for name in order:
        if name in names and name not in plans:
            bad = [p for p in parents[name] if p in plans and plans[p].outcome is Outcome.FAILED]
            plans[name] = (
                _upstream_failed(views[name].name, bad)
                if bad
                else _over_seeds(workspace, views[name], policy)
            )
    return [plans[name] for name in order if name in plans]


def _over(
    tables: Iterable[str],
    views: Views,
    parents: Mapping[str, Sequence[str]],
    wanted: Collection[str],
) -> set[str]:
    """The views that read one of these tables, themselves or through others."""
    missing = set(tables)
    own = {name for name in wanted if not missing.isdisjoint(views[name].tables)}
    return {name for name in wanted if own & with_parents([name], parents)}


def _over_seeds(workspace: Workspace, view: Definition, policy: Policy | None) -> RefreshPreview:
    """The plan of a view over tables that its refresh will make from seeds: all of it is read."""
    if view.error is not None:
        return _failure(view.name, view.error)
    storage = view.facts.storage if view.facts else None
    position = workspace.heads().position(storage) if storage else None
    if position is None or position.frontier is None:
        return RefreshPreview(view.name, Outcome.FULL, (_FIRST,))
    policy = policy or view.policy
    if policy is Policy.FULL:
        return RefreshPreview(
            view.name, Outcome.FULL, (Reason("policy-full", "the policy is to recompute"),)
        )
    replaced = Reason("source-replaced", "a table that it reads is made anew from seeds/")
    if policy is Policy.STRICT:
        message = f'view "{view.name}" cannot be refreshed incrementally'
        return _failure(view.name, NotIncrementalError(message, (replaced,)))
    return RefreshPreview(view.name, Outcome.FULL, (replaced,))


def _failure(name: TableName, error: GrebeError) -> RefreshPreview:
    reason = Reason(error.code, error.explain())
    return RefreshPreview(name, Outcome.FAILED, (reason,), error=error)


def _upstream_failed(name: TableName, parents: Sequence[str]) -> RefreshPreview:
    reason = Reason("upstream-failed", f"not refreshed, because {', '.join(parents)} fails")
    return RefreshPreview(name, Outcome.FAILED, (reason,))
