"""The SQL text of a commit by Spark. Pure: names, types and rows in, one statement out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grebe.formats.base import ACTION, Append, Merge, Overwrite, Write
from grebe.formats.sql_text import comparable, literal, quote, type_sql

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

MUST_EXIST = "grebe: a row to update is not stored"


def create_table(table: str, columns: Mapping[str, str], properties: Mapping[str, str]) -> str:
    """The statement that makes the empty storage table."""
    listed = ", ".join(f"{quote(column)} {type_}" for column, type_ in columns.items())
    pairs = ", ".join(f"{literal(key)} = {literal(properties[key])}" for key in sorted(properties))
    return f"CREATE TABLE IF NOT EXISTS {table} ({listed}) USING delta TBLPROPERTIES ({pairs})"


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a statement writes to, with the types that every value is cast to."""

    table: str
    schema: StructType

    @property
    def columns(self) -> str:
        """All columns of the table as an SQL list."""
        return ", ".join(quote(field.name) for field in self.schema.fields)

    def _cast(self) -> str:
        return ", ".join(
            f"CAST({quote(f.name)} AS {type_sql(f.dataType)}) AS {quote(f.name)}"
            for f in self.schema.fields
        )

    def statement(self, write: Write | None, rows: str) -> str:
        """The one statement of a commit; ``rows`` is the query of what to write."""
        match write:
            case None:
                return f"INSERT INTO {self.table} SELECT * FROM {self.table} WHERE false"
            case Append():
                return (
                    f"INSERT INTO {self.table} ({self.columns}) SELECT {self._cast()} FROM ({rows})"
                )
            case Overwrite():
                return (
                    f"INSERT OVERWRITE {self.table} ({self.columns})"
                    f" SELECT {self._cast()} FROM ({rows})"
                )
            case Merge():
                return self._merge(write, rows)

    def found(self, write: Merge, rows: str, version: int) -> str:
        """A query of how many stored rows of a version each action matches."""
        condition = self._condition(write, but_inserts=not write.unique)
        return (
            f"SELECT change.{quote(ACTION)} AS action, COUNT(*) AS number"
            f" FROM {self.table} VERSION AS OF {version} AS target"
            f" JOIN ({self._changes(rows)}) AS change ON {condition}"
            f" GROUP BY change.{quote(ACTION)}"
        )

    def _changes(self, rows: str) -> str:
        return f"SELECT {self._cast()}, {quote(ACTION)} FROM ({rows})"

    def _merge(self, write: Merge, rows: str) -> str:
        action = f"change.{quote(ACTION)}"
        values = ", ".join(f"change.{quote(f.name)}" for f in self.schema.fields)
        clauses = [
            f"MERGE INTO {self.table} AS target",
            f"USING ({self._changes(rows)}) AS change",
            f"ON {self._condition(write, but_inserts=True)}",
            f"WHEN MATCHED AND {action} = 'delete' THEN DELETE",
            *self._update(write.on),
            f"WHEN NOT MATCHED AND {action} = 'insert' THEN INSERT ({self.columns}) VALUES ({values})",
        ]
        if write.expect_updated is not None:
            first, *rest = self.schema.fields
            loud = f"CAST(raise_error({literal(MUST_EXIST)}) AS {type_sql(first.dataType)})"
            listed = ", ".join([loud, *(f"change.{quote(f.name)}" for f in rest)])
            clauses.append(
                f"WHEN NOT MATCHED AND {action} = 'update'"
                f" THEN INSERT ({self.columns}) VALUES ({listed})"
            )
        return "\n".join(clauses)

    def _condition(self, write: Merge, *, but_inserts: bool) -> str:
        types = {field.name: field.dataType for field in self.schema.fields}
        terms = [
            f"{comparable(f'target.{quote(column)}', types[column])} <=> "
            f"{comparable(f'change.{quote(column)}', types[column])}"
            for column in write.on
        ]
        if but_inserts:
            terms.append(f"change.{quote(ACTION)} <> 'insert'")
        if write.prune is not None:
            terms.append(f"({write.prune})")
        return " AND ".join(terms) or "true"

    def _update(self, on: Sequence[str]) -> list[str]:
        others = [field.name for field in self.schema.fields if field.name not in on]
        if not others:
            return []
        pairs = ", ".join(f"target.{quote(name)} = change.{quote(name)}" for name in others)
        return [f"WHEN MATCHED AND change.{quote(ACTION)} = 'update' THEN UPDATE SET {pairs}"]
