"""Versioned tables in memory: the whole contract in its smallest form, for tests and examples.

>>> import pyarrow as pa
>>> from grebe.model import TableName, Window
>>> table = MemoryTable(TableName("mem", "shop", "orders"), [Column(1, "id", "bigint")])
>>> first = table.write(pa.table({"id": [1, 2, 2]}))
>>> second = table.write(pa.table({"id": [1, 2, 3]}))
>>> table.changes(Window(first, second), [1]).arrow.to_pylist()
[{'id': 2, '__grebe_weight': -1}, {'id': 3, '__grebe_weight': 1}]
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from grebe.errors import (
    CheckFailedError,
    ConflictError,
    HistoryExpiredError,
    SchemaChangedError,
    SourceError,
)
from grebe.formats.base import (
    ACTION,
    WEIGHT,
    Append,
    Capabilities,
    Changes,
    Committed,
    Head,
    KeyBounds,
    Merge,
    Overwrite,
    Rows,
    VersionStats,
    WindowStats,
    Write,
    check_total,
)
from grebe.formats.frames import to_frame
from grebe.formats.identity import consolidate_arrow
from grebe.formats.near_rows import NearKeys
from grebe.model import (
    Column,
    Frontier,
    Partition,
    Position,
    Reason,
    RunId,
    Schema,
    TableName,
    Version,
    Window,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FIRST = Version("0")


@dataclass(frozen=True, slots=True)
class _State:
    """What one version holds."""

    rows: pa.Table
    schema: Schema
    committed_at: datetime
    maintenance: bool = False
    frontier: Frontier | None = None
    row_version: Version | None = None
    foreign: tuple[str, ...] = ()


@dataclass(slots=True)
class MemoryTable:
    """A table that keeps every version; both a source and a storage table."""

    name: TableName
    columns: Sequence[Column] = ()
    spark: Callable[[], SparkSession] | None = None
    run_sql: Callable[[str], pa.Table] | None = None
    """Runs the query of a `Rows` that is SQL."""
    identity: str = field(default_factory=lambda: str(uuid.uuid4()))
    properties: dict[str, str] = field(default_factory=dict)
    _states: dict[Version, _State] = field(default_factory=dict)
    _head: Version = _FIRST

    def __post_init__(self) -> None:
        schema = Schema("0", tuple(self.columns))
        empty = pa.table({c.name: pa.array([], pa.null()) for c in schema.columns})
        self._states[self._head] = _State(empty, schema, _now())

    @property
    def capabilities(self) -> Capabilities:
        """Everything that needs no files."""
        return Capabilities(exact_row_counts=True, head_without_spark=True, any_two_versions=True)

    # --- for tests and examples: somebody writes -----------------------------------------------

    def write(
        self,
        rows: pa.Table,
        *,
        columns: Sequence[Column] | None = None,
        maintenance: bool = False,
    ) -> Version:
        """The version that a write of the whole content makes; to a storage table it is foreign."""
        now = self._states[self._head]
        schema = now.schema
        if columns is not None and tuple(columns) != schema.columns:
            schema = Schema(str(int(schema.id) + 1), tuple(columns))
        foreign = now.foreign
        if now.frontier is not None and not maintenance:
            foreign = (*foreign, f"version {self._next()}")
        state = _State(rows, schema, _now(), maintenance, now.frontier, now.row_version, foreign)
        return self._publish(state)

    def rollback(self, version: Version) -> None:
        """Make an older version current again."""
        self._state(version)
        self._head = version

    def expire(self, version: Version) -> None:
        """Forget a version."""
        del self._states[version]

    # --- as a source ---------------------------------------------------------------------------

    def head(self) -> Head:
        """Identity, version and schema now."""
        state = self._states[self._head]
        return Head(self.identity, self._head, state.schema, state.committed_at)

    def schema_at(self, version: Version) -> Schema:
        """The schema that rows of a version are read with."""
        return self._state(version).schema

    def unreadable(self, window: Window, columns: Sequence[int]) -> Reason | None:
        """Why the window cannot be read exactly for these column ids, or None if it can."""
        for version in (window.after, window.upto):
            if version is not None and version not in self._states:
                return Reason("history-expired", f"version {version} no longer exists")
        if window.after is None:
            return None
        old, new = (self._states[v].schema.by_id() for v in (window.after, window.upto))
        for number in columns:
            if number not in old or number not in new or old[number].type != new[number].type:
                return Reason("schema-changed", f"column {number} is not the same in both versions")
        return None

    def window_stats(self, window: Window) -> WindowStats:
        """Rows added and removed; there are no files."""
        weights = _weights(self.changes(window, [c.id for c in self._common(window)]))
        return WindowStats(
            rows_added=sum(weight for weight in weights if weight > 0),
            rows_removed=-sum(weight for weight in weights if weight < 0),
            files_added=0,
            files_removed=0,
            bytes=0,
            only_maintenance=not weights,
        )

    def version_stats(self, version: Version, columns: Sequence[int] = ()) -> VersionStats:
        """Rows and key bounds of a version."""
        state = self._state(version)
        names = [state.schema.by_id()[number].name for number in columns]
        bounds = {name: [_bounds(name, state.rows[name])] for name in names}
        return VersionStats(state.rows.num_rows, 1, state.rows.nbytes, bounds)

    def changes(self, window: Window, columns: Sequence[int]) -> Changes:
        """The consolidated signed rows of the window."""
        reason = self.unreadable(window, columns)
        if reason is not None:
            known = {"history-expired": HistoryExpiredError, "schema-changed": SchemaChangedError}
            raise known[reason.code](
                f'the changes of table "{self.name}" cannot be read', detail=reason.message
            )
        new = self._side(window.upto, columns, 1, window.upto)
        total = new.num_rows
        sides = [new]
        if window.after is not None:
            sides.append(self._side(window.after, columns, -1, window.upto))
            total -= sides[1].num_rows
        delta = consolidate_arrow(pa.concat_tables(sides, promote_options="permissive"))
        check_total(self.name, window, total, pc.sum(delta[WEIGHT]).as_py() or 0)
        return Changes("bag-difference/arrow", arrow=delta, total=total)

    def read_at(self, version: Version, columns: Sequence[int]) -> DataFrame:
        """All rows of a version, pinned."""
        if self.spark is None:
            raise SourceError(f'table "{self.name}" in memory was made without a Spark session')
        types = {column.name: column.type for column in self._state(version).schema.columns}
        return to_frame(self.spark(), self.rows_at(version, columns), types)

    def rows_at(self, version: Version, columns: Sequence[int] | None = None) -> pa.Table:
        """All rows of a version as Arrow, for those who do without Spark."""
        state = self._state(version)
        if columns is None:
            return state.rows
        return state.rows.select([state.schema.by_id()[number].name for number in columns])

    def rows_on_driver(
        self, version: Version, columns: Sequence[int], near: NearKeys | None = None
    ) -> pa.Table | None:
        """The rows, or those of some keys."""
        rows = self.rows_at(version, columns)
        return rows if near is None else rows.filter(near.among(rows[near.column].combine_chunks()))

    # --- as storage ----------------------------------------------------------------------------

    @property
    def commits_on_driver(self) -> bool:
        return False

    def create(
        self,
        schema: Schema,
        properties: Mapping[str, str],
        partitions: Sequence[Partition] = (),
    ) -> None:
        """Make the empty table; one that exists already is left alone."""
        if self.columns:
            return
        self.columns = schema.columns
        self.properties = dict(properties)
        self.__post_init__()

    def position(self) -> Position:
        """The last published frontier and the version it was read at."""
        state = self._states[self._head]
        if state.frontier is None:
            return Position(None, self._head)
        return Position(state.frontier, self._head, state.row_version, state.foreign)

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """Move the table once, rows and frontier together, if it is still at ``expected``."""
        if expected.version != self._head:
            raise ConflictError(
                f'table "{self.name}" was moved by somebody else',
                detail=f"planned at version {expected.version}, found {self._head}",
                run_id=frontier.run_id,
            )
        now = self._states[self._head]
        rows, counts = now.rows, {"insert": 0, "update": 0, "delete": 0}
        for write in writes:
            rows = self._applied(rows, write, counts)
        row_version = self._next() if writes else now.row_version
        state = _State(rows, now.schema, _now(), False, frontier, row_version)
        version = self._publish(state)
        return Committed(version, counts["insert"], counts["update"], counts["delete"])

    def abandon(self, run_id: RunId) -> None:
        """Nothing: an unpublished run leaves nothing behind here."""

    def compact(self) -> None:
        """Nothing: there are no files."""

    # --- inside --------------------------------------------------------------------------------

    def _state(self, version: Version) -> _State:
        if version not in self._states:
            raise HistoryExpiredError(f"version {version} no longer exists")
        return self._states[version]

    def _next(self) -> Version:
        return Version(str(max(int(version) for version in self._states) + 1))

    def _publish(self, state: _State) -> Version:
        version = self._next()
        self._states[version] = state
        self._head = version
        return version

    def _common(self, window: Window) -> list[Column]:
        new = self._state(window.upto).schema
        return [c for c in new.columns if self.unreadable(window, [c.id]) is None]

    def _side(
        self, version: Version, columns: Sequence[int], weight: int, names_of: Version
    ) -> pa.Table:
        names = [self._state(names_of).schema.by_id()[number].name for number in columns]
        rows = self.rows_at(version, columns).rename_columns(names)
        weights = pa.repeat(pa.scalar(weight, pa.int64()), rows.num_rows)
        return rows.append_column(WEIGHT, weights) if columns else pa.table({WEIGHT: weights})

    def _arrow(self, rows: Rows) -> pa.Table:
        if rows.arrow is not None:
            return rows.arrow
        if self.run_sql is None or rows.sql is None:
            raise SourceError(f'table "{self.name}" in memory was made without an engine for SQL')
        return self.run_sql(rows.sql)

    def _applied(self, stored: pa.Table, write: Write, counts: dict[str, int]) -> pa.Table:
        new = self._arrow(write.rows)
        match write:
            case Append():
                counts["insert"] += new.num_rows
                return _concat(stored, new)
            case Overwrite():
                counts["insert"] += new.num_rows
                counts["delete"] += stored.num_rows
                return new
            case Merge():
                return _merged(self.name, stored, new, write, counts)


def _merged(
    name: TableName, stored: pa.Table, new: pa.Table, merge: Merge, counts: dict[str, int]
) -> pa.Table:
    """The stored rows after a merge; raises when they contradict what was expected of them."""
    actions = new[ACTION].to_pylist()
    keys = _keys(new, merge.on)
    doing = {key: action for key, action in zip(keys, actions, strict=True) if action != "insert"}
    hit = [doing.get(key) for key in _keys(stored, merge.on)]
    found = {action: hit.count(action) for action in ("update", "delete")}
    expected = {"update": merge.expect_updated, "delete": merge.expect_deleted}
    for action, number in expected.items():
        if number is not None and number != found[action]:
            raise CheckFailedError(
                f'rows of table "{name}" contradict the change',
                detail=f"{found[action]} rows match an {action}, expected {number}",
            )
    kept = stored.filter(pa.array([action is None for action in hit]))
    added = new.filter(pa.array([action != "delete" for action in actions]))
    counts["insert"] += actions.count("insert")
    counts["update"] += found["update"]
    counts["delete"] += found["delete"]
    return _concat(kept, added.drop_columns([ACTION]))


def _keys(table: pa.Table, on: Sequence[str]) -> list[str]:
    columns = [table[name].to_pylist() for name in on]
    return [repr([values[index] for values in columns]) for index in range(table.num_rows)]


def _concat(stored: pa.Table, new: pa.Table) -> pa.Table:
    ordered = new.select(stored.column_names)
    return pa.concat_tables([stored, ordered], promote_options="permissive")


def _weights(changes: Changes) -> list[int]:
    return [] if changes.arrow is None else list(changes.arrow[WEIGHT].to_pylist())


def _bounds(name: str, column: pa.ChunkedArray) -> KeyBounds:
    ends = pc.min_max(column).as_py()
    return KeyBounds(name, ends["min"], ends["max"], column.null_count > 0)


def _now() -> datetime:
    return datetime.now(UTC)
