"""The public name: exactly the columns, types and rows of the query, over the storage table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from grebe.compiler.emit import Leaf, emit
from grebe.engine.compiled_view import CompiledView
from grebe.engine.public_name import PUBLIC as PUBLIC
from grebe.engine.public_name import STORED as STORED
from grebe.engine.public_name import shown_storage, shows
from grebe.engine.tables import Tables
from grebe.errors import ConflictError, GrebeError, StepFailedError
from grebe.formats.base import OWN
from grebe.model import TableName
from grebe.sql_text import made, quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALTERED = "view-altered"
"""The code of refreshes that came too late: somebody changed the definition meanwhile."""


TAKEN = "name-taken"


def kept_properties(view: CompiledView) -> dict[str, str]:
    """What a storage table keeps, so that its rows can be read whatever the definition says then."""
    return {**view.properties(), PUBLIC: public_sql(view, STORED)}


def public_sql(view: CompiledView, stored: str, dialect: str = "spark") -> str:
    """The SELECT behind the public name, over the relation that holds the view's rows."""

    def relation(_: Leaf) -> str:
        return stored

    body = emit(view.plan.public, dialect, relation)
    return f"SELECT {cast_outputs(view, dialect)} FROM (\n{body}\n) AS {made('visible')}"


def cast_outputs(view: CompiledView, dialect: str = "spark") -> str:
    """The items that give a relation the public names and types."""
    pairs = zip(view.plan.outputs, view.columns, strict=True)
    if dialect == "spark":
        return ", ".join(
            f"CAST({quote(own)} AS {kind}) AS {quote(name)}" for (own, _), (name, kind) in pairs
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


def may_replace(view: CompiledView, shown: TableName | None) -> bool:
    """False when the public name shows what somebody published since the view was compiled."""
    return shown is None or shown == view.storage_name or shown in view.replaces


def refuse_taken(view: CompiledView, shown: str | None) -> None:
    """Nothing, unless somebody's own view has the public name: it would be lost.

    Raises:
        ConflictError: with what to do about it.
    """
    if shown is not None and OWN not in shown:
        raise _taken(view, "view", " ".join(shown.split()))


def _taken(view: CompiledView, what: str, detail: str) -> ConflictError:
    return ConflictError(
        f'the name of view "{view.name}" is taken by a {what} that is not grebe\'s',
        detail=detail[:200],
        hint=f"DROP {what.upper()} {view.name.quoted()} or give it another name, then refresh",
        code=TAKEN,
    )


def keeps_words(view: CompiledView, tables: Tables) -> bool:
    """Whether the text behind the public name is the one that was given, to the letter."""
    return tables.settings.catalog(view.name.catalog).format.keeps_words


def is_as_published(view: CompiledView, tables: Tables, shown: str | None) -> bool:
    """False when the public name shows something else than this view says, over its own rows."""
    if not keeps_words(view, tables):
        return True
    return shows(shown, public_sql(view, tables.relation(view.storage_name)))


def restore_properties(view: CompiledView, tables: Tables, spark: SparkSession) -> None:
    """Write down again what the storage table is to keep, where somebody changed it."""
    wanted = kept_properties(view)
    found = tables.properties(view.storage_name, lambda: spark) or {}
    lost = {key: value for key, value in wanted.items() if found.get(key) != value}
    if lost:
        tables.keep(view.storage_name, lambda: spark, lost)


def altered(view: CompiledView) -> ConflictError:
    """The error for a view whose definition of before must not be shown again."""
    return ConflictError(
        f'view "{view.name}" was altered by somebody else meanwhile',
        detail="its public name shows another definition than the one that was refreshed",
        hint="run the command again, which reads it as it is now",
        code=ALTERED,
    )


def publish(tables: Tables, spark: SparkSession, view: CompiledView) -> None:
    """Make the public name show this view's storage table.

    Raises:
        ConflictError: it shows another definition by now, which would be undone.
    """
    shown = tables.shown(view.name, lambda: spark)
    refuse_taken(view, shown)
    if not may_replace(view, shown_storage(view.name, shown)):
        raise altered(view)
    stored = tables.relation(view.storage_name)
    try:
        tables.publish(view.name, spark, lambda dialect: public_sql(view, stored, dialect))
    except Exception as error:  # Spark's own, and the catalog's
        if _is_table(view.name, tables, spark):
            raise _taken(view, "table", f"{view.name} is a table") from error
        if isinstance(error, GrebeError):
            raise
        raise StepFailedError(
            f'the public name of view "{view.name}" cannot be made',
            detail=str(error).split("\n", maxsplit=1)[0],
            hint=f"look at {view.name} in its catalog, then refresh",
            step="publish",
        ) from error


def _is_table(name: TableName, tables: Tables, spark: SparkSession) -> bool:
    try:
        tables.source(name, lambda: spark).head()
    except Exception:  # whatever is there, it is none that can be read
        return False
    return True
