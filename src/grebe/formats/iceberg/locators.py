"""Where a table's current metadata file is. Standard library only: "nothing changed" starts here."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import parse_qsl, urlsplit

from grebe.errors import ConfigError, MissingExtraError, SourceError, UnknownTableError
from grebe.formats.files import local_path
from grebe.model import TableName
from grebe.secrets import without_secrets
from grebe.sql_text import pair_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Locator(Protocol):
    """Finds a table's current metadata file."""

    needs_spark: bool

    def metadata_location(self, name: TableName) -> str:
        """The location of the metadata file that is current now."""


@runtime_checkable
class SqlLocator(Protocol):
    """A catalog whose rows can be written, too."""

    def forgets(self, name: TableName, kind: str) -> bool:
        """Whether the name is in the list as that of a TABLE or a VIEW."""

    def forget(self, name: TableName) -> None:
        """Take a table out of the list, whatever became of its files."""

    def metadata_location(self, name: TableName) -> str:
        """The location of the metadata file that is current now."""

    def swap(self, name: TableName, old: str, new: str) -> bool:
        """Point a table to another metadata file, if it is still at the old one."""


_FORGET = (
    "DELETE FROM iceberg_tables"
    " WHERE catalog_name = {0} AND table_namespace = {0} AND table_name = {0}"
)
_QUERY = (
    "SELECT metadata_location FROM iceberg_tables"
    " WHERE catalog_name = {0} AND table_namespace = {0} AND table_name = {0}"
)
_SWAP = (
    "UPDATE iceberg_tables SET metadata_location = {0}, previous_metadata_location = {0}"
    " WHERE catalog_name = {0} AND table_namespace = {0} AND table_name = {0}"
    " AND metadata_location = {0}"
)
_KIND = f"{_QUERY.replace('metadata_location', 'iceberg_type')}"
_NAMES = "SELECT table_namespace, table_name FROM iceberg_tables WHERE catalog_name = {0}"


class SqliteLocator:
    """The row of a JDBC catalog in an SQLite file."""

    needs_spark = False

    def __init__(self, path: str, catalog: str) -> None:
        self._path = path
        self._catalog = catalog

    def metadata_location(self, name: TableName) -> str:
        """The location in the table's row."""
        file = Path(self._path).absolute()
        if _is_missing(file):
            raise UnknownTableError.named(str(name), [])  # Spark makes it when it is first used
        uri = f"{file.as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(uri, uri=True, timeout=10)) as connection:
                row = connection.execute(
                    _QUERY.format("?"), (self._catalog, name.schema, name.name)
                ).fetchone()
                if row:
                    return str(row[0])
                known = connection.execute(_NAMES.format("?"), (self._catalog,)).fetchall()
        except sqlite3.Error as error:
            if "no such table" not in str(error) or not _is_unused(file):
                raise SourceError(
                    f'catalog "{self._catalog}" cannot be read', detail=f"{self._path}: {error}"
                ) from error
            known = []
        raise UnknownTableError.named(str(name), [f"{name.catalog}.{s}.{t}" for s, t in known])

    def forgets(self, name: TableName, kind: str) -> bool:
        """True when the row of the name is of that kind; one without a kind is a table's."""
        with closing(sqlite3.connect(self._path, timeout=10)) as connection:
            key = (self._catalog, name.schema, name.name)
            found = connection.execute(_KIND.format("?"), key).fetchone()
        return found is not None and (found[0] or "TABLE") == kind

    def forget(self, name: TableName) -> None:
        """Delete the table's row."""
        with closing(sqlite3.connect(self._path, timeout=10)) as connection, connection:
            connection.execute(_FORGET.format("?"), (self._catalog, name.schema, name.name))

    def swap(self, name: TableName, old: str, new: str) -> bool:
        """Set the table's row, if it still holds the old location."""
        key = (new, old, self._catalog, name.schema, name.name, old)
        with closing(sqlite3.connect(self._path, timeout=10)) as connection, connection:
            return connection.execute(_SWAP.format("?"), key).rowcount == 1


def _is_missing(file: Path) -> bool:
    """True for a catalog that was never used: a lost one leaves its tables' files behind."""
    try:
        tables = file.parent / "warehouse"
        return not file.exists() and not (tables.is_dir() and any(tables.iterdir()))
    except OSError:
        return False  # nobody may look: whoever opens it is told so


def _is_unused(file: Path) -> bool:
    """True for a catalog's file that was made and holds nothing yet, not even its own tables."""
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=10)) as connection:
        (count,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    return int(count) == 0


class PostgresLocator:
    """The row of a JDBC catalog in a PostgreSQL database."""

    needs_spark = False

    def __init__(self, dsn: str, catalog: str) -> None:
        self._dsn = dsn
        self._catalog = catalog

    def metadata_location(self, name: TableName) -> str:
        """The location in the table's row."""
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError.of("psycopg", "postgres") from error
        try:
            with psycopg.connect(self._dsn, connect_timeout=10) as connection:
                row = connection.execute(
                    _QUERY.format("%s"), (self._catalog, name.schema, name.name)
                ).fetchone()
                if row:
                    return str(row[0])
                known = connection.execute(_NAMES.format("%s"), (self._catalog,)).fetchall()
        except psycopg.Error as error:
            raise SourceError(
                f'catalog "{self._catalog}" cannot be read', detail=str(error)
            ) from without_secrets(error)
        raise UnknownTableError.named(str(name), [f"{name.catalog}.{s}.{t}" for s, t in known])

    def forgets(self, name: TableName, kind: str) -> bool:
        """True when the row of the name is of that kind; one without a kind is a table's."""
        import psycopg

        with psycopg.connect(self._dsn, connect_timeout=10) as connection:
            key = (self._catalog, name.schema, name.name)
            found = connection.execute(_KIND.format("%s"), key).fetchone()
        return bool(found) and ((found and found[0]) or "TABLE") == kind

    def forget(self, name: TableName) -> None:
        """Delete the table's row."""
        import psycopg

        with psycopg.connect(self._dsn, connect_timeout=10) as connection:
            connection.execute(_FORGET.format("%s"), (self._catalog, name.schema, name.name))

    def swap(self, name: TableName, old: str, new: str) -> bool:
        """Set the table's row, if it still holds the old location."""
        import psycopg

        key = (new, old, self._catalog, name.schema, name.name, old)
        with psycopg.connect(self._dsn, connect_timeout=10) as connection:
            return connection.execute(_SWAP.format("%s"), key).rowcount == 1


_NUMBER = re.compile(r"v?(\d+)")
_NUMBERED = re.compile(r"v(\d+)(?:\.gz)?\.metadata\.json(?:\.gz)?")


class HadoopLocator:
    """The newest numbered metadata file in a table's folder on this machine's disk."""

    needs_spark = False

    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse

    def metadata_location(self, name: TableName) -> str:
        """The file with the highest number: the hint may lag behind it, never the reverse."""
        folder = Path(self._warehouse, *name.schema.split("."), name.name, "metadata")
        found = {
            int(match[1]): entry.name
            for entry in (folder.iterdir() if folder.is_dir() else ())
            if (match := _NUMBERED.fullmatch(entry.name))
        }
        if not found:
            raise UnknownTableError.named(str(name), self._known(name.catalog))
        return str(folder / found[max(found)])

    def _known(self, catalog: str) -> list[str]:
        root = Path(self._warehouse)
        tables = (folder.parent.relative_to(root) for folder in root.glob("**/metadata"))
        return [".".join((catalog, *table.parts)) for table in tables]


class SparkLocator:
    """The newest entry of the table's metadata log, asked of Spark: any catalog that it has."""

    needs_spark = True

    def __init__(self, spark: Callable[[], SparkSession]) -> None:
        self._spark = spark

    def metadata_location(self, name: TableName) -> str:
        """The newest file in the log, at the cost of one Spark job."""
        from pyspark.errors import AnalysisException

        log = f"{name.quoted()}.metadata_log_entries"
        try:
            entries = self._spark().sql(f"SELECT timestamp, file FROM {log}").collect()
        except AnalysisException as error:
            raise UnknownTableError.named(str(name), []) from error
        return str(max(entries, key=lambda entry: (entry[0], _file_number(entry[1])))[1])


def _file_number(location: str) -> int:
    """The number in a metadata file's name, which tells files of the same millisecond apart."""
    found = _NUMBER.match(location.rpartition("/")[2])
    return int(found[1]) if found else -1


def locator_of(
    catalog: str,
    properties: Mapping[str, str],
    spark: Callable[[], SparkSession] | None = None,
) -> Locator:
    """The quickest way to a catalog's pointers, from the properties that Spark knows it by.

    ``type``, ``uri`` and ``warehouse`` are those of ``spark.sql.catalog.<name>``. A JDBC catalog in
    SQLite or PostgreSQL and a Hadoop catalog on a local disk are read without Spark, all others
    through it.
    """
    kind, uri = properties.get("type", ""), properties.get("uri", "")
    if kind == "jdbc" and uri.startswith("jdbc:sqlite:"):
        return SqliteLocator(uri.removeprefix("jdbc:sqlite:").split("?")[0], catalog)
    if kind == "jdbc" and uri.startswith("jdbc:postgresql:"):
        return PostgresLocator(_postgres_dsn(uri, properties), catalog)
    warehouse = local_path(properties.get("warehouse", ""))
    if kind == "hadoop" and warehouse:
        return HadoopLocator(warehouse)
    if spark is None:
        raise ConfigError(
            f'catalog "{catalog}" can only be read through Spark', detail=f'type = "{kind}"'
        )
    return SparkLocator(spark)


def _postgres_dsn(uri: str, properties: Mapping[str, str]) -> str:
    """The address of a JDBC address for psycopg; user and password may be properties of their own."""
    parts = urlsplit(uri.removeprefix("jdbc:"))
    query = dict(parse_qsl(parts.query))
    words = {
        "host": parts.hostname or query.get("host", "localhost"),
        "port": str(parts.port or 5432),
        "dbname": parts.path.lstrip("/"),
        "user": properties.get("jdbc.user", query.get("user", "")),
        "password": properties.get("jdbc.password", query.get("password", "")),
    }
    return " ".join(f"{key}={pair_value(value)}" for key, value in words.items() if value)
