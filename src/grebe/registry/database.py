"""Opening the database: dialects, its clock, transactions, and failures as typed errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import OperationalError as SqliteError
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from grebe.errors import ConfigError, MissingExtraError, RegistryError

BUSY_SECONDS: Final = 15
CONNECT_SECONDS: Final = 5
_WRITES: Final = "grebe_writes"
_DRIVERS: Final = {
    "sqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}


class clock(FunctionElement[float]):  # noqa: N801  it is written like a SQL function
    """Seconds since 1970 by the database's own clock: hosts may disagree, it does not."""

    type = sa.Float()
    inherit_cache = True


@compiles(clock, "sqlite")
def _clock_of_sqlite(*_: object, **__: object) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(clock, "postgresql")
def _clock_of_postgresql(*_: object, **__: object) -> str:
    # Not now(): that one stands still inside a transaction.
    return "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"


class Database:
    """A connection pool with two kinds of transaction."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine

    @staticmethod
    def open(url: str) -> Database:
        """The database behind a URL; nothing is read or written yet.

        Raises:
            ConfigError: the URL is none, or of a database that is not supported.
            MissingExtraError: its driver is not installed.
        """
        parsed = _parsed(url)
        if parsed.get_backend_name() == "sqlite":
            return Database(_sqlite(parsed))
        try:
            engine = sa.create_engine(
                parsed, connect_args={"connect_timeout": CONNECT_SECONDS}, pool_pre_ping=True
            )
        except ModuleNotFoundError as error:
            raise MissingExtraError.of("psycopg", "postgres") from error
        return Database(engine)

    @property
    def place(self) -> str:
        """Where it is, without its password."""
        if self.engine.dialect.name == "sqlite":
            return self.engine.url.database or ":memory:"
        return self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that only reads."""
        with self._guarded(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that takes SQLite's write lock at its start, so that it never upgrades."""
        with self._guarded(), self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, UnicodeError, OSError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> RegistryError:
        cause = error.orig if isinstance(error, DBAPIError) else error
        detail = str(cause).strip().split("\n", maxsplit=1)[0]
        return RegistryError(
            f'registry "{self.place}" cannot be used', detail=detail, hint=_hint(detail)
        )


def _hint(detail: str) -> str:
    known = {
        "readonly": "the folder must be writable, or set GREBE_REGISTRY__URL to another place",
        "unable to open": "the folder must be writable, or set GREBE_REGISTRY__URL to another place",
        "not a database": "move the file away; `grebe recover` makes a new one from the views",
        "malformed": "move the file away; `grebe recover` makes a new one from the views",
        "disk": "make room on the disk and run the command again",
        "locked": "another program holds the file; run the command again when it is done",
    }
    for sign, hint in known.items():
        if sign in detail.lower():
            return hint
    return "check that the database is reachable, and GREBE_REGISTRY__URL"


def _parsed(url: str) -> sa.URL:
    scheme, mark, _ = url.partition("://")
    driver = _DRIVERS.get(scheme.partition("+")[0].lower()) if mark else None
    try:
        if driver:
            return sa.make_url(driver + url[len(scheme) :])
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise ConfigError("the registry's url cannot be read", detail=str(error)) from error
    raise ConfigError(
        f'the registry\'s url begins with "{scheme}"'
        if mark
        else "the registry's url has no scheme",
        detail="allowed: sqlite:///file, postgresql://user@host/database",
        hint="set url in [registry], or GREBE_REGISTRY__URL",
    )


def _sqlite(url: sa.URL) -> sa.Engine:
    if url.database:
        try:
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RegistryError(
                f'registry "{url.database}" cannot be used',
                detail=str(error),
                hint=_hint("unable to open"),
            ) from error
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _: object) -> None:  # noqa: ANN401  the driver's own type
    # SQLAlchemy begins transactions, not the driver, which would begin them too late.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    connection.execute("PRAGMA synchronous = NORMAL")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except SqliteError as error:
            # Whoever opened the file at the same moment does it; without it all is only slower.
            if "locked" not in str(error) and "readonly" not in str(error):
                raise


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
