"""The sink of a streaming query: names only, so that it can be sent to wherever the query runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grebe.config import load
from grebe.project.stream_views import writer_of
from grebe.project.workspace import Workspace
from grebe.streams.spark_sink import CheckpointBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class StreamSink:
    """Stores the batches of a streaming query in one stream view."""

    folder: str
    view: str
    checkpoint: str
    adopt: bool = False

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Store one batch; one that is stored already is passed over."""
        workspace = Workspace(load(self.folder), rows.sparkSession)
        try:
            writer = writer_of(workspace, workspace.named(self.view))
            CheckpointBatch(self.checkpoint, number, self.adopt).store(rows, writer)
        finally:
            workspace.close()
