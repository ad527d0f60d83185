"""A catalog of tables that are only read: whoever has no commits, or lets nobody else write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from grebe.errors import ConfigError
from grebe.formats.base import Expiry, Select, Session, Storage
from grebe.known_formats import view_formats
from grebe.model import CatalogAddress, Partition, Position, TableName, Version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class ReadOnlyCatalog:
    """What is said of storage where no view can be kept; sources are its format's own."""

    place: CatalogAddress

    def storage(self, name: TableName, session: SparkSession) -> Storage:
        """Nothing: rows and frontier could not move together."""
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
        """False: there is none that is ours."""
        return False

    def stored(self, spark: Session, schema: str | None = None) -> list[TableName]:
        """Nothing: no view has its storage here."""
        return []

    def keep(self, name: TableName, spark: Session, properties: Mapping[str, str]) -> None:
        """Nothing: see `storage`."""
        raise self._no_storage(name)

    def moment(self, name: TableName, version: Version, spark: Session) -> datetime | None:
        """None: nobody wrote down when."""
        return None

    def version_at(self, name: TableName, when: datetime, spark: Session) -> Version | None:
        """None: nobody wrote down when."""
        return None

    def expiry(self, name: TableName, before: datetime) -> Expiry | None:
        """None: older versions are not ours to remove."""
        return None

    def expire(self, name: TableName, spark: Session, before: datetime | None) -> None:
        """Nothing: see `storage`."""
        raise self._no_storage(name)

    def remove(self, name: TableName, spark: Session) -> None:
        """Nothing: what is here is not ours."""

    def unpublish(self, name: TableName, spark: Session) -> None:
        """Nothing: no view has its name here."""

    def _no_storage(self, name: TableName) -> ConfigError:
        return ConfigError(
            f'view "{name}" cannot be kept in catalog "{self.place.catalog}"',
            detail="its tables are only read: rows and frontier could not move together there",
            hint=f"keep views in a catalog of format {' or '.join(view_formats())}",
        )
