"""Two processes refresh one view while a third changes its sources; readers look on.

`make test` does a few rounds; `make test-races` many, counted in docs/evidence/engine_races.json.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import pytest

from engine.site import SCHEMA, VIEWS, Site
from engine.worker import Worker
from evidence import LongRun
from grebe.model import Outcome, Policy

pytestmark = pytest.mark.spark

CLEAN = {"conflict", "lease-held"}
"""What may stop a refresh that came second."""
COLUMNS = ["k", "total", "n"]
_numbers = count()


@dataclass(slots=True)
class Race:
    """Two processes with the same views, each as if it were alone."""

    site: Site
    racers: tuple[Worker, Worker]
    counts: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def opened(site: Site, *, journal: bool) -> Race:
        racers = (site.nursery.worker(), site.nursery.worker())
        texts = {f"{SCHEMA}.{name}": VIEWS[name] for name in ("sums", "named")}
        for racer in racers:
            assert "views" in racer.ask("open", views=texts, journal=journal)
        return Race(site, racers)

    def round(self, seed: int) -> None:
        """Both refresh, and the sources move before, meanwhile and after."""
        self.site.batch(seed)
        for racer in self.racers:
            racer.send("refresh")
        self.site.batch(seed + 1)
        for racer in self.racers:
            answer = racer.answer()
            for name, result in answer["results"].items():
                clean = result["outcome"] != "failed" or set(result["codes"]) <= CLEAN
                assert clean, (name, result)
                self.counts[result["codes"][0] if result["outcome"] == "failed" else "won"] += 1
        self.counts["refreshes"] += 4
        self.site.holds()

    def close(self) -> None:
        for racer in self.racers:
            racer.close()
        self.site.refreshed()


@pytest.mark.parametrize("journal", [True, pytest.param(False, marks=pytest.mark.races)])
def test_two_processes_refresh_the_same_views(site: Site, journal: bool) -> None:
    race = Race.opened(site, journal=journal)
    race.round(100)
    race.close()
    if not journal:
        assert race.counts["won"] >= 1


@pytest.mark.races
@pytest.mark.timeout(0)
def test_two_processes_refresh_the_same_views_often(site: Site, engine_run: LongRun) -> None:
    for seed in engine_run.seeds():
        race = Race.opened(site, journal=seed % 2 == 0)
        for number in range(10):
            race.round(1000 + seed * 20 + number * 2)
        race.close()
        engine_run.add(**{name.replace("-", "_"): found for name, found in race.counts.items()})


# --- readers ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Reader:
    """Polls a public name and keeps what it must never see."""

    site: Site
    name: str
    over: threading.Event = field(default_factory=threading.Event)
    reads: int = 0
    steps: set[object] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def poll(self) -> None:
        session = self.site.server.connect()
        while not self.over.is_set():
            try:
                frame = session.sql(f"SELECT * FROM lake.{SCHEMA}.{self.name}")
                rows = frame.collect()
            except Exception as error:
                self.wrong.append(str(error)[:500])
                return
            self.reads += 1
            shown = {row["total"] / row["n"] for row in rows}
            self.steps |= shown
            if frame.columns != COLUMNS or len(shown) != 1 or len(rows) != 3:
                self.wrong.append(f"{frame.columns} {rows}")


@contextmanager
def watched(site: Site, name: str) -> Iterator[Reader]:
    reader = Reader(site, name)
    thread = threading.Thread(target=reader.poll)
    thread.start()
    try:
        yield reader
    finally:
        reader.over.set()
        thread.join()


def watched_refreshes(site: Site, refreshes: int) -> Counter[str]:
    """Every commit sets all rows to the same step, so a mixture of two would show."""
    name = f"steady{next(_numbers)}"
    table = f"{SCHEMA}.steps_{name}"
    site.sql(f"CREATE TABLE lake.{table} (k BIGINT, v BIGINT) USING iceberg")
    site.sql(f"INSERT INTO lake.{table} SELECT id % 3, 0 FROM range(12)")
    text = f"SELECT k, SUM(v) AS total, COUNT(*) AS n FROM {table} GROUP BY k"
    engine = site.engine
    engine.define(f"{SCHEMA}.{name}", text)
    engine.refresh([f"{SCHEMA}.{name}"])
    counts: Counter[str] = Counter()
    with watched(site, name) as reader:
        for step in range(1, refreshes + 1):
            site.sql(f"UPDATE lake.{table} SET v = {step}")
            if step % 10 == 5:
                changed = text.replace(" GROUP BY", f" WHERE k > -{step} GROUP BY")
                engine.define(f"{SCHEMA}.{name}", changed)
                counts["definitions"] += 1
            policy = Policy.FULL if step % 10 == 0 else None
            (result,) = engine.refresh([f"{SCHEMA}.{name}"], policy=policy)
            assert result.outcome in (Outcome.INCREMENTAL, Outcome.FULL), result
            counts[result.outcome.value] += 1
            if step % 10 == 7:
                site.engine.spark.sql(
                    f"CALL lake.system.rewrite_data_files(table => '{SCHEMA}."
                    f"{engine.view(f'{SCHEMA}.{name}').storage_name.name}',"
                    " options => map('rewrite-all', 'true'))"
                ).collect()
    assert reader.wrong == []
    assert len(reader.steps) > 1
    counts.update(reads=reader.reads, states_seen=len(reader.steps), refreshes=refreshes)
    engine.views.pop(f"lake.{SCHEMA}.{name}")
    return counts


def test_a_reader_sees_the_old_or_the_new_rows(site: Site) -> None:
    counts = watched_refreshes(site, 3)
    assert counts["reads"] > 0


@pytest.mark.races
@pytest.mark.timeout(0)
def test_a_reader_sees_the_old_or_the_new_rows_often(site: Site, engine_run: LongRun) -> None:
    for _ in engine_run.seeds():
        engine_run.add(**watched_refreshes(site, 100))
