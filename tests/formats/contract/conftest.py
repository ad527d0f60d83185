from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from formats.contract.adapters import ADAPTERS, Adapter
from formats.contract.replay import Playground

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        # The option is known only when this folder is named on the command line.
        chosen = metafunc.config.getoption("--formats", default=",".join(ADAPTERS)).split(",")
        unknown = sorted(set(chosen) - set(ADAPTERS))
        if unknown:
            raise pytest.UsageError(f"unknown formats {unknown}; known are {sorted(ADAPTERS)}")
        metafunc.parametrize("kind", chosen, scope="session")


@pytest.fixture(scope="session")
def adapter(spark: SparkSession, kind: str) -> Adapter:
    return ADAPTERS[kind](spark)


@pytest.fixture(scope="session")
def playground(pytestconfig: pytest.Config) -> Iterator[Playground]:
    playground = Playground()
    yield playground
    reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and playground.counts:
        counts = ", ".join(f"{number} {name}" for name, number in playground.counts.items())
        reporter.write_line(f"\ncontract suite: {counts} checked")
