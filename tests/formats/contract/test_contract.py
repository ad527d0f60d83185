"""changes((a, b]) = read_at(b) - read_at(a), as bags, for all pairs of versions of all histories."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from formats.contract.adapters import Adapter
from formats.contract.histories import HISTORIES, History
from formats.contract.replay import Played, Playground, check_all_pairs, check_pair
from grebe.model import Window

pytestmark = pytest.mark.spark


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
    return playground.play(adapter, history)


def test_changes_are_the_difference_of_the_versions(played: Played, playground: Playground) -> None:
    playground.count(histories=1, pairs=check_all_pairs(played))


def test_without_access_to_storage_spark_finds_the_same(played: Played) -> None:
    versions = list(dict.fromkeys(played.versions))
    for source, ways in played.adapter.other_sources(played.name):
        changes = check_pair(played, source, Window(versions[0], versions[-1]))
        assert changes.way in {*ways, "no-row-changed"}
