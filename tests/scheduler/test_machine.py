"""The laws of the page *Keeping views fresh*, over days drawn at random: S1 to S7."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from random import Random

import pytest

from evidence import LongRun
from grebe.scheduler.wishes import Wish
from grebe.view_timing import Trigger
from scheduler.drawn import drawn_world, trouble
from scheduler.world import DAY, LEASE, World, lateness

CALM, ROUGH = 4 * 3600.0, 8 * 3600.0


def one_day(seed: int) -> World:
    """A day in which things go wrong, and a quiet evening."""
    world, random = drawn_world(seed), Random(seed + 1)
    for held in world.views.values():
        if random.random() < 0.1:
            held.known = type(held.known)(suspended="by a person")
            held.stopped_by = "by a person"
    for _ in range(random.choice([0, 3, 8])):
        world.at(world.true + random.uniform(0, DAY - CALM), lambda: trouble(world, random))
    world.advance(DAY - CALM)
    for copy in range(len(world.lives)):
        world.stopped[copy] = False
        world.start(copy)
    world.advance(CALM)
    return world


def check_laws(world: World) -> None:
    check_S1(world)
    check_S2(world)
    check_S3(world)
    check_S5(world)
    check_S7(world)


def check_S1(world: World) -> None:
    """No two runs of a view overlap while leases hold."""
    by_view = defaultdict(list)
    for run in world.ran:
        by_view[run.view].append(run)
    for runs in by_view.values():
        for one, two in itertools.pairwise(runs):
            over = one.ended if one.ended is not None else one.begun
            if one.copy == two.copy:
                assert two.begun >= over
    held = Counter(name for name, item in world.views.items() if item.run is not None)
    assert all(number == 1 for number in held.values())


def check_S2(world: World) -> None:
    """One slot, one run; a registry that was lost may serve its last one again."""
    slots = Counter((run.view, run.slot) for run in world.ran if run.slot is not None)
    again = sum(number - 1 for number in slots.values())
    assert again <= world.forgotten * len(world.views)


def check_S3(world: World) -> None:
    """Manual and suspended views never run."""
    for name, wish in world.wishes.items():
        if wish.kind is Trigger.MANUAL or world.views[name].stopped_by:
            assert not [run for run in world.ran if run.view == name]


def check_S5(world: World) -> None:
    """A view that fails for ever runs five times at most, and never twice on equal inputs."""
    lives = 1 + world.forgotten
    for name, held in world.views.items():
        runs = [run for run in world.ran if run.view == name]
        if held.fails:
            failed = [run for run in runs if run.outcome == "failed"]
            assert len(failed) <= 5 * lives
            inputs = Counter(run.inputs for run in failed)
            assert all(number <= lives for number in inputs.values()), (name, inputs)
        if held.kills:
            assert len([run for run in runs if run.outcome == "died"]) <= 5 * lives


def check_S7(world: World) -> None:
    """Whatever happened: in the quiet evening everything that should be fresh was refreshed."""
    for name, wish in world.wishes.items():
        held = world.views[name]
        if (
            held.fails
            or held.kills
            or held.known.suspended
            or wish.kind in (Trigger.MANUAL, Trigger.DOWNSTREAM)
        ):
            continue
        if any(item.fails or item.kills for item in world.views.values()):
            continue  # what reads them may wait for them
        period = {Trigger.LAG: wish.lag or 0.0}.get(wish.kind, 3600.0)
        if wish.kind is Trigger.SCHEDULE:
            continue
        since = world.true_since(name)
        stale = 0.0 if since is None or not world.stale(name) else world.true - since
        manual = any(
            world.wishes[p].kind is Trigger.MANUAL or world.views[p].stopped_by
            for p in above(world, name)
        )
        assert manual or stale <= 6 * period + LEASE, (name, wish, stale)


def above(world: World, name: str) -> set[str]:
    found = set(world.wishes[name].parents)
    for parent in world.wishes[name].parents:
        found |= above(world, parent)
    return found


def test_S1_to_S7_over_days() -> None:
    for seed in range(200):
        check_laws(one_day(seed))


@pytest.mark.laws
def test_S1_to_S7_over_thousands_of_days(long_run: LongRun) -> None:
    for seed in long_run.seeds():
        for number in range(50):
            check_laws(one_day(1000 + 50 * seed + number))
        long_run.add(days=50)


# --- S4 and S6: lateness under load ---------------------------------------------------------------------


def loaded(load: float, seed: int, hours: float = 2.0) -> World:
    """Thirty views with lags over ten sources, two copies of one hand each, busy for a share of their time."""
    random = Random(seed)
    lags = [random.choice([60.0, 120.0, 300.0, 600.0, 1800.0]) for _ in range(30)]
    wishes = {
        f"v{number}": Wish(f"v{number}", Trigger.LAG, sources=(f"t{number % 10}",), lag=lag)
        for number, lag in enumerate(lags)
    }
    takes = 2 * load / sum(1 / lag for lag in lags)
    world = World(
        wishes, seed=seed, copies=2, jobs=1, poll=1.0,
        takes=lambda _, own: takes * own.uniform(0.5, 1.5),
    )  # fmt: skip
    for table in world.tables:
        world.writes(table, 20.0)
    world.advance(900.0)  # the first builds
    lags_of = {name: wish.lag or 0.0 for name, wish in wishes.items()}
    world.at(world.true, lateness(world, lags_of))
    world.advance(hours * 3600)
    return world


def in_time(world: World) -> float:
    return 1 - world.late / world.measured


def test_S4_at_half_load_views_are_in_time() -> None:
    for seed in range(2):
        world = loaded(0.5, seed, 1.0)
        assert in_time(world) >= 0.95, (in_time(world), world.worst)


def test_S6_with_too_much_to_do_nobody_is_forgotten() -> None:
    for seed in range(2):
        world = loaded(1.3, seed, 1.0)
        assert world.worst <= 6, (in_time(world), world.worst)
