"""The same tests over SQLite and over a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import postgres
from grebe.registry import Registry

_numbers = count()


@pytest.fixture(scope="session", name="postgres")
def a_server() -> Iterator[str]:
    """The URL of a server of our own, without a database."""
    with postgres.server() as server:
        yield server.get_uri()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that nobody has used before."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/registry.db"
    import psycopg
    import sqlalchemy as sa

    server = sa.make_url(request.getfixturevalue("postgres"))
    name = f"registry{next(_numbers)}"
    with psycopg.connect(server.render_as_string(False), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.set(database=name).render_as_string(hide_password=False)


@pytest.fixture
def registry(url: str) -> Iterator[Registry]:
    with Registry.open(url) as opened:
        yield opened
