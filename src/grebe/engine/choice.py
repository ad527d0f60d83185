"""What a refresh will do, decided before anything is read: and why, with numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from grebe.compiler.plan.cost import Past, Sizes, full_is_cheaper
from grebe.compiler.plan.refresh_plan import LAYOUT
from grebe.compiler.text.clock import reads_clock
from grebe.compiler.text.threshold import SHARE
from grebe.engine.compiled_view import CompiledView, Used
from grebe.engine.public_name import shown_storage
from grebe.engine.source_columns import changed
from grebe.errors import GrebeError, NotIncrementalError, RefreshError
from grebe.formats.base import Head, Source, WindowStats
from grebe.model import Outcome, Policy, Position, Reason, SourcePoint, TableName, Version, Window
from grebe.stored_properties import StoredProperties

_OWN: Final = "definition-changed"
"""The view's own text: building it anew is what was asked for."""
HALF_RETENTION: Final = timedelta(days=2.5)
"""Half of the time that Iceberg keeps versions by default: for sources that do not say."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A source with the version that the run reads it at."""

    source: Source
    head: Head
    fingerprint: str | None = None
    """The definition's, when the source is itself a view."""
    rows: Version | None = None
    """Of a view: the last version that changed a row, which frontiers name. It may be expired;
    the head holds the same rows."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome that is aimed at, the reasons for it, and the window of each source."""

    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    windows: tuple[tuple[TableName, Window], ...] = ()
    settle: bool = False
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
    _refuse_newer(view, position)
    if position.frontier is None and not _distrust(position):
        return _built(view, policy, replaces)
    if policy is Policy.FULL:
        return Choice(Outcome.FULL, (Reason("policy-full", "the policy is to recompute"),))
    windows, unreadable = _windows(view, position, pins)
    always = view.plan.reasons if reads_clock(view.plan.reasons) else ()
    reasons = _distrust(position) or always or (unreadable and (view.plan.reasons or unreadable))
    if reasons:
        return _refused(view, policy, reasons)
    moved = {name: window for name, window in windows.items() if not window.is_empty}
    if not moved:
        return Choice(Outcome.NO_OP)
    stats = {name: pins[name].source.window_stats(window) for name, window in moved.items()}
    if all(item.only_maintenance for item in stats.values()):
        settle = _is_old(position, pins) or _has_other_columns(position, pins)
        return Choice(Outcome.NO_OP, settle=settle)
    if view.plan.reasons:
        return _refused(view, policy, view.plan.reasons)
    listed = tuple(windows.items())
    if policy is Policy.AUTO:
        given = dict(view.definition.properties).get(SHARE)
        costs = replace(costs or Costs(), threshold=float(given) if given else None)
        cheaper = _full_is_cheaper(_sizes(pins, stats), stats, moved, costs)
        if cheaper:
            return Choice(Outcome.FULL, (cheaper,), listed)
    return Choice(Outcome.INCREMENTAL, (), listed, settle=True)


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
        return Reason(_OWN, f"{storage.name} cannot be read: {error}")
    if before is None:
        return None
    _refuse_newer(view, before)
    kept = kept_of(storage) or {}
    where = f"the rows before are in {storage.name}"
    if before.frontier is None or not is_same_text(view, kept):
        return Reason(_OWN, f"the definition is another one; {where}")
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
    if replaces and replaces.code != _OWN:
        return _refused(view, policy, (replaces,))
    first = Reason("first-refresh", "the view holds no rows yet")
    return Choice(Outcome.FULL, (replaces or first,))


def _refuse_newer(view: CompiledView, position: Position) -> None:
    layout = position.frontier.state_layout if position.frontier else 0
    if layout > LAYOUT:
        raise RefreshError(
            f'view "{view.name}" was written by a newer grebe',
            detail=f"its state has layout {layout}, this version knows up to {LAYOUT}",
            hint="install the newer version",
            code="layout-newer",
        )


def _is_old(position: Position, pins: Mapping[TableName, Pinned]) -> bool:
    """True when a version that the frontier names may soon be expired."""
    kept = {str(name): pin.head.retention for name, pin in pins.items()}
    points = position.frontier.by_source if position.frontier else {}
    now = datetime.now(UTC)
    return any(
        now - point.committed_at > (kept[name] or 2 * HALF_RETENTION) / 2
        for name, point in points.items()
        if name in kept and point.committed_at
    )


def _has_other_columns(position: Position, pins: Mapping[TableName, Pinned]) -> bool:
    """True when columns changed that the view does not read: nobody has to look at that twice."""
    points = position.frontier.by_source if position.frontier else {}
    return any(
        points[str(name)].schema_id != pin.head.schema.id
        for name, pin in pins.items()
        if str(name) in points
    )


def _distrust(position: Position) -> tuple[Reason, ...]:
    """Why the stored rows cannot be built upon."""
    layout = position.frontier.state_layout if position.frontier else LAYOUT
    if layout < LAYOUT:
        return (Reason("layout-older", f"the state has layout {layout}, now it is {LAYOUT}"),)
    if position.foreign:
        return (Reason("foreign-write", f"somebody else wrote: {', '.join(position.foreign)}"),)
    if position.unproven:
        return (Reason("frontier-unproven", position.unproven),)
    return ()


def _windows(
    view: CompiledView, position: Position, pins: Mapping[TableName, Pinned]
) -> tuple[dict[TableName, Window], tuple[Reason, ...]]:
    points = position.frontier.by_source if position.frontier else {}
    windows: dict[TableName, Window] = {}
    reasons: list[Reason] = []
    for name, used in view.sources:
        found = _window(name, points.get(str(name)), pins[name], used)
        if isinstance(found, Reason):
            reasons.append(found)
        else:
            windows[name] = found
    return windows, tuple(reasons)


def _window(
    name: TableName, point: SourcePoint | None, pin: Pinned, used: Sequence[Used]
) -> Window | Reason:
    if point is None or point.identity != pin.head.identity:
        return Reason("source-replaced", f'table "{name}" is another one than before')
    columns = [item.column for item in used]
    if reason := changed(name, point, pin.head, columns, pin.source):
        return reason
    if point.version == pin.rows:
        return Window(pin.head.version, pin.head.version)
    window = Window(point.version, pin.head.version)
    if window.is_empty:
        return window
    return pin.source.unreadable(window, [column.id for column in used]) or window


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
    sizes: Sizes,
    stats: Mapping[TableName, WindowStats],
    moved: Mapping[TableName, Window],
    costs: Costs,
) -> Reason | None:
    cheaper = full_is_cheaper(sizes, costs.past, costs.threshold)
    if cheaper and costs.net and any(_rewrites(item) for item in stats.values()):
        net = replace(sizes, changed=costs.net(moved))
        return full_is_cheaper(net, costs.past, costs.threshold)
    return cheaper


def _rewrites(stats: WindowStats) -> bool:
    """True when files gave way to others: copy-on-write, or a table that was written anew."""
    return stats.files_added > 0 and stats.files_removed > 0


def _sizes(pins: Mapping[TableName, Pinned], stats: Mapping[TableName, WindowStats]) -> Sizes:
    changed = 0
    for item in stats.values():
        if item.rows_added is None or item.rows_removed is None:
            return Sizes(None, None)
        changed += max(item.rows_added, item.rows_removed)
    totals = [pin.source.version_stats(pin.head.version).rows for pin in pins.values()]
    known = [total for total in totals if total is not None]
    return Sizes(changed, sum(known) if len(known) == len(totals) else None, len(pins))
