"""Rows read by DuckDB through DuckLake's own reader, which knows every special case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grebe.errors import SourceError
from grebe.formats.base import WEIGHT
from grebe.formats.ducklake.catalog_rows import Table, names
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.schema import LakeField, selected
from grebe.formats.ducklake.state import LakeFile, TableState
from grebe.program.duckdb_text import ident, literal

if TYPE_CHECKING:
    import pyarrow as pa


class CatalogMovedError(SourceError):
    """Files were merged or flushed while they were listed: the next look is a new one."""

    code = "catalog-moved"


def rows_query(
    session: Session,
    table: Table,
    state: TableState,
    files: Sequence[LakeFile],
    items: str,
) -> str:
    """A query of some files' rows and of all inlined rows at a state's snapshot.

    The paths in the condition must be spelled as DuckLake spells them: a path that it does not
    know would lose rows without a word.
    """
    known = {
        row[0]
        for row in session.rows(
            f"SELECT data_file FROM ducklake_list_files({literal(session.alias)},"
            f" {literal(table.name)}, schema => {literal(table.schema)},"
            f" snapshot_version => {state.snapshot})"
        )
    }
    paths = [file.path for file in files]
    if {file.path for file in state.files} != known:
        raise CatalogMovedError(f'the files of table "{table.schema}.{table.name}" were moved')
    places = [*paths, *(name for name, _ in state.inlined)]
    if places and _hides_files(session, table, state.snapshot):
        raise SourceError(
            f'table "{table.schema}.{table.name}" has a column called "filename"',
            detail="it hides what DuckDB says of every row, by which rows of a version are found",
            hint="rename the column",
            code="reserved-name",
        )
    condition = f"filename IN ({names(places)})" if places else "false"
    return f"SELECT {items} FROM {_at(session, table, state.snapshot)} WHERE {condition}"


def feed_query(
    session: Session,
    table: Table,
    fields: Sequence[LakeField],
    columns: Sequence[str],
    bounds: tuple[int, int],
) -> str:
    """A query of every change between two snapshots, both included, with its sign."""
    place = ", ".join(literal(text) for text in (session.alias, table.schema, table.name))
    items = selected(fields, columns)
    return " UNION ALL ".join(
        f"SELECT {items}, CAST({sign} AS BIGINT) AS {ident(WEIGHT)}"
        f" FROM ducklake_table_{kind}({place}, {bounds[0]}, {bounds[1]})"
        for kind, sign in (("insertions", 1), ("deletions", -1))
    )


def weighted(session: Session, query: str, weight: int) -> pa.Table:
    """The rows of a query with a weight."""
    import pyarrow as pa

    rows = session.arrow(query)
    weights = pa.repeat(pa.scalar(weight, pa.int64()), rows.num_rows)
    return rows.append_column(pa.field(WEIGHT, pa.int64(), nullable=False), weights)


def _hides_files(session: Session, table: Table, snapshot: int) -> bool:
    return bool(
        session.rows(
            f"SELECT 1 FROM {session.meta}.ducklake_column WHERE table_id = {table.id}"
            f" AND parent_column IS NULL AND lower(column_name) = 'filename'"
            f" AND begin_snapshot <= {snapshot}"
            f" AND (end_snapshot IS NULL OR end_snapshot > {snapshot})"
        )
    )


def _at(session: Session, table: Table, snapshot: int) -> str:
    return f"{table.sql(session)} AT (VERSION => {snapshot})"
