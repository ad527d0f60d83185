"""A stream view as the sink of Structured Streaming: `df.writeStream.foreachBatch(view.sink(checkpoint))`.

What is known of a batch is the id *inside* of its checkpoint and its number, never the checkpoint's path:
a new checkpoint under an old name begins at 0 again, and its batches are others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from grebe.errors import RefreshError
from grebe.formats.files import local_path
from grebe.streams.event_text import text_of_event
from grebe.streams.ingest import EventWriter
from grebe.streams.landed import Batch, Incoming, SourceWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION: Final = "batch"


@dataclass(frozen=True, slots=True)
class CheckpointBatch:
    """One batch of a streaming query, as its checkpoint counts it."""

    checkpoint: str
    number: int
    adopt: bool = False
    """Take the batches of another checkpoint than before for new ones."""

    def store(self, rows: DataFrame, writer: EventWriter) -> None:
        """Store the batch; one that is stored already is passed over.

        Raises:
            RefreshError: with `checkpoint-lost`, the view was fed by another checkpoint.
        """
        identity = id_in(self.checkpoint, rows.sparkSession)
        known = writer.position().frontier
        point = known.sources[0][1] if known else None
        if point is not None and point.identity not in ("", identity):
            if not self.adopt:
                raise RefreshError(
                    f'table "{writer.table.name}" was fed by another checkpoint',
                    detail=f"batches were of {point.identity}, these are of {identity}",
                    hint="view.sink(checkpoint, adopt=True), if the events of this one are others",
                    code="checkpoint-lost",
                )
            at = {PARTITION: self.number}
            writer.begin(Batch((), SourceWindow(identity, at, at)))
        window = SourceWindow(identity, {PARTITION: self.number}, {PARTITION: self.number + 1})
        items = [
            Incoming(text_of_event(event), f"{self.number}:{place}", PARTITION, self.number)
            for place, event in enumerate(events_of(rows))
        ]
        writer.store(Batch(items, window))


def events_of(rows: DataFrame) -> list[str | bytes]:
    """The events of a frame: its rows as JSON, or the texts of its only column `value`."""
    if rows.columns == ["value"]:
        return [row[0] for row in rows.collect()]
    return [row[0] for row in rows.selectExpr("to_json(struct(*)) AS value").collect()]


def id_in(checkpoint: str, spark: SparkSession) -> str:
    """The id that a checkpoint's folder holds."""
    local = local_path(checkpoint)
    if local is not None:
        text = (Path(local) / "metadata").read_text("utf-8")
    else:
        text = spark.read.text(f"{checkpoint}/metadata").collect()[0][0]
    return str(json.loads(text)["id"])
