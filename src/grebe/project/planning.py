"""What a refresh would do, in numbers, before it does anything."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grebe.engine.view_graph import levels, with_parents
from grebe.errors import GrebeError, NotIncrementalError
from grebe.model import Outcome, Policy, Position, Reason, TableName, Version, Window
from grebe.project.refreshing import all_fresh
from grebe.project.seeds import pending
from grebe.project.selection import Selection
from grebe.sql_text import made
from grebe.tabular import Tabular

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from grebe.engine.choice import Choice, Pinned
    from grebe.engine.compiled_view import CompiledView, Used
    from grebe.engine.engine import Engine
    from grebe.engine.pins import Pins
    from grebe.engine.source_deltas import Deltas
    from grebe.project.definitions import Definition
    from grebe.project.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PlannedWindow:
    """What is new in one source."""

    source: TableName
    window: Window | None
    rows_added: int | None = None
    rows_removed: int | None = None


@dataclass(frozen=True, slots=True)
class RefreshPreview(Tabular):
    """One view's next refresh: the outcome that is aimed at, why, and from which windows."""

    view: TableName
    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    windows: tuple[PlannedWindow, ...] = ()
    strategy: str = ""
    steps: tuple[tuple[str, str, str], ...] = ()
    error: GrebeError | None = None

    @property
    def rows_in(self) -> int | None:
        """Changed source rows that the refresh will read; None where only it can tell."""
        if self.outcome is not Outcome.INCREMENTAL:
            return 0
        counts = [count for item in self.windows for count in (item.rows_added, item.rows_removed)]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per source."""
        return PLAN_HEADINGS, plan_rows(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "view": str(self.view),
            "outcome": str(self.outcome),
            "strategy": self.strategy,
            "reasons": [{"code": item.code, "message": item.message} for item in self.reasons],
            "windows": [
                {
                    "source": str(item.source),
                    "after": item.window.after if item.window else None,
                    "upto": item.window.upto if item.window else None,
                    "rows_added": item.rows_added,
                    "rows_removed": item.rows_removed,
                }
                for item in self.windows
            ],
            "steps": [{"kind": kind, "name": name, "sql": sql} for kind, name, sql in self.steps],
        }


PLAN_HEADINGS = ("view", "would be", "reason", "source", "added", "removed", "by")


def plan_rows(plan: RefreshPreview) -> list[Sequence[object]]:
    """The lines of one plan."""
    why = ", ".join(reason.code for reason in plan.reasons)
    first: Sequence[object] = (plan.view, plan.outcome, why)
    lines: list[Sequence[object]] = []
    for item in plan.windows or (None,):
        cells: Sequence[object] = ("", "", "", "")
        if item is not None:
            cells = (item.source, _count(item.rows_added), _count(item.rows_removed), plan.strategy)
        lines.append((*first, *cells))
        first = ("", "", "")
    return lines


def _count(value: int | None) -> object:
    return "?" if value is None else f"{value:,}"


class Plans(list[RefreshPreview], Tabular):
    """The plans of a selection, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per view and source."""
        return PLAN_HEADINGS, [line for plan in self for line in plan_rows(plan)]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [plan.to_dict() for plan in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


def plan(workspace: Workspace, selection: Selection, policy: Policy | None) -> Plans:
    """What a refresh of the same views would do now; nothing is written."""
    views = workspace.written()
    names = set(workspace.selected(views, selection))
    levels({name: view.parents_among(views) for name, view in views.items()})
    if not names:
        return Plans()
    if policy is not Policy.FULL:
        fresh = all_fresh(workspace, views, names)
        if fresh is not None:
            return Plans(standing_still(views[str(item.view)]) for item in fresh)
    return Plans(planned(workspace, views, names, policy))


def standing_still(view: Definition) -> RefreshPreview:
    """The plan of a view that is fresh, from what is remembered of it."""
    document = json.loads(view.facts.explanation) if view.facts else {"steps": ()}
    steps = tuple((item["kind"], item["name"], item["sql"]) for item in document["steps"])
    return RefreshPreview(
        view.name, Outcome.NO_OP, strategy=view.facts.strategy if view.facts else "", steps=steps
    )


def planned(
    workspace: Workspace,
    views: Mapping[str, Definition],
    names: Collection[str],
    policy: Policy | None,
) -> list[RefreshPreview]:
    """The plans of views, parents before children: the choices that a run over them would make."""
    parents = {name: view.parents_among(views) for name, view in views.items()}
    wanted = with_parents(names, parents)
    unplanted = _over(map(str, pending(workspace)), views, parents, wanted)
    known = [name for name in wanted if name not in unplanted]
    done, failed = workspace.builder.compile_all(views, known)
    plans = {name: _failure(views[name].name, error) for name, error in failed.items()}
    able = [name for name in names if name in done]
    if able:
        plans.update(_Planning(workspace.engine, able, policy).plans())
    order = [name for level in levels(parents) for name in level if name in wanted]
    for name in order:
        if name in names and name not in plans:
            above = [plans[item] for item in parents[name] if item in plans]
            plans[name] = (
                _upstream_failed(views[name].name)
                if any(plan.outcome is Outcome.FAILED for plan in above)
                else _unplanted(workspace, views[name], policy)
            )
    return [plans[name] for name in order if name in plans]


def _over(
    tables: Iterable[str],
    views: Mapping[str, Definition],
    parents: Mapping[str, Sequence[str]],
    wanted: Collection[str],
) -> set[str]:
    """The views that read one of these tables, themselves or through others."""
    missing = set(tables)
    own = {name for name in wanted if not missing.isdisjoint(views[name].tables)}
    return {name for name in wanted if own & with_parents([name], parents)}


def _unplanted(workspace: Workspace, view: Definition, policy: Policy | None) -> RefreshPreview:
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


_FIRST = Reason("first-refresh", "the view holds no rows yet")


def _failure(name: TableName, error: GrebeError) -> RefreshPreview:
    reason = Reason(error.code, error.explain())
    return RefreshPreview(name, Outcome.FAILED, (reason,), error=error)


def _upstream_failed(name: TableName) -> RefreshPreview:
    reason = Reason("upstream-failed", "a view that it reads fails")
    return RefreshPreview(name, Outcome.FAILED, (reason,))


@dataclass(slots=True)
class _Planning:
    """The choices of a run, made from the same cut, and never carried out."""

    engine: Engine
    names: Sequence[str]
    policy: Policy | None
    shown: list[str] = field(default_factory=list)
    """Temporary views that stand for the rows which a run would stage."""

    def plans(self) -> dict[str, RefreshPreview]:
        """By view, parents before children; parents that a run would refresh too are among them."""
        views, cut = self._cut()
        deltas = self._deltas(views)
        found: dict[str, RefreshPreview] = {}
        try:
            for level in levels({name: view.parents for name, view in views.items()}):
                for name in level:
                    found[name] = self._plan(views[name], cut, deltas, found)
        finally:
            for text in self.shown:
                self.engine.spark.catalog.dropTempView(text)
        return found

    def _cut(self) -> tuple[dict[str, CompiledView], Pins]:
        from grebe.engine.pins import pin_sources

        engine = self.engine
        views = {name: engine.views[name] for name in self.names}
        cut = pin_sources(engine.tables, lambda: engine.spark, views, engine.views)
        if cut.conflict:
            above = {name: view.parents for name, view in engine.views.items()}
            views = {name: engine.views[name] for name in with_parents(self.names, above)}
            cut = pin_sources(engine.tables, lambda: engine.spark, views, engine.views)
        return views, cut

    def _deltas(self, views: Mapping[str, CompiledView]) -> Deltas:
        from grebe.engine.source_deltas import Deltas

        ids: dict[TableName, dict[int, None]] = {}
        for view in views.values():
            for name, used in view.sources:
                ids.setdefault(name, {}).update(dict.fromkeys(column.id for column in used))
        return Deltas({name: tuple(found) for name, found in ids.items()}, self._show)

    def _show(self, rows: DataFrame) -> str:
        """Rows under a name of this session: to count them, nothing has to be written."""
        self.shown.append(made(f"planned_{len(self.shown)}"))
        rows.createOrReplaceTempView(self.shown[-1])
        return self.shown[-1]

    def _plan(
        self, view: CompiledView, cut: Pins, deltas: Deltas, before: Mapping[str, RefreshPreview]
    ) -> RefreshPreview:
        from grebe.compiler.explain import explain

        above = [before[name] for name in view.parents if name in before]
        if any(plan.outcome is Outcome.FAILED for plan in above):
            return _upstream_failed(view.name)
        moving = {str(plan.view) for plan in above if plan.outcome is not Outcome.NO_OP}
        try:
            if str(view.name) in cut.unread:
                raise cut.unread[str(view.name)]
            for name, _ in view.sources:
                if name in cut.missing:
                    raise cut.missing[name]
            pins = self._pins(view, cut)
            choice = self._choice(view, cut.positions[str(view.name)], pins, deltas)
            windows = self._windows(view, choice, pins, deltas, moving)
        except GrebeError as error:
            return _failure(view.name, error)
        outcome, reasons = choice.outcome, choice.reasons
        if outcome is Outcome.INCREMENTAL and all(_is_nothing(item) for item in windows):
            outcome = Outcome.NO_OP
        if moving and outcome is Outcome.NO_OP:
            outcome = Outcome.INCREMENTAL
            names = ", ".join(sorted(moving))
            reasons = (Reason("parent-moves", f"{names} will change first"),)
        steps = tuple((step.kind, step.name, step.sql) for step in explain(view.plan).steps)
        return RefreshPreview(view.name, outcome, reasons, windows, view.plan.strategy, steps)

    def _choice(
        self,
        view: CompiledView,
        position: Position,
        pins: Mapping[TableName, Pinned],
        deltas: Deltas,
    ) -> Choice:
        from grebe.engine.choice import Costs, choose, replaced

        engine = self.engine

        def net(windows: Mapping[TableName, Window]) -> int:
            return sum(
                deltas.of(name, pins[name].source, windows[name], _ids(used)).changed
                for name, used in view.sources
                if name in windows
            )

        shown = engine.tables.shown(view.name, lambda: engine.spark)
        return choose(
            view,
            position,
            pins,
            policy=self.policy or view.definition.policy,
            costs=Costs(engine.registry.past(str(view.name)) if engine.registry else (), net),
            replaces=replaced(
                view,
                shown,
                lambda name: engine.tables.position(name, lambda: engine.spark),
                lambda name: engine.tables.properties(name, lambda: engine.spark),
                pins,
            ),
        )

    def _pins(self, view: CompiledView, cut: Pins) -> dict[TableName, Pinned]:
        """The sources as the run would read them; a parent as it is now."""
        from grebe.engine.choice import Pinned
        from grebe.engine.pins import parent_pin
        from grebe.formats.base import Head

        engine = self.engine
        parents = {engine.views[name].storage_name: name for name in view.parents}
        pins: dict[TableName, Pinned] = {}
        for name, _ in view.sources:
            if name not in parents:
                pins[name] = cut.pins[name]
                continue
            parent, position = engine.views[parents[name]], cut.positions[parents[name]]
            source = engine.tables.source(name, lambda: engine.spark)
            if position.version is None:  # the run will make it: it is none that was read before
                pins[name] = Pinned(source, Head("", Version(""), parent.stored, None))
            else:
                pins[name] = parent_pin(source, position, parent.fingerprint)
        return pins

    def _windows(
        self,
        view: CompiledView,
        choice: Choice,
        pins: Mapping[TableName, Pinned],
        deltas: Deltas,
        moving: Collection[str],
    ) -> tuple[PlannedWindow, ...]:
        later = {self.engine.views[name].storage_name for name in view.parents if name in moving}
        found = [PlannedWindow(name, None) for name in sorted(later)]
        for name, window in choice.windows:
            if window.is_empty or name in later:
                continue
            if choice.outcome is Outcome.INCREMENTAL:  # what will be read is counted, not guessed
                needed = _ids(dict(view.sources)[name])
                delta = deltas.of(name, pins[name].source, window, needed)
                added, removed = delta.insertions, delta.rows - delta.insertions
                found.append(PlannedWindow(name, window, added, removed))
            else:
                stats = pins[name].source.window_stats(window)
                found.append(PlannedWindow(name, window, stats.rows_added, stats.rows_removed))
        return tuple(found)


def _ids(used: Iterable[Used]) -> list[int]:
    return [column.id for column in used]


def _is_nothing(item: PlannedWindow) -> bool:
    return item.rows_added == 0 and item.rows_removed == 0
