"""What a refresh will do, decided before anything is read: and why, with numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from grebe.compiler.plan.cost import Past, Sizes, full_is_cheaper
from grebe.compiler.text.threshold import SHARE
from grebe.engine.compiled_view import CompiledView
from grebe.engine.public_name import shown_storage
from grebe.engine.standing import OTHER_TEXT, Moved, Pinned, Reads, SourceUse, distrust, stand
from grebe.errors import GrebeError, NotIncrementalError, RefreshError
from grebe.formats.base import WindowStats
from grebe.model import Outcome, Policy, Position, Reason, SourcePoint, TableName, Window
from grebe.stored_properties import StoredProperties


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome that is aimed at, the reasons for it, and the window of each source."""

    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    windows: tuple[tuple[TableName, Window], ...] = ()
    moves_frontier: bool = False
    """Versions moved by more than maintenance, so the frontier has to follow."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What the choice between incremental and full is made from, besides metadata."""

    past: Sequence[Past] = ()
    net: Callable[[Mapping[TableName, Window]], int] | None = None
    """Reads how many rows really changed. Asked where metadata cannot tell: files that were
    written anew hold mostly rows that did not change."""
    threshold: float | None = None
    """The share of changed rows that a person set as the limit."""


def choose(
    view: CompiledView,
    position: Position,
    pins: Mapping[TableName, Pinned],
    *,
    policy: Policy,
    costs: Costs | None = None,
    replaces: Reason | None = None,
) -> Choice:
    """What to do with a view that stands at a position, given the pinned sources.

    Raises:
        NotIncrementalError: under `strict`, when only a full refresh would do.
        RefreshError: a newer grebe wrote the view.
    """
    refuse_newer(view, position)
    if position.frontier is None and not distrust(position):
        return _built(view, policy, replaces)
    if policy is Policy.FULL:  # whatever the sources say of what was before
        return Choice(Outcome.FULL, (Reason("policy-full", "the policy is to recompute"),))
    found = stand(compiled_reads(view), position, pins.__getitem__)
    whole = view.plan.reasons
    always = whole if found.by_clock else ()
    reasons = found.distrust or always or (found.broken and (whole or found.broken))
    if reasons:
        return _refused(view, policy, reasons)
    if not found.moved:
        return Choice(Outcome.NO_OP, moves_frontier=found.frontier_lags)
    if whole:
        return _refused(view, policy, whole)
    if policy is Policy.AUTO:
        given = dict(view.definition.properties).get(SHARE)
        costs = replace(costs or Costs(), threshold=float(given) if given else None)
        cheaper = _full_is_cheaper(pins, found.moved, costs)
        if cheaper:
            return Choice(Outcome.FULL, (cheaper,), found.windows)
    return Choice(Outcome.INCREMENTAL, (), found.windows, moves_frontier=True)


def compiled_reads(view: CompiledView) -> Reads:
    """What a view reads, as it was compiled over its sources as they are."""
    uses = (
        SourceUse(name, tuple(item.id for item in used), tuple(item.column for item in used))
        for name, used in view.sources
    )
    return Reads(view.fingerprint, tuple(uses), view.plan.reasons)


def replaced(
    view: CompiledView,
    shown: str | None,
    position_of: Callable[[TableName], Position | None],
    kept_of: Callable[[TableName], Mapping[str, str] | None],
    pins: Mapping[TableName, Pinned],
) -> Reason | None:
    """Why the public name still shows rows of another storage table, if so.

    Raises:
        RefreshError: a newer grebe wrote that one.
    """
    storage = shown_storage(view.name, shown)
    if storage is None or storage == view.storage_name:
        return None
    if view.generation_of(storage) or storage == view.storage_of(0):
        return Reason("foreign-write", f"{storage.name} was broken by somebody else")
    try:
        before = position_of(storage)
    except GrebeError as error:
        return Reason(OTHER_TEXT, f"{storage.name} cannot be read: {error}")
    if before is None:
        return None
    refuse_newer(view, before)
    kept = kept_of(storage) or {}
    where = f"the rows before are in {storage.name}"
    if before.frontier is None or not is_same_text(view, kept):
        return Reason(OTHER_TEXT, f"the definition is another one; {where}")
    return _moved_below(view, before.frontier.by_source, kept, pins) or Reason(
        "engine-version-changed", f"this grebe stores the same definition in another way; {where}"
    )


def is_same_text(view: CompiledView, kept: Mapping[str, str]) -> bool:
    """True when nobody changed the view itself: only what it reads can be another thing now."""
    own, before = view.own_properties(), StoredProperties.from_properties(kept)
    same = (own.sql, own.settings) == (before.sql, before.settings)
    return same and own.partitions == (before.partitions or "")


def _moved_below(
    view: CompiledView,
    points: Mapping[str, SourcePoint],
    kept: Mapping[str, str],
    pins: Mapping[TableName, Pinned],
) -> Reason | None:
    """What the same text reads that is no longer what it was."""
    for name, _ in view.sources:
        point = points.get(str(name))
        if point is None or point.identity != pins[name].head.identity:
            return Reason("source-replaced", f'table "{name}" is another one than before')
        if point.schema_id != pins[name].head.schema.id:
            return Reason("schema-changed", f'columns of table "{name}" changed')
    before = StoredProperties.from_properties(kept)
    if json.loads(before.columns or "[]") != [list(column) for column in view.columns]:
        return Reason("schema-changed", "the columns of the query have other types than before")
    return None


def _built(view: CompiledView, policy: Policy, replaces: Reason | None) -> Choice:
    """All rows for the first time; or again, into another table than those that are shown."""
    if replaces and replaces.code != OTHER_TEXT:
        return _refused(view, policy, (replaces,))
    first = Reason("first-refresh", "the view holds no rows yet")
    return Choice(Outcome.FULL, (replaces or first,))


def refuse_newer(view: CompiledView, position: Position) -> None:
    """Nothing, unless a newer grebe wrote the rows."""
    for doubt in distrust(position):
        if doubt.code == "layout-newer":
            raise RefreshError(
                f'view "{view.name}" was written by a newer grebe',
                detail=doubt.message,
                hint="install the newer version",
                code=doubt.code,
            )


def _refused(view: CompiledView, policy: Policy, reasons: Sequence[Reason]) -> Choice:
    if policy is Policy.STRICT:
        raise not_incremental(view, reasons)
    return Choice(Outcome.FULL, tuple(reasons))


def not_incremental(view: CompiledView, reasons: Sequence[Reason]) -> NotIncrementalError:
    """The error for a view that may not be refreshed in full, and cannot otherwise."""
    return NotIncrementalError(
        f'view "{view.name}" cannot be refreshed incrementally',
        reasons,
        hint='refresh it once in full, or set the policy to "auto"',
    )


def _full_is_cheaper(
    pins: Mapping[TableName, Pinned], moved: Sequence[Moved], costs: Costs
) -> Reason | None:
    stats = [item.stats for item in moved if item.stats]
    sizes = _sizes(pins, stats)
    cheaper = full_is_cheaper(sizes, costs.past, costs.threshold)
    if cheaper and costs.net and any(_rewrites(item) for item in stats):
        windows = {item.source: item.window for item in moved}
        return full_is_cheaper(
            replace(sizes, changed=costs.net(windows)), costs.past, costs.threshold
        )
    return cheaper


def _rewrites(stats: WindowStats) -> bool:
    """True when files gave way to others: copy-on-write, or a table that was written anew."""
    return stats.files_added > 0 and stats.files_removed > 0


def _sizes(pins: Mapping[TableName, Pinned], stats: Iterable[WindowStats]) -> Sizes:
    changed = 0
    for item in stats:
        if item.rows_added is None or item.rows_removed is None:
            return Sizes(None, None)
        changed += max(item.rows_added, item.rows_removed)
    totals = [pin.source.version_stats(pin.head.version).rows for pin in pins.values()]
    known = [total for total in totals if total is not None]
    return Sizes(changed, sum(known) if len(known) == len(totals) else None, len(pins))
