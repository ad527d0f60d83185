"""A world without tables: sources that are written, copies of the loop that look, take, run and die; one fake clock.

The decisions and the turn are those of the package. What the registry does in one statement is done here in memory.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

from grebe.scheduler import backoff
from grebe.scheduler import turn as turns
from grebe.scheduler.backoff import FailureKind, RunFailure
from grebe.scheduler.due import Decision, Moment
from grebe.scheduler.moves import SeenHead, seen, since
from grebe.scheduler.run_groups import PlannedRun
from grebe.scheduler.turn import Sight
from grebe.scheduler.wishes import ViewKnown, Wish
from grebe.view_timing import Trigger

LEASE = 60.0
DAY = 86400.0


@dataclass
class Table:
    """A source: its commits by the true clock, and by the writer's own."""

    commits: list[float] = field(default_factory=list)
    skew: float = 0.0
    moves: tuple[SeenHead, ...] = ()

    @property
    def version(self) -> int:
        return len(self.commits)


@dataclass
class Held:
    """What a view shows, and what the registry keeps of it."""

    shows: dict[str, int] = field(default_factory=dict)
    pinned: float | None = None
    version: int = 0
    ends: list[float] = field(default_factory=list)
    """When each version was made, by the true clock."""
    known: ViewKnown = field(default_factory=ViewKnown)
    lease: tuple[int, float] | None = None
    run: int | None = None
    stopped_by: str | None = None
    """Why a person suspended it: kept with its table too."""
    fails: bool = False
    kills: bool = False


@dataclass
class Ran:
    """One run of one view, as it was."""

    view: str
    trigger: Trigger
    slot: float | None
    begun: float
    ended: float | None = None
    outcome: str = ""
    inputs: str = ""
    stale: bool = False
    copy: int = 0


class World:
    """Sources, views, copies; `advance` lets time pass."""

    def __init__(
        self,
        wishes: Mapping[str, Wish],
        *,
        seed: int = 0,
        copies: int = 1,
        jobs: int = 2,
        poll: float = 1.0,
        takes: Callable[[str, Random], float] | None = None,
        start: float = 1_790_000_000.0,
    ) -> None:
        self.random = Random(seed)
        self.wishes = dict(wishes)
        self.views = {name: Held() for name in wishes}
        names = {source for wish in wishes.values() for source in wish.sources}
        self.tables = {name: Table() for name in sorted(names)}
        self.true = start
        self.offset = 0.0
        """What the registry's clock is ahead of the true one."""
        self.poll = poll
        self.jobs = jobs
        self.takes = takes or (lambda _, random: random.uniform(2, 8))
        self.ran: list[Ran] = []
        self.lives = [True] * copies
        self.stopped = [False] * copies
        self.began = [start] * copies
        self.busy: list[set[int]] = [set() for _ in range(copies)]
        self.numbers = count(1)
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.order = count()
        self.watch: list[Callable[[], None]] = []
        self.forgotten = 0
        self.late = 0.0
        """Seconds of views beyond their lag."""
        self.measured = 0.0
        self.worst = 0.0
        self.take_all = turns.turn
        for copy in range(copies):
            self.at(start + copy * poll / 3, self._turning(copy))

    # --- time ---------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """By the registry's clock."""
        return self.true + self.offset

    def at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self.events, (when, next(self.order), what))

    def advance(self, seconds: float) -> None:
        end = self.true + seconds
        while self.events and self.events[0][0] <= end:
            when, _, what = heapq.heappop(self.events)
            self.true = max(self.true, when)
            what()
        self.true = end

    def write(self, table: str) -> None:
        found = self.tables[table]
        found.commits.append(self.true + found.skew)

    def writes(self, table: str, every: float) -> None:
        """Writes again and again, at random."""

        def once() -> None:
            self.write(table)
            self.at(self.true + self.random.expovariate(1 / every), once)

        self.at(self.true + self.random.expovariate(1 / every), once)

    # --- copies -------------------------------------------------------------------------------------

    def kill(self, copy: int) -> None:
        """Its runs end in the middle; nobody gives its leases back."""
        self.lives[copy] = False
        self.busy[copy] = set()

    def start(self, copy: int) -> None:
        if not self.lives[copy]:
            self.lives[copy], self.began[copy] = True, self.now
            self.at(self.true, self._turning(copy))

    def forget(self) -> None:
        """The registry is lost: what views show is in their own tables, what a person stopped too."""
        self.forgotten += 1
        for table in self.tables.values():
            table.moves = ()
        for held in self.views.values():
            held.known, held.lease, held.run = ViewKnown(suspended=held.stopped_by), None, None

    def _turning(self, copy: int) -> Callable[[], None]:
        def once() -> None:
            if not self.lives[copy]:
                return
            later = self.poll
            if not self.stopped[copy]:
                later = self.take_all(_Board(self, copy), _Hands(self, copy))
            self.at(self.true + max(0.05, min(later, self.poll)), once)

        return once

    # --- what stands where --------------------------------------------------------------------------

    def stale(self, name: str) -> bool:
        held, wish = self.views[name], self.wishes[name]
        if held.pinned is None:
            return True
        tables = any(self.tables[item].version != held.shows.get(item) for item in wish.sources)
        return tables or any(
            self.views[item].version != held.shows.get(item, 0) for item in wish.parents
        )

    def true_since(self, name: str) -> float | None:
        """When the first change came that a view does not show, by the true clock and its sources alone."""
        held = self.views[name]
        found = [
            table.commits[shown] - table.skew
            for item in self.leaves(name)
            for table in [self.tables[item]]
            for shown in [self.shown(name, item)]
            if held.pinned is not None and shown < table.version
        ]
        return min(found, default=None)

    def leaves(self, name: str) -> set[str]:
        found = set(self.wishes[name].sources)
        for parent in self.wishes[name].parents:
            found |= self.leaves(parent)
        return found

    def shown(self, name: str, table: str) -> int:
        held = self.views[name]
        return held.shows.get(f"@{table}", held.shows.get(table, 0))


class _Board:
    def __init__(self, world: World, copy: int) -> None:
        self.world, self.copy = world, copy

    def look(self) -> Sight:
        world = self.world
        for table in world.tables.values():
            table.moves = seen(table.moves, str(table.version), world.now)
        self._settle()
        known = {name: self._known(name) for name in world.wishes}
        moment = Moment(world.now, world.poll, world.began[self.copy])
        return Sight(moment, world.wishes, known)

    def _known(self, name: str) -> ViewKnown:
        world, held = self.world, self.world.views[name]
        lease = held.lease
        # A lease that ends later than twice its length is of another clock.
        running = lease is not None and 0 < lease[1] - world.now <= 2 * LEASE
        slot = held.known.last_slot
        if slot is not None and slot > world.now:
            slot = world.now
        stale = world.stale(name)
        began = held.known.started
        return replace(
            held.known, stale=stale, since=self._since(name) if stale else None,
            inputs=self._inputs(name), running=running, last_slot=slot,
            started=None if began is None else min(began, world.now),
            ended=None if held.known.ended is None else min(held.known.ended, world.now),
            retry_at=None if held.known.retry_at is None
            else min(held.known.retry_at, world.now + 2 * backoff.LONGEST_WAIT),
        )  # fmt: skip

    def _since(self, name: str) -> float | None:
        world, held = self.world, self.world.views[name]
        if held.pinned is None:
            return None
        found = [world.now]
        for item in world.wishes[name].sources:
            table, shown = world.tables[item], held.shows.get(item, 0)
            if table.version != shown:
                committed = table.commits[shown] + world.offset
                found.append(
                    since(
                        table.moves,
                        str(shown),
                        committed=committed,
                        now=world.now,
                        pinned=held.pinned,
                    )
                )
        for item in world.wishes[name].parents:
            parent, shown = world.views[item], held.shows.get(item, 0)
            if parent.version != shown:
                found.append(min(parent.ends[shown] + world.offset, world.now))
        return min(found)

    def _inputs(self, name: str) -> str:
        world = self.world
        own = [f"{item}={world.tables[item].version}" for item in world.wishes[name].sources]
        return ",".join(own + [f"{p}={world.views[p].version}" for p in world.wishes[name].parents])

    def _settle(self) -> None:
        """Runs whose lease is over and that did not end: they died."""
        world = self.world
        for held in world.views.values():
            if held.run is not None and held.lease is not None:
                left = held.lease[1] - world.now
                if left <= 0 or left > 2 * LEASE:
                    held.run, held.lease = None, None
                    if held.kills:
                        self._failed(held, FailureKind.DIED)

    def _failed(self, held: Held, kind: FailureKind, inputs: str = "") -> None:
        world = self.world
        name = next(name for name, item in world.views.items() if item is held)
        failure = RunFailure(kind, inputs, "it fails")
        most = world.wishes[name].max_failures
        held.known = backoff.after(held.known, failure, world.now, world.random.random(), most)

    def take(self, run: PlannedRun) -> PlannedRun | None:
        world, mine, lost = self.world, [], set[str]()
        for member in run.members:
            held = world.views[member.view]
            free = held.lease is None or not 0 < held.lease[1] - world.now <= 2 * LEASE
            known_slot = held.known.last_slot
            if known_slot is not None and known_slot > world.now:
                known_slot = world.now
            slot_free = member.slot is None or known_slot is None or known_slot < member.slot
            above = lost & set(world.wishes[member.view].parents)
            if not free or not slot_free or above:
                lost.add(member.view)
                continue
            held.known = replace(
                held.known, started=world.now, wanted=False,
                last_slot=member.slot if member.slot is not None else known_slot,
            )  # fmt: skip
            held.lease = (self.copy, world.now + LEASE)
            mine.append(member)
        return replace(run, members=tuple(mine)) if mine else None

    def tell(self, sight: Sight, found: Mapping[str, Decision]) -> None:
        """The world sees for itself."""


class _Hands:
    def __init__(self, world: World, copy: int) -> None:
        self.world, self.copy = world, copy

    def is_free(self, run: PlannedRun) -> bool:
        return len(self.world.busy[self.copy]) < self.world.jobs

    def start(self, run: PlannedRun) -> None:
        world, copy, number = self.world, self.copy, next(self.world.numbers)
        world.busy[copy].add(number)
        pinned = {name: table.version for name, table in world.tables.items()}
        begun, entries, board = world.now, list[Ran](), _Board(world, copy)
        for member in run.members:
            world.views[member.view].run = number
            entry = Ran(
                member.view, member.trigger, member.slot, world.true, copy=copy,
                inputs=board._inputs(member.view), stale=world.stale(member.view),
            )  # fmt: skip
            entries.append(entry)
        world.ran += entries

        def renew() -> None:
            if number in world.busy[copy] and world.lives[copy] and not world.stopped[copy]:
                for member in run.members:
                    held = world.views[member.view]
                    if held.run == number and held.lease is not None and held.lease[0] == copy:
                        held.lease = (copy, world.now + LEASE)
            if number in world.busy[copy]:
                world.at(world.true + LEASE / 3, renew)

        def step(place: int) -> Callable[[], None]:
            def end() -> None:
                if not world.lives[copy] or number not in world.busy[copy]:
                    return
                self._end(run, place, number, begun, pinned, entries[place])
                if place + 1 < len(run.members) and number in world.busy[copy]:
                    name = run.members[place + 1].view
                    world.at(world.true + world.takes(name, world.random), step(place + 1))
                else:
                    world.busy[copy].discard(number)

            return end

        world.at(world.true + LEASE / 3, renew)
        world.at(world.true + world.takes(run.members[0].view, world.random), step(0))

    def _end(
        self,
        run: PlannedRun,
        place: int,
        number: int,
        begun: float,
        pinned: Mapping[str, int],
        entry: Ran,
    ) -> None:
        world, member = self.world, run.members[place]
        held, wish = world.views[member.view], world.wishes[member.view]
        if held.run != number:
            return  # paused past its lease: the commit finds that somebody else moved the table
        if held.kills:
            world.busy[self.copy].discard(number)
            entry.outcome = "died"
            return  # nobody gives the lease back
        board = _Board(world, self.copy)
        entry.ended = world.true
        held.run, held.lease = None, None
        if held.fails:
            entry.outcome = "failed"
            board._failed(held, FailureKind.OWN, entry.inputs)
            return
        new = {item: pinned[item] for item in wish.sources}
        new |= {item: world.views[item].version for item in wish.parents}
        through = {
            f"@{item}": min(
                [pinned[item]] if item in wish.sources else [],
                default=min(
                    (world.shown(p, item) for p in wish.parents if item in world.leaves(p)),
                    default=0,
                ),
            )
            for item in world.leaves(member.view)
        }
        changed = held.pinned is None or {k: held.shows.get(k) for k in new} != new
        entry.outcome = "done" if changed else "no-op"
        held.version += changed
        held.ends += [world.true] * changed
        held.shows, held.pinned = {**new, **through}, begun
        held.known = backoff.after_success(held.known, world.now, world.true - entry.begun)


def lateness(world: World, views: Mapping[str, float], step: float = 5.0) -> Callable[[], None]:
    """Measures, again and again, which of the views are later than their lag."""
    sums: dict[str, float] = defaultdict(float)

    def once() -> None:
        for name, lag in views.items():
            found = world.true_since(name)
            stale = 0.0 if found is None else world.true - found
            world.measured += step
            world.late += step * (stale > lag)
            world.worst = max(world.worst, stale / lag)
            sums[name] += stale
        world.at(world.true + step, once)

    return once


def runs_of(world: World) -> Counter[str]:
    """How often each view ran."""
    return Counter(item.view for item in world.ran)


__all__ = ["DAY", "LEASE", "Held", "Ran", "Table", "World", "lateness", "runs_of"]
