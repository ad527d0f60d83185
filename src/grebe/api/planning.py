"""What a refresh would do, in numbers, before it does anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grebe.api.shown import Shown
from grebe.errors import GrebeError
from grebe.model import Outcome, Policy, Reason, TableName, Window

if TYPE_CHECKING:
    from grebe.engine.choice import Pinned
    from grebe.engine.engine import Engine
    from grebe.engine.views import View as Compiled


@dataclass(frozen=True, slots=True)
class PlannedWindow:
    """What is new in one source."""

    source: TableName
    window: Window | None
    rows_added: int | None = None
    rows_removed: int | None = None


@dataclass(frozen=True, slots=True)
class Plan(Shown):
    """One view's next refresh: the outcome that is aimed at, why, and from which windows."""

    view: TableName
    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    windows: tuple[PlannedWindow, ...] = ()
    strategy: str = ""
    steps: tuple[tuple[str, str, str], ...] = ()
    error: GrebeError | None = None

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


def plan_rows(plan: Plan) -> list[Sequence[object]]:
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


class Plans(list[Plan], Shown):
    """The plans of a selection, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per view and source."""
        return PLAN_HEADINGS, [line for plan in self for line in plan_rows(plan)]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [plan.to_dict() for plan in self]

    __str__ = Shown.__str__
    __repr__ = Shown.__str__


def planned(
    engine: Engine, view: Compiled, before: Mapping[str, Plan], policy: Policy | None
) -> Plan:
    """The plan of a compiled view, given the plans of the views that it reads."""
    from grebe.compiler.explain import explain
    from grebe.engine.choice import Costs, choose
    from grebe.engine.cut import NOWHERE

    steps = tuple((step.kind, step.name, step.sql) for step in explain(view.plan).steps)
    above = [before[name] for name in view.parents if name in before]
    unbuilt = [plan for plan in above if plan.outcome in (Outcome.FULL, Outcome.FAILED)]
    position = engine.tables.position(view.storage_name, lambda: engine.spark) or NOWHERE
    if unbuilt and position.frontier is None:
        reason = Reason("first-refresh", "the view holds no rows yet")
        return Plan(view.name, Outcome.FULL, (reason,), (), view.plan.strategy, steps)
    pins = _pins(engine, view)
    past = engine.registry.past(str(view.name)) if engine.registry else ()
    policy = policy or view.definition.policy
    choice = choose(view, position, pins, policy=policy, costs=Costs(past))
    windows = tuple(
        _window(name, window, pins[name]) for name, window in choice.windows if not window.is_empty
    )
    outcome, reasons = choice.outcome, choice.reasons
    moving = [str(plan.view) for plan in above if plan.outcome is not Outcome.NO_OP]
    if moving and outcome is Outcome.NO_OP:
        outcome = Outcome.INCREMENTAL
        reasons = (Reason("parent-moves", f"{', '.join(moving)} will change first"),)
    return Plan(view.name, outcome, reasons, windows, view.plan.strategy, steps)


def _pins(engine: Engine, view: Compiled) -> dict[TableName, Pinned]:
    """The sources as they are now; a view that is read at its last change, as a run reads it."""
    from grebe.engine.choice import Pinned
    from grebe.engine.cut import parent_pin

    parents = {engine.views[name].storage_name: engine.views[name] for name in view.parents}
    pins: dict[TableName, Pinned] = {}
    for name, _ in view.sources:
        source = engine.tables.source(name, lambda: engine.spark)
        position = engine.tables.position(name, lambda: engine.spark) if name in parents else None
        if position is not None:
            pins[name] = parent_pin(source, position, parents[name].fingerprint)
        else:
            pins[name] = Pinned(source, source.head())
    return pins


def _window(name: TableName, window: Window, pin: Pinned) -> PlannedWindow:
    stats = pin.source.window_stats(window)
    return PlannedWindow(name, window, stats.rows_added, stats.rows_removed)
