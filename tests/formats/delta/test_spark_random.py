"""Random histories by Spark on every kind of Delta table, deletion vectors among them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from evidence import LongRun
from formats.contract.adapters import ADAPTERS
from formats.contract.histories import COMPACT, REWRITE_DELETES, History, Rollback, Silent, Step
from formats.contract.replay import check_all_pairs, play
from formats.contract.test_random import in_disguise, quick, statements, values
from hostile import POOL, disguised, drawn, without_mapping

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KINDS = sorted(kind for kind in ADAPTERS if kind.startswith("delta"))
SETTINGS = ("enableChangeDataFeed", "enableDeletionVectors", "enableRowTracking")
upkeep = st.sampled_from([COMPACT, REWRITE_DELETES, "OPTIMIZE {t} ZORDER BY (id)"])


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, History]:
    """A kind of table, and what happens to it: six pinned versions at most."""
    kind = draw(st.sampled_from(KINDS))
    steps: list[Step] = [f"INSERT INTO {{t}} VALUES {draw(values())}"]
    pinned, added = 1, 0
    for _ in range(draw(st.integers(2, 9))):
        what = draw(st.sampled_from(["rows"] * 6 + ["upkeep"] * 3 + ["back", "column", "switch"]))
        if what == "back":
            steps.append(Rollback(draw(st.integers(0, pinned - 1))))
            pinned += 1
        elif what == "column":
            steps.append(Silent(f"ALTER TABLE {{t}} ADD COLUMN n{added} INT"))
            added += 1
        elif what == "switch":
            key, value = draw(st.sampled_from(SETTINGS)), draw(st.sampled_from(["true", "false"]))
            text = f"ALTER TABLE {{t}} SET TBLPROPERTIES ('delta.{key}' = '{value}')"
            steps.append(Silent(text))
        else:
            step = draw(statements() if what == "rows" else upkeep)
            silent = pinned >= 5 or draw(st.booleans())
            steps.append(Silent(step) if silent else step)
            pinned += not silent
    steps.append(draw(statements()))
    partitioned = draw(st.sampled_from(["", "grp"]))
    plain = History("random", "id INT, grp STRING, x DOUBLE", steps, partitioned)
    names = drawn(
        ("id", "grp", "x"), Random(draw(st.integers(0, 10_000))), without=without_mapping(POOL)
    )
    return kind, replace(in_disguise(plain, names), partitioned=disguised(partitioned, names, "`"))


@pytest.mark.laws
@pytest.mark.timeout(3600)
def test_many_random_delta_histories_by_spark(spark: SparkSession, long_run: LongRun) -> None:
    for number in long_run.seeds():

        @seed(number)
        @settings(quick, max_examples=5)
        @given(histories())
        def run(drawn: tuple[str, History]) -> None:
            kind, history = drawn
            pairs = check_all_pairs(play(ADAPTERS[kind](spark), history))
            long_run.add(histories=1, pairs=pairs)

        run()
