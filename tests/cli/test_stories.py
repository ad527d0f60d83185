"""Events and the registry tell the same story, whatever becomes of a run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.test_two_at_once import prepared
from grebe.api import Project
from grebe.errors import GrebeError
from grebe.events import (
    CycleEnded,
    CycleStarted,
    Event,
    RunEnded,
    RunStarted,
    SourceSeen,
    StepEnded,
    StepStarted,
    ViewVerified,
)
from grebe.formats.failpoints import VARIABLE
from grebe.model import Outcome
from grebe.registry import Registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evidence import LongRun

pytestmark = pytest.mark.spark

HAPPENINGS = (
    "insert", "delete", "update", "no change", "failpoint", "held lease", "broken view", "bad data",
    "full", "verify", "tampered",
)  # fmt: skip
PLACES = ("refresh.planned", "refresh.computed", "refresh.committed", "run.pinned")


def agree(heard: list[Event], registry: Registry, after: int) -> Counter[str]:
    """That what was heard is what the registry knows of the runs since; what it was."""
    records = {(run.run_id, run.view): run for run in registry.runs(limit=None)[: -after or None]}
    begun = {(item.run_id, str(item.view)): item for item in heard if isinstance(item, RunStarted)}
    ended = {(item.run_id, str(item.view)): item for item in heard if isinstance(item, RunEnded)}
    assert begun.keys() == records.keys()
    assert ended.keys() == {key for key, run in records.items() if run.is_over}
    for key, event in ended.items():
        run = records[key]
        assert (event.outcome, event.rows_in, event.rows_out) == (
            run.outcome,
            run.counts.rows_in,
            run.counts.rows_out,
        )
        assert [reason.code for reason in event.reasons] == [reason.code for reason in run.reasons]
        assert (event.frontier.to_json() if event.frontier else None) == run.frontier_json
        assert event.cost == run.cost
        assert (event.error is None) == (run.error is None)
        assert begun[key].trigger == run.trigger
        ran = [item for item in heard if isinstance(item, StepEnded) and item.run_id == key[0]]
        told = registry.steps(key[1], key[0]) if ran else None
        kept = json.loads(told[1]) if told else []
        assert [(f"{item['kind']} {item['name']}".strip(), item["rows"]) for item in kept] == [
            (item.step, item.rows) for item in ran
        ]
        steps = [item for item in heard if isinstance(item, StepStarted) and item.run_id == key[0]]
        assert {item.step for item in ran} <= {item.step for item in steps}
        assert all(1 <= item.number <= item.of for item in steps)
    seen = {
        (str(item.source), item.identity, item.version)
        for item in heard
        if isinstance(item, SourceSeen)
    }
    known = {(item.source, item.identity, item.version) for item in registry.sources(limit=None)}
    assert seen <= known
    checks = [item for item in heard if isinstance(item, ViewVerified)]
    stored = registry.checks(limit=len(checks))[::-1] if checks else []
    assert [(str(c.view), c.equal, c.rows, c.differing, c.code) for c in checks] == [
        (c.view, c.equal, c.rows, c.differing, c.trouble) for c in stored
    ]
    cycles = [item for item in heard if isinstance(item, CycleStarted)]
    assert len(cycles) == sum(isinstance(item, CycleEnded) for item in heard)
    assert {item.cycle_id for item in begun.values()} <= {item.cycle_id for item in cycles}
    return Counter(str(event.outcome) for event in ended.values())


def move(project: Project, what: str, seed: int) -> None:
    """What becomes of the source, or of a view's own rows, before the refresh."""
    source = "lake.main.t"
    match what:
        case "insert" | "full" | "verify" | "failpoint" | "held lease" | "broken view":
            project.sql(f"INSERT INTO {source} VALUES ({seed + 10}, 'k', {seed})").collect()
        case "delete":
            project.sql(f"DELETE FROM {source} WHERE id % 3 = {seed % 3}").collect()
        case "update":
            project.sql(f"UPDATE {source} SET x = x + 1").collect()
        case "bad data":
            project.sql(f"INSERT INTO {source} VALUES ({seed + 10}, 'k', 2000000000)").collect()
            project.sql(f"INSERT INTO {source} VALUES ({seed + 11}, 'k', 2000000000)").collect()
        case "tampered":
            name = project.written()["lake.main.a"].facts
            assert name is not None
            assert name.storage is not None
            project.sql(f"DELETE FROM {name.storage.quoted()}").collect()


def happen(project: Project, folder: Path, what: str, seed: int) -> None:
    """One thing that a refresh meets, the refresh, and what makes it whole again."""
    move(project, what, seed)
    view = folder / "views" / "b.sql"
    text, lease = view.read_text(), None
    if what == "broken view":
        view.write_text("SELECT nothing FROM t")
    if what == "held lease":
        lease = project.registry.acquire("lake.main.a", "somebody", 600)
        assert lease is not None
    if what == "failpoint":
        os.environ[VARIABLE] = f"{PLACES[seed % len(PLACES)]}=raise:once"
    try:
        project.refresh(full=what == "full", jobs=1 + seed % 2)
    except (GrebeError, ConnectionError):
        assert what == "failpoint"
    finally:
        os.environ.pop(VARIABLE, None)
        view.write_text(text)
        if lease is not None:
            project.registry.release(lease)
    if what in ("verify", "tampered"):
        project.verdicts()
    if what == "bad data":
        project.sql("DELETE FROM lake.main.t WHERE x >= 2000000000").collect()


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Path:
    prepared(tmp_path, spark, None)
    return tmp_path


def lives(folder: Path, spark: SparkSession, happenings: list[str], seed: int) -> Counter[str]:
    heard: list[Event] = []
    found: Counter[str] = Counter()
    with Project.open(folder, spark=spark, listeners=[heard.append]) as project:
        for number, what in enumerate(happenings):
            heard.clear()
            before = len(project.registry.runs(limit=None))
            happen(project, folder, what, seed + number)
            assert project.workspace.announcer.settle()
            found += agree(heard, project.registry, before)
    return found


def test_events_and_the_registry_tell_the_same_story(folder: Path, spark: SparkSession) -> None:
    order = list(HAPPENINGS)
    random.Random(7).shuffle(order)
    outcomes = lives(folder, spark, order, 3)
    assert outcomes["failed"] >= 3
    assert outcomes["incremental"] >= 3
    assert outcomes["full"] >= 3


@pytest.mark.laws
def test_drawn_runs_tell_the_same_story(
    folder: Path, spark: SparkSession, long_run: LongRun
) -> None:
    for seed in long_run.seeds():
        draw = random.Random(seed)
        order = [draw.choice(HAPPENINGS) for _ in range(6)]
        outcomes = lives(folder, spark, order, draw.randrange(1000))
        long_run.add(runs=outcomes.total(), failed=outcomes["failed"])


CHILD = """
import sys
from dataclasses import astuple
from grebe.api import Project
from grebe.events import RunEnded, RunStarted

def listen(event):
    if isinstance(event, (RunStarted, RunEnded)):
        with open(sys.argv[2], "a") as file:
            file.write(f"{type(event).__name__} {event.run_id} {event.view}\\n")

with Project.open(sys.argv[1], listeners=[listen]) as project:
    project.refresh()
"""


@pytest.mark.crash
def test_killed_runs_tell_the_same_story(
    folder: Path, spark: SparkSession, long_run: LongRun
) -> None:
    """What was heard of a killed run is what the registry holds of it, but for the moment of its death."""
    places = ("run.leased", "run.begun", *PLACES, "refresh.shown", "run.recorded")
    for seed in long_run.seeds():
        place, log = places[seed % len(places)], folder / f"heard-{seed}"
        with Project.open(folder, spark=spark) as project:
            project.sql(f"INSERT INTO lake.main.t VALUES ({seed + 100}, 'k', {seed})").collect()
            before = {(run.run_id, run.view) for run in project.registry.runs(limit=None)}
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(folder), str(log)],
            env={**os.environ, VARIABLE: f"{place}=kill"},
            capture_output=True,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        with Project.open(folder, spark=spark) as project:
            runs = {
                (run.run_id, run.view): run
                for run in project.registry.runs(limit=None)
                if (run.run_id, run.view) not in before
            }
            heard = list(lines(log))
            assert {(run, view) for _, run, view in heard} <= runs.keys()
            for kind, run, view in heard:
                assert kind == "RunStarted" or runs[run, view].is_over
            project.sql("SELECT 1").collect()
            expire(project)
            project.recover()
            assert {item.outcome for item in project.refresh()} <= {
                Outcome.INCREMENTAL,
                Outcome.NO_OP,
                Outcome.FULL,
            }
        long_run.add(kills=1, runs=len(runs), heard=len(heard))


def lines(log: Path) -> Iterator[tuple[str, str, str]]:
    if log.exists():
        for line in log.read_text().splitlines():
            kind, run, view = line.split()
            yield kind, run, view


def expire(project: Project) -> None:
    """The dead hold their leases for a minute: nobody waits for that here."""
    project.registry.free_all()
