"""Where the views of a project stand: each by itself, and towards the views that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from grebe.engine.heads import NEVER, Heads
from grebe.engine.standing import Reads, SourceUse, Standing, stand
from grebe.errors import GrebeError
from grebe.model import Reason, State
from grebe.project.definitions import Definition
from grebe.project.stream_storage import changed_from
from grebe.project.summary import Summary

if TYPE_CHECKING:
    from grebe.registry.records import RunRecord


def refreshed_at(
    view: Definition, stand: Standing, landed: RunRecord | None, heads: Heads
) -> datetime | None:
    """When the view was last made what it shows: by the journal, else by its own table."""
    if stand.state is State.NEVER_REFRESHED:
        return None
    if landed is not None:
        return landed.ended_at
    storage = view.facts.storage if view.facts else None
    if storage is None or stand.position is None:
        return None
    try:
        moment = heads.moment(storage, stand.position)
    except GrebeError:
        return None
    return None if moment == NEVER else moment


def standings(views: Mapping[str, Definition], heads: Heads) -> dict[str, Standing]:
    """Every view's standing; a view over one that is not fresh is not fresh either."""
    own = {name: standing(view, heads) for name, view in views.items()}
    found: dict[str, Standing] = {}

    def visit(name: str, path: tuple[str, ...]) -> Standing:
        if name in found or name in path:
            return found.get(name, own[name])
        above = {p: visit(p, (*path, name)) for p in views[name].parents_among(views)}
        behind = [p for p, item in above.items() if item.state is not State.FRESH]
        former = replaced_parents(views[name], views)
        item = own[name]
        reasons = list(views[name].notes)
        if former:
            text = f"the rows show a former definition of {', '.join(former)}"
            reasons.append(Reason("parent-replaced", text))
        if behind:
            reasons.append(Reason("parent-stale", f"{', '.join(behind)} is not fresh"))
        if (former or behind) and item.state is State.FRESH:
            since = [above[p].stale_since for p in behind]
            dated = [time for time in since if time is not None]
            item = Standing(
                State.STALE,
                tuple(reasons),
                (),
                item.position,
                min(dated) if dated else None,
            )
        found[name] = item
        return item

    for name in views:
        visit(name, ())
    return found


def replaced_parents(view: Definition, views: Mapping[str, Definition]) -> list[str]:
    """The parents of whose former definitions a view shows the rows."""
    read = {source.name for source in view.facts.sources} if view.facts else set()
    above = [(name, views[name].facts) for name in view.parents_among(views)]
    return [name for name, facts in above if facts is not None and facts.storage not in read]


def standing(view: Definition, heads: Heads) -> Standing:
    """Where one view stands by itself; a problem is told, never raised."""
    if view.error is not None:
        return Standing(State.INVALID, view.notes, error=view.error)
    try:
        found = _standing(view, heads)
    except GrebeError as error:
        found = Standing(State.STALE, (Reason(error.code, error.message),), error=error)
    return replace(found, reasons=(*view.notes, *found.reasons))


def _standing(view: Definition, heads: Heads) -> Standing:
    facts = view.facts
    if facts is None or facts.storage is None:
        return Standing(State.NEVER_REFRESHED)
    position = heads.position(facts.storage)
    if position is None or position.frontier is None:
        old = heads.position(facts.before) if facts.before else None
        if old is not None and old.frontier is not None:
            return stand(remembered_reads(facts, None), old, heads.pin)
    recorded = view.record.fingerprint if view.record and not view.has_changed else None
    found = stand(remembered_reads(facts, recorded), position, heads.pin)
    changed = changed_from(position) if view.stream is not None else None
    if changed is not None:
        found = replace(found, reasons=(*found.reasons, changed))
    if found.state is State.FRESH and not heads.shows(view.name, facts.storage):
        reason = Reason("not-shown", "the public name does not show the rows that are stored")
        return Standing(State.STALE, (reason,), position=position)
    return found


def remembered_reads(facts: Summary, fingerprint: str | None) -> Reads:
    """What a view reads, by what is remembered of it: nothing is compiled."""
    frozen = dict(facts.frozen)
    return Reads(
        fingerprint,
        tuple(
            SourceUse(item.name, item.columns, starred=frozen.get(str(item.name), ()))
            for item in facts.sources
        ),
        tuple(Reason(code, message) for code, message in facts.reasons),
    )
