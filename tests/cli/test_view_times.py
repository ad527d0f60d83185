"""Settings of when a view is refreshed: stored, altered, found again; promises to only add rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.shop import Shop
from grebe.api import Project
from grebe.errors import DefinitionError, NotIncrementalError
from grebe.model import Outcome
from grebe.stored_properties import KEYS
from grebe.view_timing import Trigger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    with Project.open(tmp_path, spark=spark) as project:
        yield Shop(project, tmp_path)


def test_F220_settings_change_and_no_row_is_touched(shop: Shop) -> None:
    """Also F110: they are kept with the table, and what contradicts itself changes nothing."""
    name = shop.view("sums", "SELECT k, SUM(x) AS s FROM {s}.t GROUP BY k", trigger="update")
    view, before = shop.project.view(name), shop.snapshots("sums")
    view.alter(at_most_every="5 s", grace="15 minutes", max_failures=0, verify="1 day")
    for wrong in (
        {"schedule": "EVERY 1 HOUR"}, {"lag": "downstream"}, {"at_most_every": "-1 s"},
        {"schedule": "CRON '0 25 * * *'"}, {"trigger": "now"}, {"grace": "1"}, {"verify": "1"},
        {"catch_up": "two"}, {"timeout": "x"}, {"max_failures": -1}, {"strategy": "merge"},
    ):  # fmt: skip
        with pytest.raises(DefinitionError):
            view.alter(**wrong)  # type: ignore[arg-type]
    found = shop.project.written()[str(view.name)]
    assert dict(found.timing.said) == {
        "trigger": "update", "at_most_every": "5 s", "grace": "15 minutes", "max_failures": "0",
        "verify": "1 day",
    }  # fmt: skip
    view.alter(trigger="", schedule="EVERY 1 HOUR", grace="")
    assert shop.snapshots("sums") == before
    assert found.facts is not None
    assert found.facts.storage is not None
    kept = shop.project.tables.properties(found.facts.storage, lambda: shop.project.spark) or {}
    assert kept[KEYS["schedule"]] == "EVERY 1 HOUR"
    assert (kept[KEYS["trigger"]], kept[KEYS["grace"]], kept[KEYS["verify"]]) == ("", "", "1 day")

    # A lost registry finds them again.
    shop.project.registry.drop_view(str(view.name))
    assert shop.project.recover().views == (str(view.name),)
    timing = shop.project.written()[str(view.name)].timing
    assert (timing.kind, timing.max_failures, timing.grace) == (Trigger.SCHEDULE, "0", None)


def test_F227_a_grace_is_no_lag_and_a_lost_registry_gives_it_back(shop: Shop) -> None:
    spec = {
        "$type": f"{shop.schema}.Big",
        "$from": f"{shop.schema}.t",
        "$filter": {"x": {"$gt": 10}},
        "$refresh": {"mode": "manual", "gracePeriod": "15m"},
    }
    view = shop.project.define_view(spec, build=True)
    for _ in range(2):
        timing = shop.project.written()[str(view.name)].timing
        assert (timing.lag, timing.grace, timing.kind) == (None, "15m", Trigger.MANUAL)
        shop.project.registry.drop_view(str(view.name))
        shop.project.recover()


def test_F238_a_promise_to_only_add_rows(shop: Shop) -> None:
    with pytest.raises(DefinitionError) as caught:
        shop.view("sums", "SELECT k, SUM(x) AS s FROM {s}.t GROUP BY k", strategy="append")
    assert caught.value.code == "not-append-only"
    assert not shop.names()
    big = shop.view("big", "SELECT id, x FROM {s}.t WHERE x > 10", strategy="append")
    hard = shop.view(
        "hard", "SELECT id, x FROM {s}.t WHERE x > 10", strategy="append", policy="strict"
    )
    shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'c', 40)")
    assert all(not result.reasons for result in shop.project.refresh([big, hard]))
    shop.sql("DELETE FROM lake.{s}.t WHERE id = 3")
    result = shop.project.view(big).refresh()
    assert (result.outcome, [item.code for item in result.reasons]) == (
        Outcome.INCREMENTAL,
        ["rows-retracted"],
    )
    assert shop.rows("big") == [(2, 20), (4, 40)]
    with pytest.raises(NotIncrementalError) as refused:
        shop.project.view(hard).refresh()
    assert [item.code for item in refused.value.reasons] == ["rows-retracted"]
    assert shop.rows("hard") == [(2, 20), (3, 30), (4, 40)]  # as it was
    shop.project.view(hard).alter(strategy="")
    assert shop.project.view(hard).refresh().outcome is Outcome.INCREMENTAL
    assert shop.rows("hard") == [(2, 20), (4, 40)]
