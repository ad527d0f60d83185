"""Opens folders of Parquet files, as sources only."""

from __future__ import annotations

from grebe.errors import ConfigError
from grebe.formats.base import Session, Source
from grebe.formats.files import local_path
from grebe.formats.folders import folder_of
from grebe.formats.moved_folders import Move
from grebe.formats.parquet.listing import Shelf
from grebe.formats.parquet.source import ParquetSource
from grebe.formats.read_only import ReadOnlyCatalog
from grebe.model import TableName
from grebe.sql_text import quote


class ParquetCatalog(ReadOnlyCatalog):
    """The folders of Parquet files under one root."""

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

    def _folder(self, name: TableName) -> str:
        folder = local_path(folder_of(self.place, name))
        if folder is None:
            raise ConfigError(
                f'catalog "{self.place.catalog}" is not on this machine',
                detail="folders of Parquet files are listed by the driver",
                hint="put a table format over the files, e.g. Iceberg's add_files",
            )
        return folder
