"""The public name: exactly the columns, types and rows of the query, over the storage table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from grebe.compiler.emit import Leaf, emit
from grebe.engine.shown import shown_storage
from grebe.engine.tables import Tables
from grebe.engine.views import View
from grebe.errors import ConflictError
from grebe.formats.identity import quoted
from grebe.model import TableName
from grebe.sql_text import made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALTERED = "view-altered"
"""The code of refreshes that came too late: somebody changed the definition meanwhile."""


STORED = made("stored")
"""The relation that `PUBLIC` reads."""
PUBLIC = "grebe.public"
"""The property of a storage table that holds the SELECT behind the public name."""


def kept_properties(view: View) -> dict[str, str]:
    """What a storage table keeps, so that its rows can be read whatever the definition says then."""
    return {**view.properties(), PUBLIC: public_sql(view, STORED)}


def public_sql(view: View, stored: str, dialect: str = "spark") -> str:
    """The SELECT behind the public name, over the relation that holds the view's rows."""

    def relation(_: Leaf) -> str:
        return stored

    body = emit(view.plan.public, dialect, relation)
    return f"SELECT {cast_outputs(view, dialect)} FROM (\n{body}\n) AS {made('visible')}"


def cast_outputs(view: View, dialect: str = "spark") -> str:
    """The items that give a relation the public names and types."""
    pairs = zip(view.plan.outputs, view.columns, strict=True)
    if dialect == "spark":
        return ", ".join(
            f"CAST({quoted(own)} AS {kind}) AS {quoted(name)}" for (own, _), (name, kind) in pairs
        )
    return ", ".join(
        exp.alias_(
            exp.Cast(
                this=exp.column(exp.to_identifier(own, quoted=True)),
                to=exp.DataType.build(kind, dialect="spark"),
            ),
            exp.to_identifier(name, quoted=True),
        ).sql(dialect)
        for (own, _), (name, kind) in pairs
    )


def may_replace(view: View, shown: TableName | None) -> bool:
    """False when the public name shows what somebody published since the view was compiled."""
    return shown is None or shown == view.storage_name or shown in view.replaces


def altered(view: View) -> ConflictError:
    """The error for a view whose definition of before must not be shown again."""
    return ConflictError(
        f'view "{view.name}" was altered by somebody else meanwhile',
        detail="its public name shows another definition than the one that was refreshed",
        hint="run the command again, which reads it as it is now",
        code=ALTERED,
    )


def publish(tables: Tables, spark: SparkSession, view: View) -> None:
    """Make the public name show this view's storage table.

    Raises:
        ConflictError: it shows another definition by now, which would be undone.
    """
    if not may_replace(view, shown_storage(view.name, tables.shown(view.name, lambda: spark))):
        raise altered(view)
    stored = tables.relation(view.storage_name)
    tables.publish(view.name, spark, lambda dialect: public_sql(view, stored, dialect))
