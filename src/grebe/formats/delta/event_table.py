"""The table of a stream view in Delta: made, moved and read by the driver, without Spark."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from grebe.errors import ConfigError, HistoryExpiredError
from grebe.formats.base import Committed, Write
from grebe.formats.delta import stats
from grebe.formats.delta.actions import AddedFile
from grebe.formats.delta.commit import DeltaCommitter
from grebe.formats.delta.labels import DeltaLabel
from grebe.formats.delta.log import Log
from grebe.formats.delta.log_state import LogState
from grebe.formats.delta.position import read_position
from grebe.formats.delta.rows import WantedFileRows, read_weighted
from grebe.formats.delta.schema import DeltaSchema, spark_text
from grebe.formats.delta.storage import SETTINGS
from grebe.formats.delta.vectors import Vectors
from grebe.formats.delta.window import DeltaWindow
from grebe.formats.event_tables import AT
from grebe.formats.files import DriverFiles, local_path
from grebe.formats.folders import folder_of, write_view
from grebe.formats.weights import Weights
from grebe.model import (
    CatalogAddress,
    Column,
    Frontier,
    Position,
    RunId,
    Schema,
    TableName,
    Version,
)
from grebe.thresholds import EVENT_BYTES, EVENT_FILES

if TYPE_CHECKING:
    import pyarrow as pa

CHECKPOINT_EVERY: Final = 100
"""Commits between two checkpoints: they are read when a process starts, and written while one waits."""
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(slots=True)
class DeltaEvents:
    """The storage table of one stream view; it remembers the log that it has read."""

    place: CatalogAddress
    name: TableName
    _log: Log | None = field(default=None, repr=False)

    def create(self, schema: Schema, properties: Mapping[str, str]) -> None:
        """Make the empty table; one that is there is left alone."""
        from deltalake import DeltaTable

        columns = {column.name: column.type for column in schema.columns}
        settings = {**SETTINGS, **stats.settings(columns), **properties}
        DeltaTable.create(
            str(self._folder),
            _arrow_schema(schema.columns),
            mode="ignore",
            configuration=settings,
            raise_if_key_not_exists=False,
        )

    def widen(self, schema: Schema) -> None:
        """Add the columns that the table does not have yet."""
        from deltalake import CommitProperties, DeltaTable
        from deltalake.schema import Schema as DeltaTableSchema

        known = {name.lower() for name in self.columns()}
        lacking = [column for column in schema.columns if column.name.lower() not in known]
        if lacking:
            wanted = DeltaTableSchema.from_arrow(_arrow_schema(lacking))
            position = self.position()
            made_by_us: dict[str, str] = {}
            if position.frontier is not None and position.version is not None:
                # A commit like all others: without a label it would be one of somebody else.
                run_id = RunId(f"widen-{uuid.uuid4().hex[:8]}")
                label = DeltaLabel(
                    run_id,
                    int(position.version),
                    replace(position.frontier, run_id=run_id).to_json(),
                    position.row_version,
                )
                made_by_us = {"userMetadata": label.text()}
            table = DeltaTable(str(self._folder))
            table.alter.add_columns(
                list(wanted.fields),
                commit_properties=CommitProperties(
                    custom_metadata=made_by_us, max_commit_retries=0
                ),
            )

    def columns(self) -> dict[str, str]:
        """The columns that the table has."""
        metadata, _ = self._log_now().described(self._log_now().refreshed().head)
        return {item.name: spark_text(item.type) for item in DeltaSchema.of(metadata).fields}

    def position(self) -> Position:
        """The last published frontier and the version it was read at."""
        return read_position(self._log_now())

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """Move the table once, rows and frontier together, if it is still at ``expected``."""
        committer = DeltaCommitter(
            None,
            self.name,
            str(self._folder),
            self._log_now(),
            checkpoint_every=CHECKPOINT_EVERY,
            plain=True,
        )
        return committer.commit(writes, frontier, expected)

    def rows(
        self,
        columns: Sequence[str],
        since: datetime | None = None,
        beyond: tuple[str, int] | None = None,
    ) -> pa.Table:
        """Some columns of the rows that are stored."""
        log = self._log_now()
        state = log.state(log.refreshed().head)
        live = [
            item
            for item in state.files.values()
            if (since is None or _is_since(item, since))
            and (beyond is None or _is_beyond(item, *beyond))
        ]
        return self._read(state, live, columns)

    def added(self, after: Version, columns: Sequence[str]) -> pa.Table | None:
        """The same of the rows that came after a version: files that were added by appends."""
        log = self._log_now()
        head = log.refreshed().head
        try:
            commits = log.commits(int(after), head)
        except HistoryExpiredError:
            return None
        if any(item.data_change for commit in commits for item in commit.removes):
            return None
        found = [item for commit in commits for item in commit.adds if item.data_change]
        return self._read(log.state(head), found, columns)

    def publish(self, name: TableName, select: str) -> None:
        """Make a public name show what a SELECT says."""
        write_view(folder_of(self.place, name), select)

    def keep(self, properties: Mapping[str, str]) -> None:
        """Put these beside the other properties of the table."""
        from deltalake import DeltaTable

        table = DeltaTable(str(self._folder))
        table.alter.set_table_properties(dict(properties), raise_if_not_exists=False)

    def compact(self) -> None:
        """Make few files of many: a commit whose files say that no row changed."""
        from deltalake import DeltaTable

        log = self._log_now()
        small = [
            item
            for item in log.state(log.refreshed().head).files.values()
            if item.size < EVENT_BYTES
        ]
        if len(small) >= EVENT_FILES:
            DeltaTable(str(self._folder)).optimize.compact(target_size=EVENT_BYTES)

    def expire(self, before: datetime) -> None:
        """Remove files that no version since then names."""
        from deltalake import DeltaTable

        hours = max(0, int((datetime.now(UTC) - before).total_seconds() // 3600))
        table = DeltaTable(str(self._folder))
        table.vacuum(retention_hours=hours, dry_run=False, enforce_retention_duration=False)
        for draft in (self._folder / "_delta_log").glob("_commit_*.json.tmp"):
            if draft.stat().st_mtime < time.time() - 3600:  # left by a process that was killed
                draft.unlink(missing_ok=True)

    # --------------------------------------------------------------------------------------------

    @property
    def _folder(self) -> Path:
        local = local_path(folder_of(self.place, self.name))
        if self.place.spark_catalog or local is None:
            raise ConfigError(
                f'table "{self.name}" of a stream is not on this machine\'s disk',
                hint="keep stream views in a catalog with a root here, or in one of Iceberg",
            )
        return Path(local)

    def _log_now(self) -> Log:
        if self._log is None:
            self._log = Log(str(self._folder), DriverFiles(), follows=True)
        return self._log

    def _read(
        self, state: LogState, files: Iterable[AddedFile], columns: Sequence[str]
    ) -> pa.Table:
        schema = DeltaSchema.of(state.metadata)
        by_name = {item.name: item for item in schema.fields}
        fields = tuple(by_name[name] for name in columns if name in by_name)
        log, live = self._log_now(), list(files)
        vectors, weights = Vectors(log.root, log.files), Weights[Any]()
        vectors.load(live)
        for item in live:
            weights.copy(item, 1, vectors.positions(item))
        plan = DeltaWindow("stored", tuple(weights.touched()), (), None)
        found, _ = read_weighted(log.files, plan, WantedFileRows(fields, schema))
        return found.select([item.name for item in fields])


def _is_since(file: AddedFile, since: datetime) -> bool:
    """False for a file all of whose rows were received before."""
    try:
        latest = json.loads(file.stats or "{}").get("maxValues", {}).get(AT)
        return latest is None or datetime.fromisoformat(latest) + _MILLISECOND >= since
    except (ValueError, TypeError):
        return True


def _is_beyond(file: AddedFile, column: str, least: int) -> bool:
    """False for a file all of whose rows have smaller values."""
    greatest = json.loads(file.stats or "{}").get("maxValues", {}).get(column)
    return greatest is None or int(greatest) >= least


def _arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    import pyarrow as pa

    from grebe.worker.arrow_types import arrow_type

    return pa.schema([pa.field(item.name, arrow_type(item.type)) for item in columns])
