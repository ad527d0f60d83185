"""Random histories by delta-rs: whatever happens, changes are the difference of the versions."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from evidence import LongRun
from formats.delta.tables import Folder, check
from grebe.model import Version

numbers = st.one_of(st.none(), st.integers(0, 5))
groups = st.sampled_from([None, "a", "b", "ü %/="])
floats = st.sampled_from([None, 0.0, -0.0, float("nan"), float("inf"), 0.1])
rows = st.lists(st.tuples(numbers, groups, floats), min_size=1, max_size=5)
conditions = st.sampled_from(
    ["id = 1", "id IS NULL", "grp = 'a'", "id % 2 = 0", "grp IS NULL OR id > 3", "true"]
)
STEPS = (
    "append",
    "append",
    "delete",
    "update",
    "upsert",
    "overwrite",
    "compact",
    "restore",
    "mark",
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[str, str], list[str] | None, list[tuple[str, object]]]:
    """Settings, partition columns and steps."""
    feed = draw(st.sampled_from([{}, {"enableChangeDataFeed": "true"}]))
    partitioned = draw(st.sampled_from([None, ["grp"], ["grp", "id"]]))
    steps: list[tuple[str, object]] = [("append", draw(rows))]
    for _ in range(draw(st.integers(2, 9))):
        step = draw(st.sampled_from(STEPS))
        argument: object = None
        if step in ("append", "overwrite"):
            argument = draw(rows)
        elif step == "upsert":
            argument = list({row[0]: row for row in draw(rows)}.values())
        elif step in ("delete", "update"):
            argument = draw(conditions)
        elif step == "restore":
            argument = draw(st.integers(0, 20))
        steps.append((step, argument))
    return feed, partitioned, steps


def play(folder: Folder, steps: list[tuple[str, object]]) -> list[Version]:
    """The versions of the table after each step."""
    versions = [folder.version]
    for step, argument in steps:
        match step:
            case "append" | "overwrite" | "upsert":
                getattr(folder, step)(*argument)  # type: ignore[misc]
            case "delete":
                folder.delete(str(argument))
            case "update":
                folder.update(str(argument), x="x + 1")
            case "compact":
                folder.compact()
            case "restore":
                wanted = versions[int(str(argument)) % len(versions)]
                if wanted != folder.version:
                    folder.restore(wanted)
            case "mark":
                folder.checkpoint()
        versions.append(folder.version)
    return list(dict.fromkeys(versions))


def check_history(
    drawn: tuple[dict[str, str], list[str] | None, list[tuple[str, object]]],
) -> int:
    """The number of windows whose changes were right."""
    feed, partitioned, steps = drawn
    with tempfile.TemporaryDirectory() as name:
        folder = Folder.create(Path(name) / "t", partitioned=partitioned, **feed)
        versions = play(folder, steps)
        source = folder.source()
        pairs = list(itertools.permutations(versions, 2))
        for after, upto in pairs:
            check(folder, after, upto, source)
        for version in versions:
            check(folder, None, version)
        return len(pairs) + len(versions)


quick = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)


@settings(quick, max_examples=12)
@given(histories())
def test_random_histories(
    drawn: tuple[dict[str, str], list[str] | None, list[tuple[str, object]]],
) -> None:
    assert check_history(drawn)


@pytest.mark.laws
@pytest.mark.timeout(3600)
def test_many_random_delta_histories(long_run: LongRun) -> None:
    for number in long_run.seeds():

        @seed(number)
        @settings(quick, max_examples=20)
        @given(histories())
        def run(
            drawn: tuple[dict[str, str], list[str] | None, list[tuple[str, object]]],
        ) -> None:
            long_run.add(histories=1, pairs=check_history(drawn))

        run()
