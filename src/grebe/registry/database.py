"""Opening the database: dialects, its clock, transactions, and failures as typed errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import OperationalError as SqliteError
from typing import Any, Final
from urllib.parse import quote, unquote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from grebe.errors import ConfigError, MissingExtraError, RegistryError
from grebe.secrets import keep_secret, without_secrets

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
        for secret in (parsed.password, *_texts(parsed.query.get("password"))):
            if secret:
                keep_secret(str(secret))
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
        # Parameters may hold a password too.
        return self.engine.url.set(query={}).render_as_string(hide_password=True)

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
            raise self._failure(error) from without_secrets(error)

    def _failure(self, error: Exception) -> RegistryError:
        cause = error.orig if isinstance(error, DBAPIError) else error
        detail = str(cause).strip().split("\n", maxsplit=1)[0]
        return RegistryError(
            f'registry "{self.place}" cannot be used', detail=detail, hint=_hint(detail)
        )


@contextmanager
def written_by_us(row: str) -> Iterator[None]:
    """A block that reads one row: a value that no grebe writes there is told as what it is.

    Raises:
        RegistryError: somebody else changed the row.
    """
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise RegistryError(
            f"the registry holds something else than a record of {row}",
            detail=str(error),
            hint="correct that row, or delete it: `grebe recover` writes views again, runs are history",
            code="registry-value",
        ) from error


def _texts(found: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (found,) if isinstance(found, str) else found or ()


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
    scheme, mark, rest = url.partition("://")
    driver = _DRIVERS.get(scheme.partition("+")[0].lower()) if mark else None
    try:
        if driver:
            return sa.make_url(f"{driver}://{_one_at(rest) if 'postgres' in driver else rest}")
    except (ArgumentError, NoSuchModuleError, ValueError):
        # What is wrong with it may be its password, so nothing of it is shown.
        raise ConfigError(
            "the registry's url cannot be read",
            detail="it must be sqlite:///file or postgresql://user:password@host:port/database",
            hint="percent-encode what is not a letter or a digit in user and password",
        ) from None
    raise ConfigError(
        "the registry's url is of a database that is not known"
        if mark
        else "the registry's url has no scheme",
        detail="allowed: sqlite:///file, postgresql://user@host/database",
        hint="set url in [registry], or GREBE_REGISTRY__URL",
    )


def _one_at(rest: str) -> str:
    """An address in which only the sign before the host is an @: a password may be written as it is.

    >>> _one_at("me:p@ss/w:rd@host/db"), _one_at("me:x@host/db")
    ('me:p%40ss%2Fw%3Ard@host/db', 'me:x@host/db')

    Raises:
        ConfigError: it can be read in two ways.
    """
    first, last = rest.find("@"), rest.rfind("@")
    if first == last:
        return rest
    if "?" in rest[first:last]:
        raise ConfigError(
            "the registry's url can be read in two ways",
            detail="there is a ? between one @ and another",
            hint="write %40 for an @ that does not stand before the host",
        )
    user, colon, password = rest[:last].partition(":")
    return f"{user}{colon}{quote(unquote(password), safe='')}@{rest[last + 1 :]}"


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
