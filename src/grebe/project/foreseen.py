"""What a refresh would do, told from what is remembered, from metadata, and from small files: no Spark.

What only reading much can tell is left to a plan that measures.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from grebe import thresholds
from grebe.compiler.plan.cost import Sizes, full_is_cheaper
from grebe.engine.preview import PlannedWindow, RefreshPreview
from grebe.engine.standing import Moved, Standing
from grebe.errors import GrebeError, NotIncrementalError, UnknownColumnError
from grebe.model import WEIGHT, Outcome, Policy, Reason, State
from grebe.project.freshness import standings
from grebe.view_graph import levels

if TYPE_CHECKING:
    from grebe.engine.heads import Heads
    from grebe.project.definitions import Definition
    from grebe.project.workspace import Workspace

Views = Mapping[str, "Definition"]
FIRST = Reason("first-refresh", "the view holds no rows yet")


class OnlySparkTellsError(Exception):
    """Only Spark can tell."""


def foresee(
    workspace: Workspace, views: Views, names: Collection[str], policy: Policy | None
) -> list[RefreshPreview] | None:
    """The plans of views, parents before children; None where only Spark can tell."""
    from grebe.engine.heads import Heads

    heads = Heads(workspace.tables, _nobody)
    try:
        stands = standings(views, heads)
        plans: dict[str, RefreshPreview] = {}
        parents = {name: view.parents_among(views) for name, view in views.items()}
        for name in (name for level in levels(parents) for name in level if name in names):
            above = {p: plans[p] for p in parents[name] if p in plans}
            view = views[name]
            found = _one(workspace, view, stands[name], above, heads, policy or view.policy)
            behind = {
                facts.storage: views[parent].name
                for parent in parents[name]
                if (facts := views[parent].facts) is not None and facts.storage is not None
            }
            plans[name] = replace(found, names=behind)
    except OnlySparkTellsError:
        return None
    return list(plans.values())


def check_names(workspace: Workspace, view: Definition, views: Views) -> None:
    """Nothing, unless the text names a column that its tables do not have, as far as they are known.

    Raises:
        UnknownColumnError: at its place, with the closest.
    """
    from grebe.compiler.lower.pipeline import lower
    from grebe.compiler.lower.scope import Relation
    from grebe.compiler.text.verbatim import tables_in
    from grebe.project.definitions import columns_of_views
    from grebe.project.lookup import Lookup

    known = Lookup(workspace.settings, columns_of_views(views), _nobody)
    relations: dict[str, Relation] = {}
    try:
        query = view.query
        for parts in tables_in(query, "spark"):
            name = workspace.settings.resolve(parts)
            columns = tuple(known(".".join((name.catalog, name.schema, name.name))).items())
            relations[".".join(parts)] = Relation(str(name), columns)
        lower(query, dialect="spark", sources=relations)
    except UnknownColumnError as error:
        raise view.statement.placed(error) from error
    except (GrebeError, OnlySparkTellsError):
        return  # Spark is the judge of everything else


def _one(
    workspace: Workspace,
    view: Definition,
    stand: Standing,
    above: Mapping[str, RefreshPreview],
    heads: Heads,
    policy: Policy,
) -> RefreshPreview:
    if view.error is not None:
        return _failure(view, view.error)
    failed = [name for name, plan in above.items() if plan.outcome is Outcome.FAILED]
    if failed:
        text = f"not refreshed, because {', '.join(failed)} fails"
        return RefreshPreview(view.name, Outcome.FAILED, (Reason("upstream-failed", text),))
    if not view.is_as_compiled or view.facts is None:
        return _uncompiled(workspace, view)
    if stand.error is not None:
        return _failure(view, stand.error)
    if stand.state is State.NEVER_REFRESHED:
        return RefreshPreview(view.name, Outcome.FULL, (FIRST,))
    if policy is Policy.FULL:
        return _full(view, policy, (Reason("policy-full", "the policy is to recompute"),))
    return _following(workspace, view, stand, above, heads, policy)


def _following(
    workspace: Workspace,
    view: Definition,
    stand: Standing,
    above: Mapping[str, RefreshPreview],
    heads: Heads,
    policy: Policy,
) -> RefreshPreview:
    """The plan of a view that holds rows."""
    whole = tuple(Reason(code, text) for code, text in view.facts.reasons) if view.facts else ()
    moving = [name for name, plan in above.items() if plan.outcome is not Outcome.NO_OP]
    if stand.distrust or stand.state is State.INVALID:
        return _full(view, policy, stand.distrust or stand.reasons)
    if stand.broken or stand.by_clock:
        return _full(view, policy, stand.broken or whole)
    if not stand.moved and not moving:
        return RefreshPreview(view.name, Outcome.NO_OP)
    if whole:
        return _full(view, policy, whole)
    strategy = view.facts.strategy if view.facts else ""
    storages = {
        found.facts.storage
        for name in moving
        if (found := workspace.written()[name]).facts is not None and found.facts.storage
    }
    windows = (
        *(PlannedWindow(name, None) for name in sorted(storages)),
        *(_window(view, item, heads) for item in stand.moved if item.source not in storages),
    )
    if not moving and windows and all(item.is_nothing for item in windows):
        return RefreshPreview(view.name, Outcome.NO_OP, (), windows, strategy)
    if policy is Policy.AUTO and not moving:
        past = workspace.registry.past(view.key) if workspace.has_registry() else ()
        cheaper = full_is_cheaper(_sizes(view, stand.moved, heads), past)
        if cheaper is not None:
            return RefreshPreview(view.name, Outcome.FULL, (cheaper,), windows, strategy)
    reasons = (
        (Reason("parent-moves", f"{', '.join(sorted(moving))} will change first"),)
        if moving
        else ()
    )
    return RefreshPreview(view.name, Outcome.INCREMENTAL, reasons, windows, strategy)


def _uncompiled(workspace: Workspace, view: Definition) -> RefreshPreview:
    """The plan of a text that nobody compiled yet: its names are looked at."""
    try:
        check_names(workspace, view, workspace.written())
    except GrebeError as error:
        return _failure(view, error)
    if view.facts is None or view.facts.storage is None:
        return RefreshPreview(view.name, Outcome.FULL, (FIRST,))
    if not view.has_changed:
        raise OnlySparkTellsError
    changed = Reason("definition-changed", "the definition is another one than that of the rows")
    return RefreshPreview(view.name, Outcome.FULL, (changed,))


def _full(view: Definition, policy: Policy, reasons: Sequence[Reason]) -> RefreshPreview:
    if policy is Policy.STRICT:
        text = f'view "{view.name}" cannot be refreshed incrementally'
        return _failure(view, NotIncrementalError(text, tuple(reasons)))
    return RefreshPreview(view.name, Outcome.FULL, tuple(reasons))


def _failure(view: Definition, error: GrebeError) -> RefreshPreview:
    reason = Reason(error.code, error.explain())
    return RefreshPreview(view.name, Outcome.FAILED, (reason,), error=error)


def _window(view: Definition, item: Moved, heads: Heads) -> PlannedWindow:
    """What is new in a source: counted where this process can read it at once, else not known."""
    unknown = PlannedWindow(item.source, item.window)
    used = {source.name: source.columns for source in view.facts.sources} if view.facts else {}
    if item.stats is None or item.stats.bytes > thresholds.PLANNED_BYTES or item.source not in used:
        return unknown
    try:
        found = heads.source(item.source).changes(item.window, used[item.source]).arrow
    except (GrebeError, OnlySparkTellsError, ImportError):
        return unknown
    if found is None:
        return unknown
    weights = found[WEIGHT].to_pylist()
    added = sum(weight for weight in weights if weight > 0)
    return PlannedWindow(item.source, item.window, added, added - sum(weights))


def _sizes(view: Definition, moved: Sequence[Moved], heads: Heads) -> Sizes:
    changed = 0
    for item in moved:
        if item.stats is None or item.stats.rows_added is None or item.stats.rows_removed is None:
            return Sizes(None, None)
        if item.stats.files_added and item.stats.files_removed:
            return Sizes(None, None)  # rows that were written anew: only counting tells
        changed += max(item.stats.rows_added, item.stats.rows_removed)
    sources = view.facts.sources if view.facts else ()
    totals = [
        heads.source(item.name).version_stats(heads.head(item.name).version).rows
        for item in sources
    ]
    known = [total for total in totals if total is not None]
    return Sizes(changed, sum(known) if len(known) == len(totals) else None, len(totals))


def _nobody() -> NoReturn:
    raise OnlySparkTellsError
