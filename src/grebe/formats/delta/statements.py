"""The SQL text of a commit by Spark. Pure: names, types and rows in, one statement out."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from grebe.formats.base import ACTION, CHANGE, TARGET, Append, Expiry, Merge, Overwrite, Write
from grebe.formats.delta.partitions import loud
from grebe.formats.merge_text import condition, listed, taken, update
from grebe.formats.spark_text import type_sql
from grebe.formats.storage_errors import unknown_partition
from grebe.model import Partition
from grebe.sql_text import literal, made, quote

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

MUST_EXIST = "grebe: a row to update is not stored"
WEEK = 168
"""Below so many hours Delta refuses, unless a setting says that no writer is older than that."""
TIME_TO_RUN = 24
"""Hours that a person has to run a statement that was printed."""
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
VACUUM_SETTINGS = {
    _CHECK: "false",
    # Folders are listed in this many tasks, 10,000 unless told, and joined in this many.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.sql.shuffle.partitions": "8",
}


def partition_items(parts: Sequence[Partition]) -> list[str]:
    """The items of PARTITIONED BY: Delta has columns only."""
    for part in parts:
        if part.transform != "identity":
            hint = "give the view a column with that value, and partition by it"
            raise unknown_partition(part, "Delta", hint)
    return [quote(part.column) for part in parts]


def create_table(
    table: str,
    columns: Mapping[str, str],
    properties: Mapping[str, str],
    partitions: Sequence[str] = (),
) -> str:
    """The statement that makes the empty storage table."""
    divided = f"PARTITIONED BY ({', '.join(partitions)}) " if partitions else ""
    named = ", ".join(f"{quote(column)} {type_}" for column, type_ in columns.items())
    pairs = ", ".join(f"{literal(key)} = {literal(properties[key])}" for key in sorted(properties))
    return (
        f"CREATE TABLE IF NOT EXISTS {table} ({named}) USING delta {divided}TBLPROPERTIES ({pairs})"
    )


def vacuum(table: str, before: datetime | None) -> str:
    """The statement that removes the files of versions before a moment; None: of all but the newest."""
    return _vacuum(table, 0 if before is None else _hours(before, datetime.now(UTC), 1))


def expiry(table: str, before: datetime, now: datetime) -> Expiry:
    """What a person runs to remove the files of versions before a moment, and until when."""
    hours = _hours(before, now, TIME_TO_RUN)
    return Expiry(
        _vacuum(table, hours),
        f"SET {_CHECK} = false" if hours < WEEK else None,
        before + timedelta(hours=hours),
    )


def _vacuum(table: str, hours: int) -> str:
    return f"VACUUM {table} RETAIN {hours} HOURS"


def _hours(before: datetime, now: datetime, more: int) -> int:
    """Delta counts hours back from when the statement runs: some more keep the moment itself."""
    return math.ceil((now - before) / timedelta(hours=1)) + more


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """The table that a statement writes to, with the types that every value is cast to."""

    table: str
    schema: StructType
    divided: Collection[str] = ()
    """The columns that the table is partitioned by."""

    def statement(self, write: Write | None, rows: str) -> str:
        """The one statement of a commit; ``rows`` is the query of what to write."""
        match write:
            case None:
                return f"INSERT INTO {self.table} SELECT * FROM {self.table} WHERE false"
            case Append():
                return (
                    f"INSERT INTO {self.table} ({listed(self.schema)})"
                    f" SELECT {self._cast(merge=False)} FROM ({rows})"
                )
            case Overwrite():
                return (
                    f"INSERT OVERWRITE {self.table} ({listed(self.schema)})"
                    f" SELECT {self._cast(merge=False)} FROM ({rows})"
                )
            case Merge():
                return self._merge(write, rows)

    def found(self, write: Merge, rows: str, version: int) -> str:
        """A query of how many stored rows of a version each action matches."""
        match = condition(self.schema, write, but_inserts=not write.unique)
        return (
            f"SELECT {CHANGE}.{quote(ACTION)} AS {made('action')}, COUNT(*) AS {made('number')}"
            f" FROM {self.table} VERSION AS OF {version} AS {TARGET}"
            f" JOIN ({self._changes(rows)}) AS {CHANGE} ON {match}"
            f" GROUP BY {CHANGE}.{quote(ACTION)}"
        )

    def _changes(self, rows: str) -> str:
        return f"SELECT {self._cast(merge=True)}, {quote(ACTION)} FROM ({rows})"

    def _cast(self, *, merge: bool) -> str:
        """All columns, each cast to its type, loud where a partition cannot hold the value."""
        values = []
        for field in self.schema.fields:
            value = f"CAST({quote(field.name)} AS {type_sql(field.dataType)})"
            if field.name in self.divided:
                value = loud(value, field.name, field.dataType, merge=merge)
            values.append(f"{value} AS {quote(field.name)}")
        return ", ".join(values)

    def _merge(self, write: Merge, rows: str) -> str:
        action = f"{CHANGE}.{quote(ACTION)}"
        clauses = [
            f"MERGE INTO {self.table} AS {TARGET}",
            f"USING ({self._changes(rows)}) AS {CHANGE}",
            f"ON {condition(self.schema, write, but_inserts=True)}",
            f"WHEN MATCHED AND {action} = 'delete' THEN DELETE",
            *update(self.schema, write.on),
            f"WHEN NOT MATCHED AND {action} = 'insert' THEN INSERT ({listed(self.schema)}) VALUES ({taken(self.schema)})",
        ]
        if write.expect_updated is not None:
            first, *rest = self.schema.fields
            loud = f"CAST(raise_error({literal(MUST_EXIST)}) AS {type_sql(first.dataType)})"
            values = ", ".join([loud, *(f"{CHANGE}.{quote(f.name)}" for f in rest)])
            clauses.append(
                f"WHEN NOT MATCHED AND {action} = 'update'"
                f" THEN INSERT ({listed(self.schema)}) VALUES ({values})"
            )
        return "\n".join(clauses)
