"""One commit by one Spark statement: for what is large, or what delta-rs does not write.

Spark skips a transaction number that is recorded already, silently, and fails one that is being
committed by somebody else. Neither is trusted: the log is read afterwards.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grebe.errors import InternalError
from grebe.formats.base import ACTION, Merge, Rows, Write
from grebe.formats.delta.conform import arrow_type
from grebe.formats.delta.labels import APP, DeltaLabel
from grebe.formats.delta.log import Log
from grebe.formats.delta.matching import FoundRows, check
from grebe.formats.delta.schema import DeltaSchema, spark_text
from grebe.formats.delta.statements import DeltaTarget
from grebe.formats.delta.writes import cast_rows
from grebe.formats.failpoints import reach
from grebe.formats.frames import to_frame
from grebe.formats.session_settings import session_settings
from grebe.model import TableName
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "spark.databricks.delta."


class SparkWriter:
    """Writes to one table through a session that nobody else writes with meanwhile."""

    def __init__(self, session: SparkSession, name: TableName, table: str, log: Log) -> None:
        self._session = session
        self._name = name
        self._table = table
        self._log = log

    def write(self, write: Write | None, label: DeltaLabel) -> None:
        """Run the statement, or raise; whether it made the commit is for the log to say."""
        state = self._log.state(label.planned)
        shape = self._session.table(self._table).schema
        target = DeltaTarget(self._table, shape, state.metadata.partition_columns)
        view = re.sub(r"\W", "_", f"__grebe_rows_{label.run_id}")
        settings = {
            f"{PREFIX}write.txnAppId": APP,
            f"{PREFIX}write.txnVersion": str(state.transactions.get(APP, 0) + 1),
            f"{PREFIX}commitInfo.userMetadata": label.text(),
            # A compaction right after the statement would carry the same label.
            f"{PREFIX}autoCompact.enabled": "false",
            # Overwriting means all rows, also those of partitions that get no new ones.
            "spark.sql.sources.partitionOverwriteMode": "static",
        }
        try:
            rows = "" if write is None else self._query(write, view, DeltaSchema.of(state.metadata))
            if isinstance(write, Merge):
                self._check(target, write, rows, label)
            reach("delta.checked")
            with session_settings(self._session, settings):
                reach("delta.commit.request")
                self._session.sql(target.statement(write, rows)).collect()
                reach("delta.commit.reply")
        finally:
            self._session.catalog.dropTempView(view)

    def _query(self, write: Write, view: str, schema: DeltaSchema) -> str:
        """The rows as a query, those of the driver through a view."""
        rows: Rows = write.rows
        if rows.sql is not None:
            return rows.sql
        if rows.arrow is None:
            raise InternalError.broken("rows to write are neither a query nor a table")
        types = {field.name: spark_text(field.type) for field in schema.fields}
        shapes = {field.name: arrow_type(field.type) for field in schema.fields}
        action = isinstance(write, Merge)
        table = cast_rows(rows.arrow, shapes, action=action)
        frame = to_frame(self._session, table, {**types, ACTION: "string"})
        frame.createOrReplaceTempView(view)
        return f"SELECT * FROM {quote(view)}"

    def _check(self, target: DeltaTarget, merge: Merge, rows: str, label: DeltaLabel) -> None:
        """Count at the planned version what the statement will find."""
        wanted = (merge.expect_updated, merge.expect_deleted)
        if wanted == (None, None) and not merge.unique:
            return
        counted = self._session.sql(target.found(merge, rows, label.planned)).collect()
        numbers = {str(row[0]): int(row[1]) for row in counted}
        found = FoundRows(
            updated=numbers.get("update", 0),
            deleted=numbers.get("delete", 0),
            inserted_over=numbers.get("insert", 0),
            claimed_twice=False,
        )
        check(self._name, label.run_id, merge, found)
