"""Random histories: whatever happens to a table, changes are the difference of its versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from evidence import LongRun
from formats.contract.adapters import ADAPTERS
from formats.contract.histories import (
    COMPACT,
    REWRITE_DELETES,
    REWRITE_MANIFESTS,
    UPGRADE,
    History,
    Rollback,
    Silent,
    Step,
)
from formats.contract.replay import Playground, check_all_pairs, play
from hostile import WORDS, disguised, drawn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KINDS = sorted(kind for kind in ADAPTERS if kind.startswith("iceberg"))
ids = st.sampled_from(["NULL", *(str(number) for number in range(6))])
groups = st.sampled_from(["NULL", "'a'", "'b'", "''"])
floats = st.sampled_from(["NULL", "0.0D", "-0.0D", "double('NaN')", "double('Infinity')", "0.1D"])
rows = st.tuples(ids, groups, floats).map(lambda row: f"({', '.join(row)})")
conditions = st.one_of(
    ids.map(lambda value: f"id <=> {value}"),
    groups.map(lambda value: f"grp <=> {value}"),
    st.just("id % 2 = 0"),
    st.just("true"),
)


@st.composite
def values(draw: st.DrawFn) -> str:
    """Some rows, exact duplicates often among them."""
    drawn = draw(st.lists(rows, min_size=1, max_size=5))
    return ", ".join(drawn + drawn[: draw(st.integers(0, 2))])


@st.composite
def statements(draw: st.DrawFn) -> str:
    """One statement that changes rows, or none."""
    where = draw(conditions)
    new = f"SELECT * FROM VALUES {draw(values())} AS v(id, grp, x)"
    merge = f"(SELECT id, max(grp) grp, max(x) x FROM ({new}) GROUP BY id) s"
    return draw(
        st.sampled_from(
            [
                f"INSERT INTO {{t}} (id, grp, x) {new}",
                f"DELETE FROM {{t}} WHERE {where}",
                f"UPDATE {{t}} SET x = {draw(floats)} WHERE {where}",
                f"UPDATE {{t}} SET id = {draw(ids)}, grp = {draw(groups)} WHERE {where}",
                f"MERGE INTO {{t}} t USING {merge} ON t.id <=> s.id"
                " WHEN MATCHED AND s.grp IS NULL THEN DELETE"
                " WHEN MATCHED THEN UPDATE SET x = s.x"
                " WHEN NOT MATCHED THEN INSERT (id, grp, x) VALUES (s.id, s.grp, s.x)",
                f"INSERT OVERWRITE {{t}} (id, grp, x) {new}",
            ]
        )
    )


upkeep = st.sampled_from([COMPACT, REWRITE_MANIFESTS, REWRITE_DELETES, UPGRADE])


@st.composite
def histories(draw: st.DrawFn, most: int = 8) -> tuple[str, History]:
    """A kind of table, and what happens to it: six pinned versions at most."""
    steps: list[Step] = [f"INSERT INTO {{t}} VALUES {draw(values())}"]
    pinned, added, partitioned = 1, 0, False
    for _ in range(draw(st.integers(2, most))):
        what = draw(st.sampled_from(["rows"] * 6 + ["upkeep"] * 3 + ["back", "column", "split"]))
        if what == "back":
            steps.append(Rollback(draw(st.integers(0, pinned - 1))))
            pinned += 1
        elif what == "column":
            steps.append(Silent(f"ALTER TABLE {{t}} ADD COLUMN n{added} INT"))
            added += 1
        elif what == "split":
            verb = "DROP" if partitioned else "ADD"
            steps.append(Silent(f"ALTER TABLE {{t}} {verb} PARTITION FIELD grp"))
            partitioned = not partitioned
        else:
            step = draw(statements() if what == "rows" else upkeep)
            silent = pinned >= 5 or draw(st.booleans())
            steps.append(Silent(step) if silent else step)
            pinned += not silent
    steps.append(draw(statements()))
    wide = draw(st.sampled_from(["file", "partition"]))
    properties = {"write.delete.granularity": wide}
    plain = History("random", "id INT, grp STRING, x DOUBLE", steps, properties=properties)
    names = hostile_names(draw(st.integers(0, 10_000)))
    return draw(st.sampled_from(KINDS)), in_disguise(plain, names)


def hostile_names(number: int) -> dict[str, str]:
    """Hostile names of the columns; a name that needs quoting is no partition field for Iceberg."""
    rng = Random(number)
    split = drawn(["grp"], rng, WORDS)
    return split | drawn(["id", "x"], rng, without=split.values())


def in_disguise(history: History, names: Mapping[str, str]) -> History:
    """The history of a table whose columns have other names."""

    def told(step: Step) -> Step:
        match step:
            case Silent(inner):
                return Silent(disguised(inner, names, "`"))
            case str():
                return disguised(step, names, "`")
        return step

    columns = disguised(history.columns, names, "`")
    return replace(history, columns=columns, steps=[told(step) for step in history.steps])


def check(spark: SparkSession, drawn: tuple[str, History]) -> int:
    """The number of pairs of versions whose changes were right."""
    kind, history = drawn
    return check_all_pairs(play(ADAPTERS[kind](spark), history))


quick = settings(
    max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


def test_random_histories(spark: SparkSession, playground: Playground) -> None:
    @quick
    @given(histories())
    def run(drawn: tuple[str, History]) -> None:
        playground.count(histories=1, pairs=check(spark, drawn))

    run()


@pytest.mark.laws
@pytest.mark.timeout(3600)
def test_many_random_histories(spark: SparkSession, long_run: LongRun) -> None:
    for number in long_run.seeds():

        @seed(number)
        @settings(quick, max_examples=5)
        @given(histories(most=12))
        def run(drawn: tuple[str, History]) -> None:
            long_run.add(histories=1, pairs=check(spark, drawn))

        run()
