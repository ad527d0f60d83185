"""F024-F055: random views over random histories equal their query after every window."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence import LongRun
from programs.hostile import Disguise
from programs.pairs import alone, maintainable, together

CASES = 40
SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
def test_F055_one_program_over_many_histories(tmp_path: Path, seed: int) -> None:
    together(tmp_path, seed, CASES)


@pytest.mark.parametrize("seed", range(4))
def test_F055_generated_views_over_one_history(tmp_path: Path, seed: int) -> None:
    alone(tmp_path, seed, views=3)


def test_F055_a_version_whose_statistics_are_wrong(tmp_path: Path) -> None:
    """DuckLake gives a version a range of values that its rows exceed."""
    together(tmp_path, 205, CASES)


def test_F055_there_are_three_hundred_pairs() -> None:
    assert CASES * sum(1 for seed in SEEDS if maintainable(Disguise(seed))) >= 300


@pytest.mark.laws
@pytest.mark.timeout(3000)
def test_F055_programs_over_many_histories_often(tmp_path: Path, long_run: LongRun) -> None:
    for seed in long_run.seeds():
        folder = tmp_path / f"together{seed}"
        folder.mkdir()
        long_run.add(**together(folder, 100 + seed, CASES))


@pytest.mark.laws
@pytest.mark.timeout(3000)
def test_F055_generated_views_often(tmp_path: Path, long_run: LongRun) -> None:
    for seed in long_run.seeds():
        folder = tmp_path / f"alone{seed}"
        folder.mkdir()
        long_run.add(**alone(folder, 100 + seed, views=8))
