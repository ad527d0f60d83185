"""One commit by delta-rs on the driver: milliseconds, no Spark job.

The fence is exact: the handle stands at the planned version and may not try again, so the commit
is that version plus one or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grebe import thresholds
from grebe.errors import InternalError
from grebe.formats.base import ACTION, CHANGE, TARGET, Append, Merge, Overwrite, Write
from grebe.formats.delta import matching
from grebe.formats.delta.conform import arrow_type
from grebe.formats.delta.labels import APP, DeltaLabel
from grebe.formats.delta.log import Log
from grebe.formats.delta.log_state import LogState
from grebe.formats.delta.partitions import refuse_empty
from grebe.formats.delta.rows import WantedFileRows, read_weighted
from grebe.formats.delta.schema import DeltaField, DeltaPrimitive, DeltaSchema, spark_text
from grebe.formats.delta.stats import bounds, is_bounded, is_wide, true_bounds
from grebe.formats.delta.vectors import Vectors
from grebe.formats.delta.window import DeltaWindow
from grebe.formats.delta.writes import cast_rows
from grebe.formats.failpoints import reach
from grebe.formats.files import Files, local_path
from grebe.formats.weights import Weights
from grebe.model import TableName
from grebe.sql_text import quote

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable, WriterProperties

WRITER_FEATURES = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "deletionVectors",
        "generatedColumns",
        "invariants",
        "timestampNtz",
        "v2Checkpoint",
    }
)
"""What delta-rs writes right. It refuses row tracking and in-commit timestamps."""

_COMPARABLE = frozenset(
    {"boolean", "byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz"}
) | {"string", "binary"}
"""Types that delta-rs and Spark compare alike: floats and nested values they do not."""

_TRUNCATED = 64
"""Bytes of a text or of a binary value that statistics keep at most."""


def suits(write: Write | None, state: LogState, files: Files, root: str) -> bool:
    """Whether the driver can make this commit."""
    if not files.on_driver or local_path(root) is None or state.protocol.writer - WRITER_FEATURES:
        return False
    if write is None:
        return True
    rows = write.rows.arrow
    if rows is None or rows.num_rows > thresholds.WRITTEN_ROWS:
        return False
    if not true_bounds(DeltaSchema.of(state.metadata), state.metadata.configuration):
        return False
    if not isinstance(write, Merge):
        return True
    fields = _fields(state)
    return all(_comparable(fields[column]) for column in write.on)


def _comparable(field: DeltaField) -> bool:
    if not isinstance(field.type, DeltaPrimitive):
        return False
    return field.type.name in _COMPARABLE or field.type.name.startswith("decimal(")


class DriverWriter:
    """Writes to one table through delta-rs."""

    def __init__(self, name: TableName, log: Log, files: Files) -> None:
        self._name = name
        self._log = log
        self._files = files

    def write(self, write: Write | None, label: DeltaLabel) -> None:
        """Make the commit, or raise; nothing is checked afterwards."""
        from deltalake import DeltaTable, write_deltalake

        state = self._log.state(label.planned)
        handle = DeltaTable(str(local_path(self._log.root)), version=label.planned)
        options: dict[str, Any] = {
            "commit_properties": _properties(handle, label),
            "post_commithook_properties": _no_hooks(),
            "writer_properties": _statistics(state),
        }
        types, divided = _types(state), state.metadata.partition_columns
        match write:
            case Merge() if write.rows.arrow is not None and write.rows.arrow.num_rows:
                changes = cast_rows(write.rows.arrow, types, action=True)
                refuse_empty(self._name, label.run_id, changes, divided)
                self._check(state, write, changes, label)
                reach("delta.checked")
                reach("delta.commit.request")
                _merge(handle, write, changes, _fields(state), options)
                if handle.version() == label.planned:  # an empty merge makes no commit
                    write_deltalake(handle, _empty(types), mode="append", **options)
            case Append() | Overwrite() if write.rows.arrow is not None:
                rows = cast_rows(write.rows.arrow, types, action=False)
                refuse_empty(self._name, label.run_id, rows, divided)
                reach("delta.checked")
                reach("delta.commit.request")
                if isinstance(write, Append):
                    write_deltalake(handle, rows, mode="append", **options)
                else:
                    write_deltalake(handle, rows, mode="overwrite", **options)
            case None | Merge():
                reach("delta.checked")
                reach("delta.commit.request")
                write_deltalake(handle, _empty(types), mode="append", **options)
            case _:
                raise InternalError.broken("rows of a query are to be written by the driver")
        reach("delta.commit.reply")

    def checkpoint(self, version: int) -> None:
        """Write a checkpoint of a version."""
        from deltalake import DeltaTable

        DeltaTable(str(local_path(self._log.root)), version=version).create_checkpoint()

    def _check(self, state: LogState, merge: Merge, changes: pa.Table, label: DeltaLabel) -> None:
        """Read the touched keys at the planned version, and compare."""
        found = matching.count(self._stored(state, merge, changes), changes, merge)
        matching.check(self._name, label.run_id, merge, found)

    def _stored(self, state: LogState, merge: Merge, changes: pa.Table) -> pa.Table:
        """The key columns of every file that may hold a row that a change matches."""
        schema = DeltaSchema.of(state.metadata)
        fields = tuple(field for field in schema.fields if field.name in merge.on)
        files = list(state.files.values())
        per_column = bounds(files, schema, fields)
        near = [
            file
            for index, file in enumerate(files)
            if matching.may_hold([per_column[field.name][index] for field in fields], changes)
        ]
        vectors, weights = Vectors(self._log.root, self._files), Weights[Any]()
        vectors.load(near)
        for file in near:
            weights.copy(file, 1, vectors.positions(file))
        plan = DeltaWindow("stored", tuple(weights.touched()), (), None)
        rows, _ = read_weighted(self._files, plan, WantedFileRows(fields, schema))
        return rows


def _fields(state: LogState) -> dict[str, DeltaField]:
    return {field.name: field for field in DeltaSchema.of(state.metadata).fields}


def _types(state: LogState) -> dict[str, pa.DataType]:
    return {name: arrow_type(field.type) for name, field in _fields(state).items()}


def _empty(types: Mapping[str, pa.DataType]) -> pa.Table:
    import pyarrow as pa

    return pa.schema(list(types.items())).empty_table()


def _properties(handle: DeltaTable, label: DeltaLabel) -> CommitProperties:
    from deltalake import CommitProperties, Transaction

    last = handle.transaction_version(APP)
    return CommitProperties(
        custom_metadata={"userMetadata": label.text()},
        max_commit_retries=0,
        app_transactions=[Transaction(APP, 1 if last is None else last + 1)],
    )


def _statistics(state: LogState) -> WriterProperties:
    """Statistics of columns that have true bounds, and of nothing else.

    The table's own setting would take a part of a struct for the column of the same name.
    """
    from deltalake import ColumnProperties, WriterProperties

    kept = ColumnProperties(statistics_enabled="PAGE")
    bounded = [field for field in _fields(state).values() if is_bounded(spark_text(field.type))]
    # Whoever sets one property of the writer gets none of the defaults that delta-rs has.
    return WriterProperties(
        compression="SNAPPY",
        statistics_truncate_length=_TRUNCATED,
        default_column_properties=ColumnProperties(statistics_enabled="NONE"),
        column_properties={field.physical: kept for field in bounded},
    )


def _no_hooks() -> object:
    from deltalake import PostCommitHookProperties

    return PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


def _merge(
    handle: DeltaTable,
    merge: Merge,
    changes: pa.Table,
    columns: Mapping[str, DeltaField],
    options: dict[str, Any],
) -> None:
    action = f"{CHANGE}.{_name(ACTION)}"
    terms = [f"({action} <> 'insert')"]
    for column in merge.on:
        # Only equality lets files be skipped, by bounds that others may have written as doubles.
        skips = not changes[column].null_count and not is_wide(columns[column].type)
        same = "=" if skips else "IS NOT DISTINCT FROM"
        terms.append(f"({TARGET}.{_name(column)} {same} {CHANGE}.{_name(column)})")
    merger = handle.merge(
        changes,
        predicate=" AND ".join(terms),
        source_alias=CHANGE,
        target_alias=TARGET,
        streamed_exec=False,
        **options,
    )
    all_columns = {_name(column): f"{CHANGE}.{_name(column)}" for column in columns}
    others = {_name(c): f"{CHANGE}.{_name(c)}" for c in columns if c not in merge.on}
    merger = merger.when_matched_delete(predicate=f"{action} = 'delete'")
    if others:
        merger = merger.when_matched_update(others, predicate=f"{action} = 'update'")
    merger.when_not_matched_insert(all_columns, predicate=f"{action} = 'insert'").execute()


def _name(column: str) -> str:
    return quote(column, "datafusion")
