"""What every suite shares: one Spark per process, hypothesis profiles, long runs by seed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from evidence import LongRun
from grebe.config import Settings, load
from grebe.engine.refresh import RefreshResult
from grebe.engine.run import Run
from grebe.model import Outcome
from grebe.spark.session import open_session
from processor_time import processor_seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEFORE = pytest.StashKey[float]()
LONG = ("laws", "races", "crash", "cluster")

# Every suite compares with plain Spark itself; what a first build's own check finds has tests of its own.
os.environ.setdefault("GREBE_VIEWS__CHECK", "never")
# Most suites are about what Spark is told. What runs without it has its own: laws, fuzz and the engine's small steps
# switch them on; GREBE_REFRESH__SMALL_STEPS=auto does for any suite.
os.environ.setdefault("GREBE_REFRESH__SMALL_STEPS", "spark")
JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xms1g -Xmn640m"
"""A Spark of the tests lives for minutes: what its second compiler would save comes too late. With one compiler alone
Java keeps room for so little code that it compiles Spark again and again; a small nursery is collected all the time."""
INTERPRETED = "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
"""Over a few rows Spark's generated code costs more than it saves. The demo generates it, as users do, and so do the
long suites, unless GREBE_TEST_CODEGEN=0 says that they have to get far in little time."""

# The first example of a Spark test also pays for Spark's start.
settings.register_profile("dev", max_examples=25, deadline=None, print_blob=True)
settings.register_profile(
    "long", max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("GREBE_TEST_PROFILE", "dev"))


def pytest_configure(config: pytest.Config) -> None:
    """By the environment: also for a Spark that a test, or a process of a test, starts by itself."""
    asked = set(re.findall(r"(?<!not )\b\w+", config.option.markexpr))
    generated = asked & set(LONG) and os.environ.get("GREBE_TEST_CODEGEN") != "0"
    os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA if generated else f"{JAVA} {INTERPRETED}")
    # One Spark for hundreds of tests collects garbage otherwise.
    os.environ.setdefault("SPARK_DRIVER_MEMORY", "2g")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Every test's processor seconds stand in the report: those of the wall depend on who else is at the machine."""
    before = processor_seconds()
    # What is put here while it runs is in the reports of its teardown, which pytest writes last.
    item.config.stash[BEFORE] = before
    return (yield)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """The cost up to here; what a session's end costs belongs to no test."""
    used = processor_seconds() - item.config.stash[BEFORE]
    item.user_properties.append(("processor", f"{used:.2f}"))


@pytest.fixture(autouse=True, scope="session")
def _F269_every_refresh_that_is_not_incremental_says_why() -> Iterator[None]:
    """In all tests of a process, whatever they are about."""
    refresh = Run.refresh

    def checked(run: Run) -> list[RefreshResult]:
        results = refresh(run)
        for result in results:
            if result.outcome not in (Outcome.INCREMENTAL, Outcome.NO_OP):
                assert result.reasons, f"{result.view} was {result.outcome} for no reason"
                assert all(reason.code and reason.message for reason in result.reasons)
        return results

    Run.refresh = checked  # type: ignore[method-assign]
    yield
    Run.refresh = refresh  # type: ignore[method-assign]


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The embedded default in a folder of its own."""
    return load(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def spark(project: Settings) -> Iterator[SparkSession]:
    """The session of this process; Iceberg's catalog is `lake`."""
    session = open_session(project)
    yield session
    session.stop()


@pytest.fixture
def long_run(request: pytest.FixtureRequest) -> LongRun:
    """Seeds and counts of a long test; the evidence file is named by the test's marker."""
    suite = next(name for name in LONG if request.node.get_closest_marker(name))
    companions = sum(1 for item in request.session.items if item.get_closest_marker(suite))
    minutes = float(os.environ.get("GREBE_TEST_MINUTES", "36")) / companions
    return LongRun.resume(suite, request.node.name, minutes)
