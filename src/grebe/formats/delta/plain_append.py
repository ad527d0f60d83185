"""One append to a plain Delta table: a Parquet file, and the commit that names it, if nobody made that.

What delta-rs does before a commit grows with the log: it lists it and reads the newest part. A
table without partitions, column mapping and constraints needs none of that, so that the thousandth
batch of a stream costs what the first did.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grebe.errors import InternalError
from grebe.formats.base import Append, Write
from grebe.formats.delta.conform import arrow_type
from grebe.formats.delta.labels import APP, DeltaLabel
from grebe.formats.delta.log import Log
from grebe.formats.delta.log_state import FOLDER, LogState
from grebe.formats.delta.schema import DeltaSchema, spark_text
from grebe.formats.delta.stats import is_bounded
from grebe.formats.delta.writes import cast_rows
from grebe.formats.failpoints import reach
from grebe.formats.files import local_path

if TYPE_CHECKING:
    import pyarrow as pa

FEATURES = frozenset(
    {"appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants"}
)
"""What such a table may ask of its writers: rows that are added touch none of it, unless `_SAID`."""
_SAID = ("delta.invariants", "delta.generationExpression")
"""What the schema says of a column that is checked or made."""
_LONGEST = 32
"""Signs of a text that statistics keep."""
_ABOVE = "\U0010ffff"
"""Behind a text that was cut: greater than every sign that may have stood there."""


def is_plain(write: Write | None, state: LogState, root: str) -> bool:
    """Whether a commit can be made in this way."""
    if local_path(root) is None or state.metadata.partition_columns:
        return False
    if state.protocol.writer - FEATURES or any(key in state.metadata.schema for key in _SAID):
        return False
    settings = state.metadata.configuration
    if any(key.startswith("delta.constraints.") for key in settings):
        return False
    if settings.get("delta.columnMapping.mode", "none") != "none":
        return False
    return write is None or (isinstance(write, Append) and write.rows.arrow is not None)


class PlainAppendWriter:
    """Appends rows to one table."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._root = Path(local_path(log.root) or "")

    def write(self, write: Write | None, label: DeltaLabel) -> None:
        """Make the commit, or raise; nothing is checked afterwards."""
        state = self._log.state(label.planned)
        lines: list[Mapping[str, Any]] = []
        count = 0
        if isinstance(write, Append):
            if write.rows.arrow is None:
                raise InternalError.broken("rows of a query are to be appended by the driver")
            schema = DeltaSchema.of(state.metadata)
            types = {field.name: arrow_type(field.type) for field in schema.fields}
            rows = cast_rows(write.rows.arrow, types, action=False)
            count = rows.num_rows
            if count:
                bounded = [f.name for f in schema.fields if is_bounded(spark_text(f.type))]
                lines.append({"add": self._file(rows, bounded)})
        reach("delta.checked")
        last = state.transactions.get(APP)
        lines.insert(0, {"txn": {"appId": APP, "version": 1 if last is None else last + 1}})
        lines.insert(0, {"commitInfo": _info(label, count)})
        reach("delta.commit.request")
        self._commit(label.planned + 1, lines)
        reach("delta.commit.reply")

    def _file(self, rows: pa.Table, bounded: list[str]) -> dict[str, Any]:
        import pyarrow.parquet as pq

        name = f"part-{uuid.uuid4().hex}.snappy.parquet"
        file = self._root / name
        pq.write_table(rows, file, compression="snappy", store_schema=False)
        return {
            "path": name,
            "partitionValues": {},
            "size": file.stat().st_size,
            "modificationTime": int(time.time() * 1000),
            "dataChange": True,
            "stats": _stats(rows, bounded),
        }

    def _commit(self, version: int, lines: list[Mapping[str, Any]]) -> None:
        """Put the commit in its place unless there is one; a name is given only once."""
        folder = self._root / FOLDER
        draft = folder / f"_commit_{uuid.uuid4().hex}.json.tmp"
        text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        draft.write_text(text + "\n", encoding="utf-8")
        try:
            os.link(draft, folder / f"{version:020}.json")
        finally:
            draft.unlink()


def _info(label: DeltaLabel, count: int) -> dict[str, Any]:
    return {
        "timestamp": int(time.time() * 1000),
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "operationMetrics": {"numOutputRows": str(count)},
        "engineInfo": "grebe",
        "isBlindAppend": True,
        "userMetadata": label.text(),
    }


def _stats(rows: pa.Table, bounded: list[str]) -> str:
    """What the log says of a file's values: of columns whose bounds every reader takes alike."""
    import pyarrow.compute as pc

    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for name in bounded:
        column = rows[name]
        nulls[name] = column.null_count
        if column.null_count == rows.num_rows:
            continue
        ends = pc.min_max(column).as_py()
        low[name], high[name] = _bound(ends["min"], upper=False), _bound(ends["max"], upper=True)
    document = {
        "numRecords": rows.num_rows,
        "minValues": low,
        "maxValues": high,
        "nullCount": nulls,
    }
    return json.dumps(document, separators=(",", ":"))


def _bound(value: object, *, upper: bool) -> object:
    match value:
        case str() if len(value) > _LONGEST:
            return value[:_LONGEST] + (_ABOVE if upper else "")
        case datetime():
            moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return moment.isoformat(timespec="microseconds") + ("Z" if value.tzinfo else "")
        case date():
            return value.isoformat()
        case Decimal():
            return float(value)
    return value
