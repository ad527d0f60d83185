"""What the engine's suites share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.site import Site
from evidence import LongRun

OVER_CONNECT = ("SPARK_CONNECT_MODE_ENABLED", "1")
"""Without it PySpark's functions are those of a Spark in this process."""


@pytest.fixture
def engine_run(long_run: LongRun) -> LongRun:
    """The long run with evidence of the engine's own, beside that of other rooms."""
    suite = f"engine_{long_run.suite}"
    return LongRun.resume(suite, long_run.check, long_run.minutes, folder=long_run.folder)


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
