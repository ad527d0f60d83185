from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from formats.ducklake.lakes import KINDS, Lake, Servers, open_lake


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    made = Servers()
    yield made
    made.stop()


@pytest.fixture
def opened(tmp_path: Path, servers: Servers) -> Iterator[Callable[..., Lake]]:
    """Makes lakes that are closed at the end of the test."""
    made: list[Lake] = []

    def make(kind: str = "duckdb", options: str = "") -> Lake:
        made.append(open_lake(kind, tmp_path / f"lake{len(made)}", servers, options))
        return made[-1]

    yield make
    for lake in made:
        lake.close()


@pytest.fixture
def lake(opened: Callable[..., Lake]) -> Lake:
    return opened()


# SQLite has the suites of projects and programs; here it goes with the long ones.
@pytest.fixture(
    params=[
        pytest.param(kind, marks=pytest.mark.laws) if kind == "sqlite" else kind for kind in KINDS
    ]
)
def any_lake(opened: Callable[..., Lake], request: pytest.FixtureRequest) -> Lake:
    return opened(request.param)
