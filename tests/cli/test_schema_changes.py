"""Names that mean other columns than before: seen at once, with the reason, in every format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

from cli.schema_lake import History, SchemaLake
from grebe import model
from grebe.api.results import Results
from grebe.errors import CheckFailedError, GrebeError, NotIncrementalError
from grebe.model import Frontier, Outcome, Policy, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
LATER = pytest.mark.laws
"""What takes long and differs little from a case beside it goes to the long suites."""
_numbers = count(100)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaLake]:
    made = SchemaLake(spark, tmp_path_factory.mktemp("changes"), "iceberg")
    yield made
    made.project.close()


def made(lake: SchemaLake, kind: str, *views: str) -> History:
    history = History(lake, kind, next(_numbers))
    history.create()
    history.define(views)
    history.step(0)
    return history


def swapped(history: History, one: str = "k", two: str = "x") -> None:
    table = history.tables["a"]
    history.rename(table, one, "between")
    history.rename(table, two, one)
    history.rename(table, "between", two)


def refreshed(history: History, **options: object) -> Results:
    return history.lake.project.refresh(list(history.views), **options)  # type: ignore[arg-type]


def codes(results: Results) -> set[str]:
    return {reason.code for item in results for reason in item.reasons}


def test_two_columns_of_one_type_that_swap_names_are_rebuilt_with_the_reason(
    lake: SchemaLake,
) -> None:
    history = made(lake, "iceberg", "plain", "sums", "joined")
    swapped(history)
    history.insert(history.tables["a"])
    for name in history.views:
        stand = lake.project.view(name).status().standing
        assert stand.state is State.STALE
        assert "schema-changed" in {reason.code for reason in stand.reasons}
    plans = lake.project.plan(list(history.views))
    assert {(item.outcome, item.reasons[0].code) for item in plans} == {
        (Outcome.FULL, "schema-changed")
    }
    with pytest.raises(NotIncrementalError, match="incrementally"):
        raise refreshed(history, policy=Policy.STRICT).failed[0].error or AssertionError
    results = refreshed(history)
    assert {item.outcome for item in results} == {Outcome.FULL}
    assert codes(results) == {"schema-changed"}
    history.shown.clear()
    history.insert(history.tables["a"])
    history.step(0)
    assert history.counts["incremental"] == 3


@pytest.mark.parametrize(
    "kind", [pytest.param("iceberg", marks=LATER), pytest.param("delta", marks=LATER), "ducklake"]
)
def test_columns_that_change_without_a_write(lake: SchemaLake, kind: str) -> None:
    history = made(lake, kind, "plain", "few")
    table = history.tables["a"]
    swapped(history)
    assert {item.state for item in lake.project.status(list(history.views))} == {State.STALE}
    history.step(0)
    history.drop(table, "k")
    history.add(table, "k")
    history.step(0)
    assert codes(refreshed(history)) == set()
    assert history.counts == {"full": 6}
    history.rename(table, "k", "elsewhere")
    history.step(0)
    assert history.counts == {"full": 6, "failed": 2}
    (one, two) = refreshed(history).failed
    for item in (one, two):
        assert isinstance(item.error, GrebeError)
        assert item.error.code == "unknown-column"
    history.rename(table, "elsewhere", "k")
    history.step(0)
    assert codes(refreshed(history)) == set()


@pytest.mark.parametrize(
    "kind", ["iceberg", pytest.param("delta", marks=LATER), pytest.param("ducklake", marks=LATER)]
)
def test_a_filter_on_a_name_that_is_another_column_since_without_a_write(
    lake: SchemaLake, kind: str
) -> None:
    """Iceberg leaves out files by the names that the table has now, in a snapshot that has others."""
    history = made(lake, kind)
    table = history.tables["a"]
    history.writer.insert(table, [[7, None, 7, None]])
    history.writer.insert(history.tables["b"], [[7, 7, None]])
    history.define(["inner"])
    history.step(0)
    history.changed(table, "swap", "k", "x")
    history.step(0)
    assert history.counts == {"full": 2}


@pytest.mark.parametrize(
    "kind", ["iceberg", pytest.param("delta", marks=LATER), pytest.param("ducklake", marks=LATER)]
)
def test_columns_that_no_view_reads_change_nothing_and_are_looked_at_once(
    lake: SchemaLake, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = made(lake, kind, "plain")
    history.add(history.tables["a"], "more")
    history.rename(history.tables["a"], "g", "other")
    (name,) = history.views
    assert lake.project.view(name).status().state is State.FRESH
    (done,) = refreshed(history)
    assert (done.outcome, done.reasons) == (Outcome.NO_OP, ())

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was compiled again")

    monkeypatch.setattr(type(lake.project.workspace.builder), "refresh", refuse)
    assert [item.outcome for item in refreshed(history)] == [Outcome.NO_OP]


@LATER
def test_a_star_takes_back_a_column_of_its_own(lake: SchemaLake) -> None:
    history = made(lake, "iceberg", "all_of_it")
    table = history.tables["b"]
    history.drop(table, "y")
    history.step(0)
    history.add(table, "y")
    history.step(0)
    assert history.counts == {"full": 3}


@LATER
def test_frontiers_without_columns_are_judged_by_the_schema_of_their_version(
    lake: SchemaLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        written = model._point_to_dict

        def older(point: model.SourcePoint) -> dict[str, object]:
            return {key: value for key, value in written(point).items() if key != "columns"}

        before.setattr(model, "_point_to_dict", older)
        history = made(lake, "iceberg", "plain", "few")
        for name in history.views:
            frontier = lake.project.view(name).status().standing.position.frontier  # type: ignore[union-attr]
            assert isinstance(frontier, Frontier)
            assert all(point.columns is None for _, point in frontier.sources)
    assert {item.outcome for item in refreshed(history)} == {Outcome.NO_OP}
    history.add(history.tables["a"], "more")
    history.insert(history.tables["a"])
    history.step(0)
    assert history.counts == {"full": 2, "incremental": 2}
    with monkeypatch.context() as before:
        before.setattr(model, "_point_to_dict", older)
        history.insert(history.tables["a"])
        history.step(0)
    swapped(history)
    assert {item.state for item in lake.project.status(list(history.views))} == {State.STALE}
    history.step(0)
    assert history.counts["full"] == 4


@pytest.mark.parametrize(
    "kind", ["iceberg", pytest.param("delta", marks=LATER), pytest.param("ducklake", marks=LATER)]
)
def test_verify_says_what_keeps_it_from_checking(lake: SchemaLake, kind: str) -> None:
    history = made(lake, kind, "plain", "all_of_it")
    swapped(history)
    history.rename(history.tables["b"], "y", "elsewhere")
    for name in history.views:
        with pytest.raises(CheckFailedError) as caught:
            lake.project.verify([name])
        assert caught.value.code == "schema-changed", caught.value
        assert "refresh" in str(caught.value.hint)
    refreshed(history)
    assert len(lake.project.verify(list(history.views))) == 2


def test_a_frontier_says_the_same_after_it_was_read() -> None:
    columns = (model.Column(3, "k", "int"), model.Column(1, 'a "b"', "struct<x:int>"))
    point = model.SourcePoint("u", model.Version("1"), None, "0", columns=columns)
    frontier = Frontier((("c.s.t", point),), "f", model.RunId("r"), "0.1", 1)
    assert Frontier.from_json(frontier.to_json()) == frontier
    older = json.loads(frontier.to_json())
    del older["sources"]["c.s.t"]["columns"]
    ((_, read),) = Frontier.from_json(json.dumps(older)).sources
    assert read.columns is None
