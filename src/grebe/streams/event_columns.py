"""Rows of events as Arrow has them, with the hidden columns that say where each came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from grebe.formats.base import ACTION
from grebe.formats.event_tables import AT, BATCH, DEAD, EVENT, HIDDEN, RAW
from grebe.model import Column, Schema
from grebe.streams.definition import StreamDefinition

if TYPE_CHECKING:
    import pyarrow as pa

Stored = tuple[Mapping[str, Any], int, str | None, bytes | None]
"""A row, the place of its event in the batch, and of a dead letter why and what it was."""


def stored_schema(columns: Sequence[tuple[str, str]]) -> Schema:
    """The columns of a storage table: those that people see, and the hidden ones."""
    both = [*columns, *HIDDEN]
    return Schema("0", tuple(Column(n, name, kind) for n, (name, kind) in enumerate(both, 1)))


def event_table_rows(
    definition: StreamDefinition, rows: Sequence[Stored], batch: str, at: datetime
) -> pa.Table:
    """The rows of one batch."""
    import pyarrow as pa

    from grebe.worker.arrow_types import arrow_type

    arrays = {
        name: pa.array([row.get(name) for row, _, _, _ in rows], arrow_type(kind))
        for name, kind in definition.columns
    }
    arrays[BATCH] = pa.repeat(pa.scalar(batch, pa.string()), len(rows))
    arrays[EVENT] = pa.array([place for _, place, _, _ in rows], pa.int64())
    arrays[AT] = pa.repeat(pa.scalar(at, pa.timestamp("us", "UTC")), len(rows))
    arrays[DEAD] = pa.array([dead for _, _, dead, _ in rows], pa.string())
    arrays[RAW] = pa.array([raw for _, _, _, raw in rows], pa.binary())
    return pa.table(arrays)


def action_table(definition: StreamDefinition, items: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows to merge: what goes by its batch and place, and what comes."""
    import pyarrow as pa

    from grebe.worker.arrow_types import arrow_type

    arrays = {
        name: pa.array([item.get(name) for item in items], arrow_type(kind))
        for name, kind in definition.columns
    }
    kinds = dict(HIDDEN)
    for name in (BATCH, EVENT, AT, DEAD, RAW):
        key = "at" if name == AT else name
        arrays[name] = pa.array([item.get(key) for item in items], arrow_type(kinds[name]))
    arrays[ACTION] = pa.array([item[ACTION] for item in items], pa.string())
    return pa.table(arrays)
