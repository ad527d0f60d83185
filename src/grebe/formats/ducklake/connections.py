"""Attached DuckLake catalogs: one DuckDB per process, each catalog attached once in it.

A catalog in a DuckDB file can be open in one process only, so it is attached for as long as
somebody reads or writes and not a moment longer. Others stay attached: they let everybody in.
Even SQLite catalogs are read through DuckDB alone: a second copy of SQLite in one process would
drop the locks of the first.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grebe.errors import MissingExtraError, SourceError
from grebe.program.duckdb_text import ident, literal
from grebe.secrets import without_secrets

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

PATIENCE_SECONDS = 5.0
"""How long a catalog that another process has open is asked for again."""

_EXTENSIONS = {"sqlite": "sqlite_scanner", "postgres": "postgres_scanner"}
_PREFIX = re.compile(r"^(?:ducklake:)?(?:(sqlite|postgres):)?(.*)$", re.DOTALL)
_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET python_enable_replacements = false",
    # A commit that lost is planned again by its run; DuckLake's own patience is eleven seconds.
    "SET ducklake_max_retry_count = 3",
    "SET ducklake_retry_wait_ms = 10",
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a catalog is: its metadata, the folder of its files, and what ATTACH is told besides.

    >>> Address.of("ducklake:sqlite:/lake/meta.sqlite", None).kind
    'sqlite'
    >>> Address.of("postgresql://host/db", None).target
    'ducklake:postgres:postgresql://host/db'
    """

    kind: str
    metadata: str = field(repr=False)
    data_path: str | None = None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls, uri: str, data_path: str | None, options: Sequence[tuple[str, str]] = ()
    ) -> Address:
        """The address that a uri means: what DuckDB's ATTACH takes, its prefix or not."""
        found = _PREFIX.match(uri)
        assert found is not None
        kind, metadata = found[1], found[2]
        if kind is None:
            is_postgres = metadata.startswith(("postgresql://", "postgres://"))
            kind = "postgres" if is_postgres else "duckdb"
        return cls(kind, metadata, data_path, tuple(sorted(options)))

    @property
    def key(self) -> tuple[str, str]:
        """What two addresses of one catalog have in common."""
        return self.kind, self.metadata

    @property
    def target(self) -> str:
        """What ATTACH is given."""
        return f"ducklake:{'' if self.kind == 'duckdb' else f'{self.kind}:'}{self.metadata}"

    @property
    def mixes_states(self) -> bool:
        """Whether a transaction that only reads sees some of what others commit meanwhile."""
        is_read_only = any(key.upper() == "READ_ONLY" for key, _ in self.options)
        return self.kind == "sqlite" and not is_read_only

    @property
    def label(self) -> str:
        """The address for people: of a server's, nothing that may hold a password."""
        return f"a {self.kind} catalog" if self.kind == "postgres" else self.metadata

    def attach(self, alias: str, *, create: bool) -> str:
        """The statement that attaches the catalog."""
        options = dict(self.options)
        if self.data_path is not None:
            options["DATA_PATH"] = self.data_path.rstrip("/") + "/"
        if self.kind == "sqlite":
            options.setdefault("META_BUSY_TIMEOUT", "10000")
            if create:
                # Kept in the file from then on: readers and the writer no longer stop each other.
                options.setdefault("META_JOURNAL_MODE", "WAL")
        pairs = [f"{_option(key)} {literal(value)}" for key, value in sorted(options.items())]
        pairs.append(f"CREATE_IF_NOT_EXISTS {'true' if create else 'false'}")
        return f"ATTACH {literal(self.target)} AS {ident(alias)} ({', '.join(pairs)})"


def _option(key: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]+", key):
        raise SourceError(f'"{key}" is not an option of a DuckLake catalog')
    return key.upper()


TRIES = 40
"""With the pauses between them some ten seconds: SQLite lets one of many in at a time."""
_REFUSALS = ("conflict", "database is locked", "duplicate key", "constraint", "primary key")


def is_refusal(error: Exception) -> bool:
    """Whether an error says that nothing happened because of somebody else's commit."""
    text = str(error).lower()
    return any(word in text for word in _REFUSALS)


def pause(number: int) -> None:
    """Let others go first, longer with every try: two in each other's way must not stay in step."""
    time.sleep(random.uniform(0, min(0.3, 0.02 * 2**number)))


@dataclass(frozen=True, slots=True)
class Session:
    """A connection to the shared DuckDB in which a catalog is attached as ``alias``.

    What DuckDB raises becomes a `SourceError`: a catalog that breaks is a problem of its tables,
    not of everything that runs. ``raw`` leaves it as it is, for who decides by its text.
    """

    connection: DuckDBPyConnection
    alias: str
    address: Address
    is_raw: bool = False

    @property
    def raw(self) -> Session:
        """The same connection, whose errors are DuckDB's own."""
        return replace(self, is_raw=True)

    @property
    def meta(self) -> str:
        """The database of the catalog's own tables, for SQL."""
        return ident(f"__ducklake_metadata_{self.alias}")

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with self._guarded():
            return self.connection.execute(sql, list(parameters)).fetchall()

    def rows_if_there(self, sql: str) -> list[tuple[Any, ...]] | None:
        """All rows of a query; None when what it names does not exist."""
        import duckdb

        with self._guarded():
            try:
                return self.connection.execute(sql).fetchall()
            except duckdb.CatalogException:
                return None

    def row(self, sql: str, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """The only row of a statement."""
        (found,) = self.rows(sql, parameters)
        return found

    def arrow(self, sql: str) -> pa.Table:
        """The rows of a query as one Arrow table."""
        with self._guarded():
            return self.connection.execute(sql).to_arrow_table()

    def columns(self, sql: str) -> dict[str, Any]:
        """The rows of a query as one NumPy array per column."""
        with self._guarded():
            found: dict[str, Any] = self.connection.execute(sql).fetchnumpy()
            return found

    def insist(self, *statements: str) -> None:
        """Run statements as one step, again and again while others are in the way.

        For what may be said twice, as a step whose answer is lost is said again.
        """
        import duckdb

        for number in range(TRIES):
            if number:
                pause(number)
            try:
                self._at_once(statements)
            except duckdb.Error as error:
                if not is_refusal(error) or number + 1 == TRIES:
                    raise self.explained(error) from without_secrets(error)
            else:
                return

    def _at_once(self, statements: Sequence[str]) -> None:
        if len(statements) == 1:
            self.connection.execute(statements[0])
            return
        self.connection.execute("BEGIN")
        try:
            for statement in (*statements, "COMMIT"):
                self.connection.execute(statement)
        except BaseException:
            self.rollback()
            raise

    def rollback(self) -> None:
        """End a transaction, whether or not a failed statement has ended it already."""
        with suppress(Exception):
            self.connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A block whose reads all see one state of the catalog."""
        self.rows("BEGIN")
        try:
            if self.address.mixes_states:
                # Scans of a transaction that has written nothing open the file anew: they see the
                # updates of others up to now, and their new rows not. One that writes, were it no
                # row at all, reads by its own connection; and no lock is taken for no row.
                self.rows(f"DELETE FROM {self.meta}.ducklake_metadata WHERE false")
            yield
        finally:
            self.rollback()

    def explained(self, error: Exception) -> SourceError:
        """An error of DuckDB's as ours."""
        return _explained(self.address, error, "used")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            if self.is_raw:
                raise
            raise self.explained(error) from without_secrets(error)


@dataclass(slots=True)
class _Attached:
    alias: str
    may_create: bool
    users: int = 0


@dataclass(slots=True)
class _Process:
    """The DuckDB of this process and what is attached in it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    database: DuckDBPyConnection | None = None
    loaded: set[str] = field(default_factory=set)
    lakes: dict[tuple[str, str], _Attached] = field(default_factory=dict)
    """By kind and metadata: the same catalog is attached once, whoever asks and how."""
    number: int = 0


_process = _Process()


@contextmanager
def session(address: Address, *, create: bool = False) -> Iterator[Session]:
    """A connection with the catalog attached.

    Raises:
        SourceError: the catalog is not there, cannot be reached, or is open elsewhere
            (`catalog-locked`).
        MissingExtraError: DuckDB or one of its extensions is not installed.
    """
    with _process.lock:
        attached = _attach(address, create)
        attached.users += 1
        assert _process.database is not None
        connection = _process.database.cursor()
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
        yield Session(connection, attached.alias, address)
    finally:
        connection.close()
        with _process.lock:
            attached.users -= 1
            if attached.users == 0 and address.kind == "duckdb":
                _detach(address)


@contextmanager
def reading(address: Address) -> Iterator[Session]:
    """A connection whose reads all see one state of the catalog; see `session`."""
    with session(address) as lake, lake.transaction():
        yield lake


def release(address: Address) -> None:
    """Let go of a catalog that nobody uses now; the next user attaches it again."""
    with _process.lock:
        attached = _process.lakes.get(address.key)
        if attached is not None and attached.users == 0:
            _detach(address)


def _attach(address: Address, create: bool) -> _Attached:
    known = _process.lakes.get(address.key)
    if known is not None and (known.may_create or known.users or not create):
        return known
    if known is not None:
        _detach(address)
    if not create and address.kind != "postgres" and not Path(address.metadata).exists():
        raise _missing(address)  # DuckDB would leave an empty file behind
    database = _database(address.kind)
    _process.number += 1
    alias = f"grebe_lake_{_process.number}"
    statement = address.attach(alias, create=create)
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = 0.02
    while True:
        try:
            database.execute(statement)
        except Exception as error:
            if not _is_locked(error) or time.monotonic() + pause > deadline:
                raise _explained(address, error) from without_secrets(error)
            time.sleep(pause)
            pause *= 2
        else:
            break
    attached = _process.lakes[address.key] = _Attached(alias, create)
    return attached


def _detach(address: Address) -> None:
    assert _process.database is not None
    alias = _process.lakes.pop(address.key).alias
    _process.database.execute(f"DETACH {ident(alias)}")


def _database(kind: str) -> DuckDBPyConnection:
    """The shared DuckDB with the extensions that a kind of catalog needs."""
    from grebe.program.extensions import load_extensions

    if _process.database is None:
        try:
            import duckdb
        except ImportError as error:
            raise MissingExtraError.of("duckdb", "ducklake") from error
        _process.database = duckdb.connect()
    for name in ("ducklake", *([_EXTENSIONS[kind]] if kind in _EXTENSIONS else [])):
        if name not in _process.loaded:
            load_extensions(_process.database, name)
            _process.loaded.add(name)
    return _process.database


def _is_locked(error: Exception) -> bool:
    text = str(error)
    return "Could not set lock on file" in text or "database is locked" in text


def _explained(address: Address, error: Exception, done: str = "opened") -> SourceError:
    text = str(error).strip().partition("\n")[0]
    message = f"the DuckLake catalog of {address.label} cannot be {done}"
    if _is_locked(error) or "Unique file handle conflict" in text:
        return SourceError(
            message,
            detail=f"somebody else has it open: {_without_secret(address, text)}",
            hint="close it there, or keep the catalog in SQLite or PostgreSQL, which take many",
            code="catalog-locked",
        )
    if "explicitly disabled" in text:
        return _missing(address)
    return SourceError(message, detail=_without_secret(address, text), code="catalog-unreachable")


def _missing(address: Address) -> SourceError:
    return SourceError(
        f"the DuckLake catalog of {address.label} cannot be opened",
        detail="there is none",
        code="catalog-missing",
    )


def _without_secret(address: Address, text: str) -> str:
    return text.replace(address.metadata, "…") if address.kind == "postgres" else text
