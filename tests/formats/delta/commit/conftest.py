from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from formats.commit.client import Client
from formats.commit.lake import Barrier
from formats.delta.commit.folders import Folders, StorageFolder

Clients = Callable[[int], Client]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return Folders(tmp_path_factory.mktemp("folders"))


@pytest.fixture
def table(folders: Folders) -> StorageFolder:
    return folders.create()


@pytest.fixture(scope="session")
def client(folders: Folders) -> Iterator[Clients]:
    """Long-lived writers by number; one that was killed is replaced at the next use."""
    running: dict[int, Client] = {}

    def get(number: int) -> Client:
        if number not in running or running[number].process.poll() is not None:
            running[number] = Client.start(folders.root, None, "formats.delta.commit.folders")
        return running[number]

    yield get
    for started in running.values():
        started.kill()


@pytest.fixture
def barrier(tmp_path: Path) -> Iterator[Barrier]:
    with Barrier(tmp_path / "barrier") as barrier:
        yield barrier
