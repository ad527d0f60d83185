"""Columns change under views: after every refresh a view is what plain Spark makes of its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from cli.schema_lake import FORMATS, STORAGE, SchemaLake
from evidence import LongRun
from grebe.cli import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lakes(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, SchemaLake]]:
    """One project for each format that views are kept in."""
    folder = tmp_path_factory.mktemp("schemas")
    made = {storage: SchemaLake(spark, folder / storage, storage) for storage in STORAGE}
    yield made
    for lake in made.values():
        lake.project.close()


@pytest.mark.parametrize(("seed", "kind"), list(enumerate(FORMATS)))
def test_a_few_histories(lakes: dict[str, SchemaLake], seed: int, kind: str) -> None:
    lakes[sorted(STORAGE)[seed % len(STORAGE)]].history(seed, kind, steps=1, views=2)


@pytest.mark.laws
@pytest.mark.timeout(3600)
def test_a_few_histories_by_commands(
    lakes: dict[str, SchemaLake], capsys: pytest.CaptureFixture[str]
) -> None:
    lake = lakes["iceberg"]

    def run(arguments: Sequence[str]) -> str:
        capsys.readouterr()
        main(["-C", str(lake.folder), *arguments])
        return capsys.readouterr().out

    for seed, kind in enumerate(FORMATS):
        lake.history(seed + 500, kind, by_command=run)


@pytest.mark.laws
@pytest.mark.timeout(3600)
def test_histories(lakes: dict[str, SchemaLake], long_run: LongRun) -> None:
    own = LongRun.resume("schema_histories", long_run.check, long_run.minutes)
    for seed in own.seeds():
        for number, kind in enumerate(FORMATS):
            storage = sorted(STORAGE)[(seed + number) % len(STORAGE)]
            found = lakes[storage].history(seed + 1000, kind, steps=3, views=2)
            refreshes = {f"refreshes_{name}": count for name, count in found.items()}
            own.add(histories=1, **{f"histories_{kind}": 1}, **refreshes)
