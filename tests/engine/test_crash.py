"""L5: kill a refresh anywhere, recover, refresh: the views equal their queries.

`make test` kills at some places; `make test-crash` at every place of every kind of refresh, and
counts in docs/evidence/engine_crash.json.
"""

from __future__ import annotations

import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.site import KINDS, MATRIX, SCHEMA, VIEWS, Site
from evidence import LongRun
from formats.commit.lake import Barrier, until
from grebe.engine import recover
from grebe.engine.engine import Engine
from grebe.formats.failpoints import VARIABLE
from grebe.model import Outcome, Policy

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("graph", "iceberg.proved"),
        pytest.param("large", "run.staged", marks=pytest.mark.crash),
    ],
)
def test_a_refresh_that_is_killed(site: Site, kind: str, place: str) -> None:
    site.killed(kind, place, len(MATRIX) * KINDS.index(kind))


@pytest.mark.crash
@pytest.mark.timeout(0)
def test_refreshes_killed_at_every_place(site: Site, engine_run: LongRun) -> None:
    for seed in engine_run.seeds():
        kind, place = MATRIX[seed % len(MATRIX)]
        site.killed(kind, place, seed)
        engine_run.add(kills=1, **{kind: 1, place.replace(".", "_"): 1})


def test_a_recovery_that_is_killed_is_recovered(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a lost connection stands for the kill: recovery keeps no state of its own."""
    site.batch(50)
    victim = site.nursery.worker()
    texts = {f"{SCHEMA}.{name}": text for name, text in site.views.items()}
    victim.ask("open", views=texts)
    # A branch, a staged table and an entry in the journal stay behind; somebody drops a name.
    victim.ask("refresh", failpoints="iceberg.proved=kill", large=True)
    site.sql("DROP VIEW lake.crash.named")
    until(lambda: True if not any(map(site.held, site.views)) else None, "leases stay")
    for place in recover.PLACES:
        monkeypatch.setenv(VARIABLE, f"{place}=raise:once")
        with pytest.raises(ConnectionError):
            site.engine.recover(older_than=timedelta(0))
    monkeypatch.setenv(VARIABLE, "")
    site.recovered()
    site.refreshed()


@pytest.mark.parametrize("place", ["iceberg.publish.request", "iceberg.publish.reply"])
def test_a_lost_reply_of_the_commit_is_no_failure(
    site: Site, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    site.batch(60 + len(place))
    monkeypatch.setenv(VARIABLE, f"{place}=raise:once")
    site.refreshed()
    monkeypatch.setenv(VARIABLE, "")
    assert {result.outcome for result in site.engine.refresh()} == {Outcome.NO_OP}


def test_a_young_branch_and_a_held_lease_are_left_alone(site: Site) -> None:
    site.batch(70)
    victim = site.nursery.worker()
    victim.ask("open", views={f"{SCHEMA}.sums": VIEWS["sums"]})
    victim.ask("refresh", failpoints="iceberg.proved=kill")
    view = site.engine.view(f"{SCHEMA}.sums")
    storage = site.engine.tables.storage(view.storage_name, site.engine.spark)
    (orphan,) = storage.orphans()
    until(lambda: None if site.held("sums") else True, "the lease stays")
    assert not [repair for repair in site.engine.recover() if repair.kind == "branch"]
    lease = site.registry.acquire(f"lake.{SCHEMA}.sums", "somebody", 60)
    assert lease is not None
    assert not [
        repair for repair in site.engine.recover(older_than=timedelta(0)) if repair.kind == "branch"
    ]
    assert storage.orphans() == (orphan,)
    held = site.engine.refresh([f"{SCHEMA}.sums"])[0]
    assert (held.outcome, held.reasons[0].code) == (Outcome.FAILED, "lease-held")
    site.registry.release(lease)
    site.recovered()
    site.refreshed()


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, id="term", marks=pytest.mark.crash),
        pytest.param(signal.SIGINT, id="int"),
    ],
)
def test_a_refresh_that_is_stopped(site: Site, tmp_path: Path, number: signal.Signals) -> None:
    """By a scheduler at once; by Ctrl-C when the views at hand are done, and no other begins."""
    site.batch(110 + number)
    victim = site.nursery.worker()
    victim.ask("open", views={f"{SCHEMA}.{name}": text for name, text in site.views.items()})
    before = {run.run_id for run in site.registry.runs()}
    with Barrier(tmp_path / "stop") as barrier:
        victim.send("refresh", failpoints=barrier.at("iceberg.proved"))
        paused = barrier.arrive()
        victim.signal(number)
        if number == signal.SIGINT:
            barrier.release(paused)
    assert victim.answer() == {"died": True}
    site.holds()
    if number == signal.SIGINT:
        assert not any(map(site.held, site.views))
        begun = [run for run in site.registry.runs() if run.run_id not in before]
        assert {run.outcome for run in begun} <= {Outcome.INCREMENTAL, Outcome.FAILED}
        assert f"lake.{SCHEMA}.best" not in {run.view for run in begun}
    site.recovered()
    site.refreshed()


def outcome_of(site: Site, run_id: str) -> Any:
    return next(item for item in site.registry.runs() if item.run_id == run_id).outcome


def test_the_journal_is_repaired_from_the_storage_table(site: Site) -> None:
    for place, landed in (("refresh.committed", True), ("refresh.computed", False)):
        site.batch(80 + int(landed))
        victim = site.nursery.worker()
        victim.ask("open", views={f"{SCHEMA}.sums": VIEWS["sums"]})
        victim.ask("refresh", failpoints=f"{place}=kill")
        (unfinished,) = site.registry.unfinished()
        site.recovered()
        expected = Outcome.INCREMENTAL if landed else Outcome.FAILED
        assert outcome_of(site, unfinished.run_id) is expected
        site.refreshed()


def test_everything_works_without_a_registry(site: Site) -> None:
    site.batch(90)
    alone = Engine(site.engine.settings, site.engine.spark)
    alone.define(f"{SCHEMA}.sums", VIEWS["sums"])
    assert alone.refresh(policy=Policy.INCREMENTAL)[0].outcome is Outcome.INCREMENTAL
    assert alone.recover() == []
