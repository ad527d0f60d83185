"""Opens DuckLake tables: where the catalog is, and what stands beside its tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grebe.errors import ConfigError, SourceError, UnknownTableError
from grebe.formats.base import STAGED, Expiry, Select, Session, Source, Storage
from grebe.formats.ducklake import connections
from grebe.formats.ducklake.catalog_rows import CatalogRows, refuse_plain
from grebe.formats.ducklake.connections import Address
from grebe.formats.ducklake.expiry import expire, storages
from grebe.formats.ducklake.position import cursor_name
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.formats.ducklake.storage import DuckLakeStorage, partition_items
from grebe.formats.ducklake.version_at import version_at
from grebe.formats.ducklake.versions import VersionPoint as At
from grebe.formats.files import local_path
from grebe.formats.folders import folders_beside
from grebe.model import CatalogAddress, Partition, Position, TableName, Version
from grebe.program.duckdb_text import ident, literal
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

CATALOG = "__grebe_catalog"
"""Stands for the catalog in the text of a public SELECT: its name differs in every connection."""


def address_of(place: CatalogAddress) -> Address:
    """Where a configured catalog is.

    Raises:
        ConfigError: it has no uri.
    """
    if place.uri is None:
        raise ConfigError(
            f'catalog "{place.catalog}" needs a uri',
            hint="for example ducklake:sqlite:/lake/meta.sqlite, with the data folder as root",
        )
    return Address.of(place.uri, place.root, tuple(place.options.items()))


@dataclass(frozen=True, slots=True)
class DuckLakeCatalog:
    """The tables of one DuckLake catalog."""

    place: CatalogAddress

    def relation(self, name: TableName) -> str:
        """The table in DuckDB's SQL; the public name is read by DuckDB."""
        return ident(CATALOG, name.schema, name.name)

    def source(self, name: TableName, spark: Session) -> Source:
        """The table as a source."""
        return DuckLakeSource(name, address_of(self.place), spark=spark)

    def storage(self, name: TableName, session: SparkSession) -> Storage:
        """The table as a view's storage."""
        return DuckLakeStorage(session, name, address_of(self.place))

    def position(self, name: TableName, spark: Session) -> Position | None:
        """The position of a storage table, from the catalog."""
        return _or_none(DuckLakeStorage(None, name, address_of(self.place)).position)

    def publish(self, name: TableName, session: SparkSession, select: Select) -> None:
        """A view of the catalog, for everybody who reads it with DuckDB."""
        with connections.session(address_of(self.place), create=True) as lake:
            body = select("duckdb").replace(ident(CATALOG), ident(lake.alias))
            view = ident(lake.alias, name.schema, name.name)
            lake.insist(f"CREATE OR REPLACE VIEW {view} AS {body}")

    def shown(self, name: TableName, spark: Session) -> str | None:
        """The text of the catalog's view."""
        return _or_none(lambda: self._shown(name))

    def _shown(self, name: TableName) -> str | None:
        with connections.reading(address_of(self.place)) as lake:
            found = lake.rows(
                f"SELECT v.sql FROM {lake.meta}.ducklake_view AS v JOIN {lake.meta}.ducklake_schema"
                " AS s ON s.schema_id = v.schema_id AND s.end_snapshot IS NULL"
                " WHERE v.end_snapshot IS NULL AND s.schema_name = ? AND v.view_name = ?",
                [name.schema, name.name],
            )
        return str(found[0][0]) if found else None

    def taken(self, name: TableName, spark: Session) -> bool:
        """Whether the name is a table's of the catalog."""
        return bool(_or_none(lambda: self._taken(name)))

    def _taken(self, name: TableName) -> bool:
        with connections.reading(address_of(self.place)) as lake:
            found = lake.rows(
                f"SELECT 1 FROM {lake.meta}.ducklake_table AS t JOIN {lake.meta}.ducklake_schema"
                " AS s ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL"
                " WHERE t.end_snapshot IS NULL AND s.schema_name = ? AND t.table_name = ?",
                [name.schema, name.name],
            )
        return bool(found)

    def properties(self, name: TableName, spark: Session) -> dict[str, str] | None:
        """What is kept with a storage table, as its comment."""
        return _or_none(DuckLakeStorage(None, name, address_of(self.place)).properties)

    def staged(self, beside: TableName, session: SparkSession) -> list[TableName]:
        """Folders beside the table's whose names say that they are staged."""
        names = folders_beside(self._folder(beside), STAGED)
        return [replace(beside, name=name) for name in names]

    def staged_at(self, name: TableName, spark: Session) -> datetime | None:
        """When something last came into the folder, where it is on this machine."""
        folder = local_path(self._folder(name))
        if folder is None or not Path(folder).is_dir():
            return None
        return datetime.fromtimestamp(Path(folder).stat().st_mtime, UTC)

    def stage(self, name: TableName, rows: DataFrame) -> str:
        """Parquet files in the catalog's own folder, which every executor can read."""
        folder = self._folder(name)
        with connections.reading(address_of(self.place)) as lake:
            refuse_plain(lake, f'table "{name}"')
        rows.write.mode("error").parquet(folder)
        return f"parquet.{quote(folder)}"

    def unstage(self, name: TableName, session: SparkSession) -> None:
        """Remove the files; those that are not on this machine are left to the catalog's upkeep."""
        folder = local_path(self._folder(name))
        if folder is not None:
            shutil.rmtree(Path(folder), ignore_errors=True)

    def partitioning(self, parts: Sequence[Partition]) -> list[str]:
        """Columns, parts of a time, and buckets."""
        return partition_items(parts)

    @property
    def one_history(self) -> bool:
        """True: a snapshot is one of all tables."""
        return True

    def stored(self, spark: Session, schema: str | None = None) -> list[TableName]:
        """Tables whose names say that they hold a view."""
        return _or_none(lambda: self._stored(schema)) or []

    def _stored(self, schema: str | None) -> list[TableName]:
        with connections.reading(address_of(self.place)) as lake:
            found = storages(lake)
        own = self.place.catalog
        return [TableName(own, s, name) for s, name in found if schema in (None, s)]

    def keep(self, name: TableName, spark: Session, properties: Mapping[str, str]) -> None:
        """Write the table's comment again."""
        DuckLakeStorage(None, name, address_of(self.place)).keep(properties)

    def moment(self, name: TableName, version: Version, spark: Session) -> datetime | None:
        """When a snapshot was committed."""
        with connections.reading(address_of(self.place)) as lake:
            found = CatalogRows(lake).snapshot(At.of(version).snapshot)
        return found.committed_at if found else None

    def version_at(self, name: TableName, when: datetime, spark: Session) -> Version | None:
        """The newest snapshot by then that changed the table, where that can be proved."""
        with connections.reading(address_of(self.place)) as lake:
            return version_at(lake, name, when)

    def expiry(self, name: TableName, before: datetime) -> Expiry | None:
        """DuckLake's procedure, for all tables of the catalog."""
        own = literal(self.place.catalog)
        stamp = before.isoformat(sep=" ")
        return Expiry(f"CALL ducklake_expire_snapshots({own}, older_than => TIMESTAMPTZ '{stamp}')")

    def expire(self, name: TableName, spark: Session, before: datetime | None) -> None:
        """Expire snapshots that changed nothing but views: those of other tables are not ours."""
        with connections.session(address_of(self.place)) as lake:
            expire(lake, before)

    def remove(self, name: TableName, spark: Session) -> None:
        """Drop the table and its frontier's in one step; files go with the snapshots."""
        with connections.session(address_of(self.place)) as lake:
            both = (
                ident(lake.alias, name.schema, own) for own in (cursor_name(name.name), name.name)
            )
            lake.insist(*(f"DROP TABLE IF EXISTS {table}" for table in both))

    def unpublish(self, name: TableName, spark: Session) -> None:
        """Drop the catalog's view."""
        with connections.session(address_of(self.place)) as lake:
            lake.insist(f"DROP VIEW IF EXISTS {ident(lake.alias, name.schema, name.name)}")

    def _folder(self, name: TableName) -> str:
        with connections.reading(address_of(self.place)) as lake:
            root = lake.row(
                f"SELECT value FROM {lake.meta}.ducklake_metadata WHERE key = 'data_path'"
                " AND scope IS NULL"
            )[0]
        return f"{root.rstrip('/')}/{name.schema}/{name.name}"


def _or_none(read: Callable[[], T]) -> T | None:
    """What is read; None where there is no such table or no catalog yet."""
    try:
        return read()
    except UnknownTableError:
        return None
    except SourceError as error:
        if error.code == "catalog-missing":
            return None
        raise
