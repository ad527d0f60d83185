from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from formats.contract.adapters import ADAPTERS, SHORT, Adapter
from formats.contract.replay import Playground

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        # The option is known only when this folder is named on the command line.
        chosen = metafunc.config.getoption("--formats", default=",".join(SHORT)).split(",")
        unknown = sorted(set(chosen) - set(ADAPTERS))
        if unknown:
            raise pytest.UsageError(f"unknown formats {unknown}; known are {sorted(ADAPTERS)}")
        metafunc.parametrize("kind", chosen, scope="session")


@pytest.fixture(scope="session")
def adapter(spark: SparkSession, kind: str) -> Adapter:
    return ADAPTERS[kind](spark)


PLAYGROUND = pytest.StashKey[Playground]()


@pytest.fixture(scope="session")
def playground(pytestconfig: pytest.Config) -> Playground:
    return pytestconfig.stash.setdefault(PLAYGROUND, Playground())


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    playground = config.stash.get(PLAYGROUND, None)
    if playground is not None and playground.counts:
        counts = ", ".join(f"{number} {name}" for name, number in playground.counts.items())
        terminalreporter.write_line(f"contract suite: {counts} checked")
