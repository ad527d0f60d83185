"""From a source that holds events into a view: batch after batch, from where the view stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from grebe.streams.ingest import EventWriter
from grebe.streams.landed import Batch, positions_of
from grebe.streams.totals import Ingested


class EventSource(Protocol):
    """What holds events at positions: an inbox, a topic."""

    def read(self, identity: str | None, positions: Mapping[str, int]) -> Batch | None:
        """The events behind some positions, at most so many; None when there are none."""


def pull_all(writer: EventWriter, source: EventSource) -> Ingested:
    """Bring a view to the end of a source; what became of the events that it read.

    Raises:
        RefreshError: with `mostly-dead`, most of the last events did not become rows.
    """
    found = Ingested()
    while True:
        frontier = writer.position().frontier
        point = frontier.sources[0][1] if frontier else None
        identity = point.identity if point and point.identity else None
        batch = source.read(identity, positions_of(point.version) if point else {})
        if batch is None:
            return found
        found = found.plus(writer.store(batch, doubtful=True))


def read_of(writer: EventWriter, identity: str) -> int:
    """How many events of a source a view has read; of one with partitions, in the one that is furthest behind."""
    frontier = writer.position().frontier
    point = frontier.sources[0][1] if frontier else None
    if point is None or point.identity != identity:
        return 0
    return min(positions_of(point.version).values(), default=0)
