"""L1-L4, L6 and L7 on Spark: random views over random histories, as one graph.

Sources and storage are in Iceberg; or the sources in three formats, and the storage elsewhere.

`make test` checks one lake; `make test-laws` goes on by seed and counts in
docs/evidence/engine_laws.json. L5 (kill anywhere) is in `test_crash.py`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.lawful import Lake
from engine.mixed_lake import STORAGE, MixedLake
from evidence import LongRun
from grebe import thresholds
from grebe.config import Settings
from grebe.config.settings_model import RefreshSettings
from grebe.engine.engine import Engine
from grebe.engine.refresh import RefreshResult
from grebe.engine.small_steps_run import SHADOW
from grebe.model import Outcome, Policy, SmallChoice
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_numbers = count()


@pytest.fixture(autouse=True)
def _every_small_step_is_run_by_both_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHADOW, "1")


def lawful(
    spark: SparkSession, project: Settings, seed: int, *, views: int, rounds: int
) -> Counter[str]:
    """Every law over one random lake; what was counted."""
    engine = Engine(replace(project, refresh=RefreshSettings(SmallChoice.AUTO)), spark)
    lake = Lake.opened(spark, engine, f"law{seed}_{next(_numbers)}", seed)
    counts = held(lake, views=views, rounds=rounds)
    drop(lake)
    return counts


def held(lake: Lake, *, views: int, rounds: int) -> Counter[str]:
    """Rounds of changes and refreshes; everything that was counted."""
    lake.define(views)
    counts: Counter[str] = Counter(views=len(lake.views), lakes=1)
    note(counts, lake.refresh(jobs=2))
    lake.check()
    for _ in range(rounds):
        kinds = [lake.change() for _ in range(lake.rng.randint(1, 3))]
        counts.update(f"change_{kind.replace(' ', '_')}" for kind in kinds)
        policy = Policy.FULL if lake.rng.random() < 0.1 else None
        results = lake.refresh(policy=policy, jobs=2)
        note(counts, results)
        lake.check()
        nothing_left(lake, results, counts)
    plans_are_equal(lake)
    return counts


def note(counts: Counter[str], results: dict[str, RefreshResult]) -> None:
    counts.update(refreshes=len(results))
    for result in results.values():
        counts.update(
            f"steps_by_{step.engine.lower()}"
            for step in result.steps
            if result.outcome is not Outcome.FULL
        )
    counts.update(result.outcome.value for result in results.values())
    counts.update(
        f"because_{reason.code.replace('-', '_')}"
        for result in results.values()
        for reason in result.reasons
    )


def nothing_left(lake: Lake, before: dict[str, RefreshResult], counts: Counter[str]) -> None:
    """L2: refreshing again changes nothing and writes nothing."""
    again = lake.refresh(jobs=2)
    for name, result in again.items():
        assert result.outcome is Outcome.NO_OP, lake.told(name, str(result))
        assert result.version == before[name].version, lake.told(name, "a new version")
    counts.update(repeated=len(again))


def plans_are_equal(lake: Lake) -> None:
    """L6: equal inputs give an equal plan."""
    for name, text in lake.views.items():
        old = lake.engine.view(f"{lake.schema}.{name}")
        new = lake.engine.define(f"{lake.schema}.{name}", text.sql, old.definition.policy)
        assert new.plan == old.plan, lake.told(name, "another plan")


def drop(lake: Lake) -> None:
    for row in lake.spark.sql(f"SHOW VIEWS IN lake.{lake.schema}").collect():
        if not row["isTemporary"]:
            lake.spark.sql(f"DROP VIEW lake.{lake.schema}.{quote(row['viewName'])}")
    for row in lake.spark.sql(f"SHOW TABLES IN lake.{lake.schema}").collect():
        if not row["isTemporary"]:
            name = f"lake.{lake.schema}.{quote(row['tableName'])}"
            lake.spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")


def test_laws_hold(spark: SparkSession, project: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "REWRITTEN_ROWS", -1)
    counts = lawful(spark, project, 0, views=6, rounds=2)
    assert counts["refreshes"] >= 18, counts
    assert counts["incremental"] >= 2, counts


@pytest.mark.laws
@pytest.mark.timeout(0)
def test_laws_hold_often(
    spark: SparkSession,
    project: Settings,
    engine_run: LongRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in engine_run.seeds():
        # All views are tiny: most are merged as larger ones are.
        monkeypatch.setattr(thresholds, "REWRITTEN_ROWS", 2_000 if seed % 3 == 1 else -1)
        engine_run.add(**lawful(spark, project, seed, views=12, rounds=5))


def test_laws_hold_over_three_formats(spark: SparkSession, tmp_path: Path) -> None:
    lake = MixedLake.made(spark, tmp_path / "lake", f"mixed_{next(_numbers)}", "ducklake", 7)
    counts = held(lake, views=4, rounds=1)
    drop(lake)
    assert counts["incremental"] >= 1, counts


@pytest.mark.laws
@pytest.mark.timeout(0)
@pytest.mark.parametrize("storage", sorted(STORAGE))
def test_laws_hold_over_three_formats_often(
    spark: SparkSession, tmp_path: Path, engine_run: LongRun, storage: str
) -> None:
    for seed in engine_run.seeds():
        folder, schema = tmp_path / f"lake{seed}", f"mixed{seed}_{next(_numbers)}"
        lake = MixedLake.made(spark, folder, schema, storage, seed)
        engine_run.add(**held(lake, views=8, rounds=4))
        drop(lake)
