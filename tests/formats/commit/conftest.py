from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from formats.commit.client import Client
from formats.commit.lake import CATALOG, NAMESPACE, Barrier, Lake, Server, Table


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("lake"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def lake(server: Server) -> Iterator[Lake]:
    session = server.connect()
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{NAMESPACE}").collect()
    yield Lake(server.folder, session)
    session.stop()


@pytest.fixture
def table(lake: Lake) -> Table:
    return lake.create()


@pytest.fixture(scope="session")
def client(server: Server, lake: Lake) -> Iterator[Callable[[int], Client]]:
    """Long-lived writers by number; one that was killed is replaced at the next use."""
    running: dict[int, Client] = {}

    def get(number: int) -> Client:
        if number not in running or running[number].process.poll() is not None:
            running[number] = Client.start(server.folder, server.url)
        return running[number]

    yield get
    for started in running.values():
        started.kill()


@pytest.fixture
def barrier(tmp_path: Path) -> Iterator[Barrier]:
    with Barrier(tmp_path / "barrier") as barrier:
        yield barrier
