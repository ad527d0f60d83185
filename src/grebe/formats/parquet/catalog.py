"""Opens folders of Parquet files, as sources only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from grebe.errors import ConfigError
from grebe.formats.base import Expiry, Select, Session, Source, Storage
from grebe.formats.files import local_path
from grebe.formats.folders import folder_of
from grebe.formats.moved_folders import Move
from grebe.formats.parquet.listing import Shelf
from grebe.formats.parquet.source import ParquetSource
from grebe.model import CatalogAddress, Partition, Position, TableName, Version
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class ParquetCatalog:
    """The folders of Parquet files under one root."""

    place: CatalogAddress

    def relation(self, name: TableName) -> str:
        """The folder in Spark SQL, as it is now."""
        return f"parquet.{quote(self._folder(name))}"

    def source(self, name: TableName, spark: Session) -> Source:
        """The folder as a source."""
        shelf = Shelf.of(self.place.home, name)
        folder = self._folder(name)
        return ParquetSource(name, folder, shelf, spark=spark, identity=self._identity(folder))

    def _identity(self, folder: str) -> str:
        """The folder, by the name that it had when the project was made: a moved one is the same."""
        place = self.place
        if place.folder == place.first_folder:
            return folder
        return Move(place.folder, place.first_folder).of(folder)

    def storage(self, name: TableName, session: SparkSession) -> Storage:
        """Nothing: rows and frontier cannot move together where there is no commit."""
        raise self._no_storage(name)

    def position(self, name: TableName, spark: Session) -> Position | None:
        """None: no view has its storage here."""
        return None

    def publish(self, name: TableName, session: SparkSession, select: Select) -> None:
        """Nothing: see `storage`."""
        raise self._no_storage(name)

    def shown(self, name: TableName, spark: Session) -> str | None:
        """None: no view has its name here."""
        return None

    def taken(self, name: TableName, spark: Session) -> bool:
        """False: no view has its name here anyway."""
        return False

    def properties(self, name: TableName, spark: Session) -> dict[str, str] | None:
        """None: no view has its storage here."""
        return None

    def staged(self, beside: TableName, session: SparkSession) -> list[TableName]:
        """Nothing is ever staged here."""
        return []

    def staged_at(self, name: TableName, spark: Session) -> datetime | None:
        """None: nothing is ever staged here."""
        return None

    def stage(self, name: TableName, rows: DataFrame) -> str:
        """Nothing: see `storage`."""
        raise self._no_storage(name)

    def unstage(self, name: TableName, session: SparkSession) -> None:
        """Nothing was staged."""

    def partitioning(self, parts: Sequence[Partition]) -> list[str]:
        """Nothing: no view has its storage here."""
        return []

    @property
    def one_history(self) -> bool:
        """False: there is none."""
        return False

    def stored(self, spark: Session, schema: str | None = None) -> list[TableName]:
        """Nothing: no view has its storage here."""
        return []

    def keep(self, name: TableName, spark: Session, properties: Mapping[str, str]) -> None:
        """Nothing: see `storage`."""
        raise self._no_storage(name)

    def moment(self, name: TableName, version: Version, spark: Session) -> datetime | None:
        """None: folders have no commits."""
        return None

    def version_at(self, name: TableName, when: datetime, spark: Session) -> Version | None:
        """None: folders have no commits."""
        return None

    def expiry(self, name: TableName, before: datetime) -> Expiry | None:
        """None: folders keep no old versions."""
        return None

    def expire(self, name: TableName, spark: Session, before: datetime | None) -> None:
        """Nothing: see `storage`."""
        raise self._no_storage(name)

    def remove(self, name: TableName, spark: Session) -> None:
        """Nothing: what is here is not ours."""

    def unpublish(self, name: TableName, spark: Session) -> None:
        """Nothing: no view has its name here."""

    def _folder(self, name: TableName) -> str:
        folder = local_path(folder_of(self.place, name))
        if folder is None:
            raise ConfigError(
                f'catalog "{self.place.catalog}" is not on this machine',
                detail="folders of Parquet files are listed by the driver",
                hint="put a table format over the files, e.g. Iceberg's add_files",
            )
        return folder

    def _no_storage(self, name: TableName) -> ConfigError:
        return ConfigError(
            f'view "{name}" cannot be kept as Parquet files',
            detail=f'catalog "{self.place.catalog}" has format parquet, which has no commits',
            hint="keep views in an Iceberg, Delta or DuckLake catalog",
        )
