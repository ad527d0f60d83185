"""changes((a, b]) = read_at(b) - read_at(a), as bags, for pairs of versions of all histories.

One kind of table is asked for all pairs, the others for neighbours and both ends; the long run asks
every kind for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from _pytest.mark import ParameterSet

from evidence import LongRun
from formats.contract.adapters import ADAPTERS, FEW, Adapter
from formats.contract.histories import HISTORIES, History
from formats.contract.replay import (
    Played,
    Playground,
    check_all_pairs,
    check_near_pairs,
    check_pair,
    play,
)
from grebe.model import Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


ALL_PAIRS = "iceberg-v3-mor"
COPIED = ("iceberg-v2-cow", "iceberg-v3-cow")
"""Without delete files there is nothing that only Spark could find otherwise."""
OVER_CONNECT = ("compaction", "columns", "types")


def params() -> Iterator[ParameterSet]:
    for history in HISTORIES:
        marks = [pytest.mark.connect] if history.name in OVER_CONNECT else []
        yield pytest.param(history, id=history.name, marks=marks)


@pytest.fixture(params=params())
def played(adapter: Adapter, request: pytest.FixtureRequest, playground: Playground) -> Played:
    history: History = request.param
    if not history.needs <= adapter.features:
        pytest.skip(f"{adapter.kind} lacks {sorted(history.needs - adapter.features)}")
    if history.name not in FEW.get(adapter.kind, {history.name}):
        pytest.skip("only in the long run")
    return playground.play(adapter, history)


def test_changes_are_the_difference_of_the_versions(played: Played, playground: Playground) -> None:
    check = check_all_pairs if played.adapter.kind == ALL_PAIRS else check_near_pairs
    playground.count(histories=1, pairs=check(played))


def test_without_access_to_storage_spark_finds_the_same(played: Played) -> None:
    if played.adapter.kind in COPIED:
        pytest.skip("only in the long run")
    check_without_access(played)


def check_without_access(played: Played) -> None:
    versions = list(dict.fromkeys(played.versions))
    for source, ways in played.adapter.other_sources(played.name):
        changes = check_pair(played, source, Window(versions[0], versions[-1]))
        assert changes.way in {*ways, "no-row-changed"}


@pytest.mark.laws
@pytest.mark.timeout(3600)
def test_every_history_on_every_kind(spark: SparkSession, long_run: LongRun) -> None:
    adapters = [make(spark) for make in ADAPTERS.values()]
    cases = [(a, history) for history in HISTORIES for a in adapters if history.needs <= a.features]
    for seed in long_run.seeds():
        adapter, history = cases[seed % len(cases)]
        played = play(adapter, history)
        check_without_access(played)
        pairs = check_all_pairs(played)
        long_run.add(histories=1, pairs=pairs, **{adapter.kind: pairs})
