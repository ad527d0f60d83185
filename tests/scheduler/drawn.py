"""Days of a scheduler, drawn at random: settings, loads, deaths, stops, jumps of the clock."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from grebe.schedule import Cron, Every
from grebe.scheduler.wishes import Wish
from grebe.view_timing import Trigger
from scheduler.world import World

ZONES = (
    "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia",
    "Asia/Kathmandu",
)  # fmt: skip
CRONS = ("0 2 * * *", "30 2 * * *", "*/30 * * * *", "15 * * * *", "0 */6 * * *", "5 0 * * 1-5")
CHANGES_OF_CLOCKS = (1774746000.0, 1793062800.0, 1762063200.0, 1775311200.0)
"""Nights in which clocks of some zone were put forward or back."""
LOADS = ((0.3, 0.1), (0.5, 0.5), (0.7, 1.3))


def drawn_wish(random: Random, name: str, tables: list[str], above: list[str]) -> Wish:
    kind = random.choice(
        [
            Trigger.LAG,
            Trigger.LAG,
            Trigger.UPDATE,
            Trigger.SCHEDULE,
            Trigger.DOWNSTREAM,
            Trigger.MANUAL,
        ]
    )
    parents = tuple(random.sample(above, min(len(above), random.choice([0, 0, 1, 2]))))
    sources = (
        tuple(random.sample(tables, min(len(tables), random.choice([1, 1, 2]))))
        if not parents or random.random() < 0.3
        else ()
    )
    lag = random.choice([120.0, 600.0, 3600.0]) if kind is Trigger.LAG else None
    slots: Cron | Every | None = None
    if kind is Trigger.SCHEDULE:
        slots = random.choice(
            [Every(timedelta(hours=1)), Every(timedelta(minutes=20)),
             Cron.parse(random.choice(CRONS), random.choice(ZONES))]
        )  # fmt: skip
    return Wish(
        name, kind, parents, sources, lag, slots,
        at_most_every=random.choice([1.0, 5.0, 60.0]),
        catch_up=random.choice(["one", "one", "none"]),
    )  # fmt: skip


def drawn_world(seed: int, *, views: int = 4) -> World:
    """Some views over some tables, and copies that look after them."""
    random = Random(seed)
    tables = [f"t{number}" for number in range(random.randint(1, 4))]
    wishes: dict[str, Wish] = {}
    for number in range(views):
        wishes[f"v{number}"] = drawn_wish(random, f"v{number}", tables, list(wishes))
    start = random.choice([1_790_000_000.0, *(when - 6 * 3600 for when in CHANGES_OF_CLOCKS)])
    slow = random.choice([2.0, 10.0, 40.0])
    world = World(
        wishes, seed=seed, copies=random.choice([1, 2, 2, 3]), jobs=random.choice([1, 2]), poll=120.0,
        takes=lambda _, own: own.uniform(0.3, 1.7) * slow, start=start,
    )  # fmt: skip
    for table in world.tables:
        world.writes(table, random.choice([30.0, 600.0, 7200.0]))
        world.tables[table].skew = random.choice([0.0, 0.0, 3600.0, -365 * 86400.0])
    for held in world.views.values():
        held.fails = random.random() < 0.1
        held.kills = not held.fails and random.random() < 0.1
    return world


def trouble(world: World, random: Random) -> None:
    """Something happens to a copy, to the clock, or to the registry."""
    copy = random.randrange(len(world.lives))
    match random.randrange(6):
        case 0:
            world.kill(copy)
            world.at(world.true + random.uniform(1, 600), lambda: world.start(copy))
        case 1:
            world.stopped[copy] = True

            def go_on() -> None:
                world.stopped[copy] = False

            world.at(world.true + random.uniform(1, 300), go_on)
        case 2:
            world.offset += random.choice([-86400.0, 86400.0, -0.5, 3600.0])
        case 3:
            world.forget()
        case _:
            pass
