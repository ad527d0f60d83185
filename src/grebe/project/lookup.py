"""The columns of tables and views, for definitions that name none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grebe.config import Settings
from grebe.errors import ConfigError, DefinitionError
from grebe.model import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from grebe.project.definitions import Definition

Session = Callable[[], "SparkSession"]
Compiled = Callable[["Definition"], Mapping[str, str] | None]


NOT_COMPILED = "not-compiled"
"""The columns of a view are asked for before it is compiled: nobody knows them yet."""


class Lookup:
    """The columns of tables and views, as they are now."""

    def __init__(
        self,
        settings: Settings,
        views: Mapping[str, Definition],
        spark: Session | None = None,
        compiled: Compiled | None = None,
    ) -> None:
        self.settings = settings
        self.views = views
        self.spark = spark or _no_spark
        self.compiled = compiled or (lambda _: None)

    def __call__(self, name: str) -> dict[str, str]:
        """Names and types, in order.

        Raises:
            DefinitionError: with NOT_COMPILED, it is a view whose text nobody compiled yet.
        """
        from grebe.engine.tables import Tables

        table = self.settings.resolve(name)
        view = self.views.get(str(table))
        if view is not None:
            return self._of_view(table, view)
        head = Tables(self.settings).source(table, self.spark).head()
        return {column.name: column.type for column in head.schema.columns}

    def _of_view(self, table: TableName, view: Definition) -> dict[str, str]:
        if view.is_as_compiled and view.facts:
            return dict(view.facts.columns)
        made = self.compiled(view)
        if made is None:
            raise DefinitionError(f'view "{table}" is not compiled yet', code=NOT_COMPILED)
        return dict(made)


def _no_spark() -> SparkSession:
    raise ConfigError(
        "the columns of this table can only be read through Spark",
        hint="write the view as SQL",
    )
