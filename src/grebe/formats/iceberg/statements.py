"""The SQL text of a commit. Pure: names, types and rows in, statements out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe.formats.base import ACTION, CHANGE, TARGET, Merge
from grebe.formats.iceberg.history import MAIN
from grebe.formats.iceberg.position import TAG
from grebe.formats.merge_text import cast, condition, listed, taken, update
from grebe.model import Partition, TableName
from grebe.sql_text import literal, quote

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def create_branch(name: TableName, branch: str, base: int | None, days: int) -> str:
    """The statement that starts a run's branch at the snapshot that the run was planned from."""
    version = "" if base is None else f" AS OF VERSION {base}"
    return f"ALTER TABLE {name.quoted()} CREATE BRANCH {quote(branch)}{version} RETAIN {days} DAYS"


def drop_branch(name: TableName, branch: str) -> str:
    """The statement that removes a run's branch."""
    return f"ALTER TABLE {name.quoted()} DROP BRANCH IF EXISTS {quote(branch)}"


def fast_forward(name: TableName, branch: str) -> str:
    """The one statement that publishes: main moves to the branch if it is still below it."""
    table = ".".join(quote(part) for part in (*name.schema.split("."), name.name))
    return (
        f"CALL {quote(name.catalog)}.system.fast_forward("
        f"table => {literal(table)}, branch => '{MAIN}', to => {literal(branch)})"
    )


def compact(name: TableName) -> str:
    """The statement that rewrites small files, and files of which much was deleted."""
    table = ".".join(quote(part) for part in (*name.schema.split("."), name.name))
    return (
        f"CALL {quote(name.catalog)}.system.rewrite_data_files("
        f"table => {literal(table)}, options => map('min-input-files', '2'))"
    )


def expire(name: TableName, before: datetime) -> str:
    """The statement that removes every snapshot older than a moment, but never the newest."""
    table = ".".join(quote(part) for part in (*name.schema.split("."), name.name))
    stamp = before.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00:00")
    return (
        f"CALL {quote(name.catalog)}.system.expire_snapshots("
        f"table => {literal(table)}, older_than => TIMESTAMP '{stamp}')"
    )


def move_tag(name: TableName, snapshot_id: int) -> str:
    """The statement that keeps the published snapshot from being expired."""
    return (
        f"ALTER TABLE {name.quoted()} CREATE OR REPLACE TAG {quote(TAG)} "
        f"AS OF VERSION {snapshot_id}"
    )


def partition_items(parts: Sequence[Partition]) -> list[str]:
    """The items of PARTITIONED BY; Iceberg has all transforms."""
    return [_partition(part) for part in parts]


def _partition(part: Partition) -> str:
    if part.transform == "identity":
        return quote(part.column)
    if part.width is not None:
        return f"{part.transform}({part.width}, {quote(part.column)})"
    return f"{part.transform}s({quote(part.column)})"


def create_table(
    name: TableName,
    columns: Mapping[str, str],
    properties: Mapping[str, str],
    partitions: Sequence[str] = (),
) -> str:
    """The statement that makes the empty storage table."""
    divided = f"PARTITIONED BY ({', '.join(partitions)}) " if partitions else ""
    named = ", ".join(f"{quote(column)} {type_}" for column, type_ in columns.items())
    pairs = ", ".join(f"{literal(key)} = {literal(properties[key])}" for key in sorted(properties))
    return (
        f"CREATE TABLE IF NOT EXISTS {name.quoted()} ({named}) USING iceberg "
        f"{divided}TBLPROPERTIES ({pairs})"
    )


@dataclass(frozen=True, slots=True)
class IcebergTarget:
    """The branch that statements write to, with the types that every value is cast to."""

    name: TableName
    branch: str
    schema: StructType

    @property
    def table(self) -> str:
        """The branch as a table in SQL."""
        return f"{self.name.quoted()}.{quote(f'branch_{self.branch}')}"

    def append(self, rows: str, only: str | None = None) -> str:
        """INSERT of a query's rows, or of those with one action."""
        where = "" if only is None else f" WHERE {quote(ACTION)} = {literal(only)}"
        return f"INSERT INTO {self.table} ({listed(self.schema)}) SELECT {cast(self.schema)} FROM ({rows}){where}"

    def overwrite(self, rows: str) -> str:
        """Replacement of the whole content by a query's rows."""
        return (
            f"INSERT INTO {self.table} REPLACE WHERE true SELECT {cast(self.schema)} FROM ({rows})"
        )

    def no_rows(self) -> str:
        """A query of no row with every column and an action."""
        return f"SELECT *, CAST(NULL AS STRING) AS {quote(ACTION)} FROM {self.table} WHERE false"

    def nothing(self) -> str:
        """An INSERT of no row: a commit that only carries a frontier."""
        return f"INSERT INTO {self.table} SELECT * FROM {self.table} WHERE false"

    def merge(self, write: Merge, rows: str, *, inserts: bool) -> str:
        """MERGE of rows that carry an action; without inserts it is an inner join."""
        only = "" if inserts or write.unique else f" WHERE {quote(ACTION)} <> 'insert'"
        clauses = [
            f"MERGE INTO {self.table} AS {TARGET}",
            f"USING (SELECT {cast(self.schema)}, {quote(ACTION)} FROM ({rows}){only}) AS {CHANGE}",
            f"ON {condition(self.schema, write, but_inserts=not write.unique)}",
            f"WHEN MATCHED AND {CHANGE}.{quote(ACTION)} <> 'update' THEN DELETE",
            *update(self.schema, write.on),
        ]
        if inserts:
            clauses.append(
                f"WHEN NOT MATCHED AND {CHANGE}.{quote(ACTION)} = 'insert' "
                f"THEN INSERT ({listed(self.schema)}) VALUES ({taken(self.schema)})"
            )
        return "\n".join(clauses)
