"""Columns change under views: after every refresh a view is what plain Spark makes of its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from cli.schema_lake import FORMATS, STORAGE, Command, SchemaLake
from evidence import LongRun
from grebe.cli import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SIDE_BY_SIDE = 2
"""Seeds whose histories are refreshed and compared together; of two one has tables that other writers than Spark change."""
BY_COMMAND = 4
"""Of so many runs one goes through the command line."""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaLake]:
    made = SchemaLake(spark, tmp_path_factory.mktemp("schemas"), sorted(STORAGE)[0])
    yield made
    made.close()


@pytest.fixture
def command(lake: SchemaLake, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line, in this process."""

    def run(arguments: Sequence[str]) -> str:
        capsys.readouterr()
        main(["-C", str(lake.folder), *arguments])
        return capsys.readouterr().out

    return run


def test_a_few_histories(lake: SchemaLake) -> None:
    found = lake.histories([0])
    assert found["histories"] == len(FORMATS)
    assert found["equal"] > 0


@pytest.mark.laws
def test_a_few_histories_by_command(lake: SchemaLake, command: Command) -> None:
    found = lake.histories([500], ("ducklake", "parquet"), by_command=command)
    assert found["equal"] > 0


@pytest.mark.laws
@pytest.mark.timeout(7200)
def test_histories(lake: SchemaLake, long_run: LongRun, command: Command) -> None:
    own = LongRun.resume("schema_histories", long_run.check, long_run.minutes)
    for seed in own.seeds():
        first = 1000 + seed * SIDE_BY_SIDE
        by_command = None if seed % BY_COMMAND else command
        found = lake.histories(range(first, first + SIDE_BY_SIDE), by_command=by_command)
        own.add(**found, by_command=found["histories"] if by_command else 0)
