"""A DuckLake table that holds a view: made, read and moved by grebe alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import ParseError, exp

from grebe.errors import SourceError, StepFailedError, UnknownTableError
from grebe.formats.base import Committed, Orphan, Write
from grebe.formats.ducklake.catalog_rows import CatalogRows
from grebe.formats.ducklake.commit import DuckLakeCommitter, fence
from grebe.formats.ducklake.connections import Address, Session, reading, session
from grebe.formats.ducklake.position import cursor_statements, read_cursor, read_position
from grebe.formats.ducklake.staged_rows import (
    is_registered,
    left_behind,
    registered,
    remove_unregistered,
)
from grebe.formats.storage_errors import (
    refuse_other_columns,
    refused_partitions,
    reserved_column,
    unknown_partition,
)
from grebe.model import Frontier, Partition, Position, RunId, Schema, TableName
from grebe.program.duckdb_text import ident, literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNSTORED = frozenset(
    {exp.DType.VARIANT, exp.DType.INTERVAL, exp.DType.TIME, exp.DType.NULL, exp.DType.UNKNOWN}
)

RESERVED = frozenset(
    {
        *("rowid", "filename", "row_id", "begin_snapshot", "end_snapshot"),
        *("_ducklake_internal_row_id", "_ducklake_internal_snapshot_id"),
    }
)
"""What DuckDB and DuckLake say of every row: a column of that name would be taken for it."""

_UNITS = ("year", "month", "day", "hour")


@dataclass(frozen=True, slots=True)
class DuckLakeStorage:
    """The storage table of one view. ``spark`` runs queries that are to be written."""

    spark: SparkSession | None
    name: TableName
    address: Address

    @property
    def commits_on_driver(self) -> bool:
        """False: a merge costs no more here than all rows anew."""
        return False

    def create(
        self,
        schema: Schema,
        properties: Mapping[str, str],
        partitions: Sequence[Partition] = (),
    ) -> None:
        """Make the empty table and its frontier's row; an equal existing one is left alone."""
        with session(self.address, create=True) as lake:
            if not self._exists(lake):
                self._create(lake, schema, properties, partitions)
            table = CatalogRows(lake).table(self.name)
            stored = CatalogRows(lake).columns(table, CatalogRows(lake).newest().id)
            found = [field.name for field in stored]
            refuse_other_columns(self.name, found, list(schema.names))
            # Rows in the catalog itself would be read one by one; the views' readers are Spark.
            lake.rows(
                f"CALL {ident(lake.alias)}.set_option('data_inlining_row_limit', 0,"
                f" schema => {literal(self.name.schema)}, table_name => {literal(self.name.name)})"
            )

    def _create(
        self,
        lake: Session,
        schema: Schema,
        properties: Mapping[str, str],
        partitions: Sequence[Partition],
    ) -> None:
        for column in schema.names:
            if column.lower() in RESERVED:
                raise reserved_column(column, "DuckLake")
        table = ident(lake.alias, self.name.schema, self.name.name)
        columns = ", ".join(f"{ident(c.name)} {duckdb_type(c.type)}" for c in schema.columns)
        kept = json.dumps(dict(properties), sort_keys=True)
        statements = [
            f"CREATE SCHEMA IF NOT EXISTS {ident(lake.alias, self.name.schema)}",
            f"CREATE TABLE {table} ({columns})",
            *(
                [
                    f"ALTER TABLE {table} SET PARTITIONED BY ({', '.join(partition_items(partitions))})"
                ]
                if partitions
                else []
            ),
            f"COMMENT ON TABLE {table} IS {literal(kept)}",
            *cursor_statements(lake, self.name),
        ]
        try:
            lake.insist(*statements)
        except SourceError as error:
            if not self._exists(lake):
                if partitions:
                    raise refused_partitions(partitions, error) from error
                raise StepFailedError(
                    f'table "{self.name}" cannot be made', detail=str(error), step="create"
                ) from error

    def _exists(self, lake: Session) -> bool:
        try:
            CatalogRows(lake).table(self.name)
        except UnknownTableError:
            return False
        return True

    def properties(self) -> dict[str, str]:
        """What the table was made with: the definition of its view."""
        with reading(self.address) as lake:
            table = CatalogRows(lake).table(self.name)
            found = lake.rows(
                f"SELECT value FROM {lake.meta}.ducklake_tag WHERE object_id = {table.id}"
                " AND key = 'comment' AND end_snapshot IS NULL"
            )
        return _kept(found[0][0]) if found else {}

    def keep(self, properties: Mapping[str, str]) -> None:
        """Put these beside what the table was made with."""
        kept = json.dumps({**self.properties(), **properties}, sort_keys=True)
        with session(self.address) as lake:
            table = ident(lake.alias, self.name.schema, self.name.name)
            lake.insist(f"COMMENT ON TABLE {table} IS {literal(kept)}")

    def position(self) -> Position:
        """The last published frontier and the version it was read at."""
        with reading(self.address) as lake:
            return read_position(lake, self.name)

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """Move the table once, rows and frontier together, if it is still at ``expected``."""
        return DuckLakeCommitter(self.spark, self.name, self.address).commit(
            writes, frontier, expected
        )

    def orphans(self) -> tuple[Orphan, ...]:
        """The folders of runs that did not finish, running ones included, oldest first."""
        with reading(self.address) as lake:
            table = CatalogRows(lake).table(self.name)
            known = registered(lake, table)
            last = self._last_run(lake)
        return tuple(
            Orphan(run_id, since)
            for run_id, since in left_behind(table)
            if run_id != last and not is_registered(known, run_id)
        )

    def abandon(self, run_id: RunId) -> None:
        """Remove the run's files that the table does not own, after it can no longer publish."""
        with session(self.address) as lake:
            table = CatalogRows(lake).table(self.name)
            if run_id not in {run for run, _ in left_behind(table)}:
                return
            if not is_registered(registered(lake, table), run_id):
                fence(lake, self.name)
            remove_unregistered(registered(lake, table), table, run_id)

    def compact(self) -> None:
        """Merge files, each row keeping the number of the commit that it came with.

        `ducklake_rewrite_data_files` is left to the owner: it garbles the feed of what was before.
        """
        with session(self.address) as lake:
            lake.rows(
                f"CALL ducklake_merge_adjacent_files({literal(lake.alias)},"
                f" {literal(self.name.name)}, schema => {literal(self.name.schema)})"
            )

    def _last_run(self, lake: Session) -> RunId | None:
        cursor = read_cursor(lake, self.name)
        return None if isinstance(cursor, str) else cursor.run


def partition_items(parts: Sequence[Partition]) -> list[str]:
    """The items of SET PARTITIONED BY.

    DuckLake's month is one of twelve, its day one of 31: what they mean elsewhere takes the units
    above them too.

    >>> partition_items([Partition("at", "month"), Partition("k", "bucket", 4)])
    ['year("at")', 'month("at")', 'bucket(4, "k")']
    """
    found: list[str] = []
    for part in parts:
        name = ident(part.column)
        if part.transform == "identity":
            found.append(name)
        elif part.transform in _UNITS:
            upto = _UNITS.index(part.transform) + 1
            found += [f"{unit}({name})" for unit in _UNITS[:upto]]
        elif part.transform == "bucket":
            found.append(f"bucket({part.width}, {name})")
        else:
            hint = "a column, or year, month, day, hour, bucket(n, …) of one"
            raise unknown_partition(part, "DuckLake", hint)
    return list(dict.fromkeys(found))


def _kept(comment: str | None) -> dict[str, str]:
    """What a comment of ours holds; nothing for one that somebody else wrote or took away."""
    try:
        return {str(key): str(value) for key, value in json.loads(comment or "{}").items()}
    except (ValueError, AttributeError):
        return {}


def duckdb_type(text: str) -> str:
    """The DuckDB type of a Spark type.

    >>> duckdb_type("map<string,timestamp_ntz>")
    'MAP(TEXT, TIMESTAMP)'

    Raises:
        StepFailedError: DuckLake has no such type.
    """
    try:
        kind = exp.DataType.build(text, dialect="spark")
    except ParseError:
        kind = exp.DataType.build("unknown")
    for part in kind.find_all(exp.DataType):
        if not isinstance(part.this, exp.DType) or part.this in _UNSTORED:
            raise StepFailedError(
                f"a column of type {text} cannot be stored in DuckLake", step="create"
            )
    return kind.sql("duckdb")
