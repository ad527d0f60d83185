"""Lakes for the tests of programs: a fresh one, one for a whole module, and one of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from programs.lake import KINDS, Kind, Lake


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    made = Lake(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """One lake for a module, whose tests keep to schemas of their own."""
    made = Lake(tmp_path_factory.mktemp("lake"))
    yield made
    made.close()


@pytest.fixture(
    params=[
        pytest.param(kind, marks=() if place in (0, len(KINDS) - 1) else pytest.mark.laws)
        for place, kind in enumerate(KINDS)
    ],
    ids=str,
)
def kind(request: pytest.FixtureRequest) -> Kind:
    found = request.param
    assert isinstance(found, Kind)
    return found
