"""What the engine's suites share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from engine.shop import At
from engine.site import Site
from evidence import LongRun
from grebe.engine import refresh, run
from grebe.formats.iceberg import commit

OVER_CONNECT = ("SPARK_CONNECT_MODE_ENABLED", "1")
"""Without it PySpark's functions are those of a Spark in this process."""


@pytest.fixture
def engine_run(long_run: LongRun) -> LongRun:
    """The long run with evidence of the engine's own, beside that of other rooms."""
    suite = f"engine_{long_run.suite}"
    return LongRun.resume(suite, long_run.check, long_run.minutes, folder=long_run.folder)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    """Does something once, in the middle of a refresh: when it comes by a place."""

    def arrange(place: str, action: Callable[[], None]) -> None:
        waiting = [action]

        def reached(name: str) -> None:
            if name == place and waiting:
                waiting.pop()()

        for module in (run, refresh, commit):
            monkeypatch.setattr(module, "reach", reached)

    return arrange


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site.opened(tmp_path_factory.mktemp("site"))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(*OVER_CONNECT)
            site.fill()
        yield site
    finally:
        site.close()


@pytest.fixture
def site(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Site:
    """One Connect server, three views, and workers to be killed."""
    site: Site = request.getfixturevalue("whole_site")
    monkeypatch.setenv(*OVER_CONNECT)
    return site
