"""Due views become runs: who takes whom along, who joins whom, and in which order runs begin. Pure.

A due view takes along the stale views above it, as nothing else ends its staleness. Due views that share a source
join, so that it is pinned and read once, unless one takes far longer than another. An `update` view runs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from grebe.scheduler.due import NOTHING, Decision, may_run
from grebe.scheduler.wishes import ViewKnown, Wish, timeout_of
from grebe.view_timing import Trigger

MOST_APART: Final = 4.0
"""Views whose runs take more than so many times as long as others' do not join them."""
LARGEST: Final = 24
"""Views in one run: what a run holds, nobody else can refresh."""


@dataclass(frozen=True, slots=True)
class Member:
    """One view of a run."""

    view: str
    trigger: Trigger
    slot: float | None = None
    since: float | None = None
    lag: float | None = None
    refreshed_for: tuple[str, ...] = ()
    """The views for which it is taken along."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """Views that are refreshed together, parents before children."""

    members: tuple[Member, ...]
    rank: float
    takes: float
    timeout: float
    alone: bool = False
    """It may kill its worker, so it has one of its own."""
    is_check: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The views."""
        return tuple(member.view for member in self.members)


def plan_runs(
    decisions: Mapping[str, Decision],
    wishes: Mapping[str, Wish],
    known: Mapping[str, ViewKnown],
    now: float,
) -> list[PlannedRun]:
    """The runs that are to begin, the most urgent first; no view is in two of them."""
    due = sorted((item for item in decisions.values() if item.due), key=_urgency)
    groups: list[_Group] = []
    taken: dict[str, _Group] = {}
    for item in due:
        if item.trigger is Trigger.CHECK:
            if item.view not in taken:
                groups.append(_Group([item], {item.view: ()}, frozenset(), may_grow=False))
            continue
        if item.view in taken:
            taken[item.view].due.append(item)
            continue
        with_it = _above(item.view, wishes, known, decisions, now)
        if any(known.get(name, NOTHING).running for name in with_it):
            continue  # what it reads is being refreshed: it comes when that has ended
        if known.get(item.view, NOTHING).alone or any(
            known.get(name, NOTHING).alone for name in with_it
        ):
            if not taken.keys() & with_it.keys():
                _open(groups, taken, item, with_it, wishes, alone=True)
            continue
        shared = {id(taken[name]): taken[name] for name in with_it if name in taken}
        if len(shared) > 1 or any(not group.may_grow for group in shared.values()):
            continue  # two runs cannot both write what it reads: it waits for them
        group = next(iter(shared.values()), None) or _partner(groups, item, wishes, with_it)
        if group is None:
            _open(groups, taken, item, with_it, wishes)
        else:
            group.join(item, with_it, _leaves(with_it, wishes))
            taken.update(dict.fromkeys(group.views, group))
    return [group.run(wishes, known) for group in groups]


def _urgency(item: Decision) -> tuple[float, float, str]:
    return (item.rank, item.start_by, item.view)


class _Group:
    """Due views, and what they take along."""

    def __init__(
        self,
        due: list[Decision],
        views: dict[str, tuple[str, ...]],
        leaves: frozenset[str],
        *,
        may_grow: bool,
        alone: bool = False,
    ) -> None:
        self.due = due
        self.views = views
        """Every view, and for whom it is taken along."""
        self.leaves = leaves
        self.may_grow = may_grow
        self.alone = alone

    def join(
        self, item: Decision, views: Mapping[str, tuple[str, ...]], leaves: frozenset[str]
    ) -> None:
        self.due.append(item)
        for name, wanted in views.items():
            self.views[name] = tuple(dict.fromkeys((*self.views.get(name, ()), *wanted)))
        self.leaves |= leaves

    def run(self, wishes: Mapping[str, Wish], known: Mapping[str, ViewKnown]) -> PlannedRun:
        own = {item.view: item for item in self.due}
        members = tuple(
            _member(name, own.get(name), wishes[name], self.views[name])
            for name in _in_order(self.views, wishes)
        )
        members = tuple(
            member
            if member.since is not None
            else replace(member, since=_since(known, member.view))
            for member in members
        )
        return PlannedRun(
            members,
            rank=min(item.rank for item in self.due),
            takes=max(item.takes for item in self.due),
            timeout=sum(timeout_of(wishes[name], known.get(name, NOTHING)) for name in self.views),
            alone=self.alone,
            is_check=self.due[0].trigger is Trigger.CHECK,
        )


def _since(known: Mapping[str, ViewKnown], name: str) -> float | None:
    own = known.get(name, NOTHING)
    return own.since if own.stale else None


def _member(
    name: str, decision: Decision | None, wish: Wish, refreshed_for: tuple[str, ...]
) -> Member:
    if decision is None:
        return Member(name, Trigger.DOWNSTREAM, lag=wish.lag, refreshed_for=refreshed_for)
    return Member(name, decision.trigger, decision.slot, decision.since, wish.lag)


def _open(
    groups: list[_Group],
    taken: dict[str, _Group],
    item: Decision,
    with_it: dict[str, tuple[str, ...]],
    wishes: Mapping[str, Wish],
    *,
    alone: bool = False,
) -> None:
    grows = item.trigger is not Trigger.UPDATE and not alone
    group = _Group([item], with_it, _leaves(with_it, wishes), may_grow=grows, alone=alone)
    groups.append(group)
    taken.update(dict.fromkeys(with_it, group))


def _above(
    name: str,
    wishes: Mapping[str, Wish],
    known: Mapping[str, ViewKnown],
    decisions: Mapping[str, Decision],
    now: float,
) -> dict[str, tuple[str, ...]]:
    """A view with the stale views above it that may be refreshed; each with the one it is for."""
    found: dict[str, tuple[str, ...]] = {name: ()}
    waiting = [name]
    while waiting:
        for parent in wishes[waiting.pop()].parents:
            if parent in found or parent not in decisions:
                continue
            if not may_run(wishes[parent], known.get(parent, NOTHING), now):
                continue
            if decisions[parent].stale:
                found[parent] = (name,)
                waiting.append(parent)
    return found


def _leaves(names: Iterable[str], wishes: Mapping[str, Wish]) -> frozenset[str]:
    return frozenset(source for name in names for source in wishes[name].sources)


def _partner(
    groups: list[_Group], item: Decision, wishes: Mapping[str, Wish], with_it: Mapping[str, object]
) -> _Group | None:
    """The run that a due view joins."""
    if item.trigger is Trigger.UPDATE:
        return None
    leaves = _leaves(with_it, wishes)
    for group in groups:
        fits = group.may_grow and len(group.views) + len(with_it) <= LARGEST
        if fits and group.leaves & leaves and _alike(group, item):
            return group
    return None


def _alike(group: _Group, item: Decision) -> bool:
    times = [max(other.takes, 0.001) for other in (*group.due, item)]
    return max(times) / min(times) <= MOST_APART


def _in_order(names: Iterable[str], wishes: Mapping[str, Wish]) -> list[str]:
    """Parents before children."""
    wanted, done = set(names), list[str]()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in done or name in path:
            return
        for parent in wishes[name].parents:
            if parent in wanted:
                visit(parent, (*path, name))
        done.append(name)

    for name in sorted(wanted):
        visit(name, ())
    return done
