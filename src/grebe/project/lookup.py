"""The columns of tables and views, for definitions that name none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grebe.config import Settings
from grebe.errors import ConfigError, DefinitionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]
ViewColumns = Callable[[str], Mapping[str, str] | None]
"""The columns of a view by its full name; None where no view has it."""

NOT_COMPILED = "not-compiled"
"""The columns of a view are asked for before it is compiled: nobody knows them yet."""


class Lookup:
    """The columns of tables and views, as they are now."""

    def __init__(
        self,
        settings: Settings,
        of_view: ViewColumns | None = None,
        spark: Session | None = None,
    ) -> None:
        self.settings = settings
        self.of_view: ViewColumns = of_view or (lambda _: None)
        self.spark = spark or _no_spark

    def __call__(self, name: str) -> dict[str, str]:
        """Names and types, in order.

        Raises:
            DefinitionError: with NOT_COMPILED, it is a view whose text nobody compiled yet.
        """
        from grebe.engine.tables import Tables

        table = self.settings.resolve(name)
        known = self.of_view(str(table))
        if known is not None:
            return dict(known)
        head = Tables(self.settings).source(table, self.spark).head()
        return {column.name: column.type for column in head.schema.columns}


def not_compiled(name: str) -> DefinitionError:
    """The error for a view whose columns are asked for before it is compiled."""
    return DefinitionError(f'view "{name}" is not compiled yet', code=NOT_COMPILED)


def _no_spark() -> SparkSession:
    raise ConfigError(
        "the columns of this table can only be read through Spark",
        hint="write the view as SQL",
    )
