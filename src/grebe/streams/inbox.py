"""A stream's own table of events: what cannot be read again is written here first, and read from here.

Every event gets the next number, in one commit with the number that follows. So views read it as they
read any source with positions, each at its own pace.
"""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from grebe.errors import ConflictError, UnknownOutcomeError
from grebe.formats.base import ACTION, Append, Committed, Merge, Rows, Write
from grebe.formats.event_tables import AT, BATCH, EVENT, EventTable
from grebe.formats.failpoints import reach
from grebe.formats.storage_errors import conflict, refuse_untrusted
from grebe.model import LAYOUT, Frontier, Position, RunId, SourcePoint
from grebe.streams.definition import StreamDefinition, declared_stream
from grebe.streams.event_columns import action_table, event_table_rows, stored_schema
from grebe.streams.event_memory import EventMemory
from grebe.streams.event_plan import CommitPlan
from grebe.streams.ingest import TRIES, VERSION, source_name
from grebe.streams.landed import Batch, Incoming, SourceWindow, position_text, positions_of, unseen

PLACES: Final = ("inbox.begun", "inbox.stored")
PARTITION: Final = "0"
KEPT_EVENTS: Final = 20_000
"""Events that stay in memory for the views, so that they need not be read again."""
MOST_READ: Final = 5_000
"""Events that a view takes at once."""


@dataclass(slots=True)
class Inbox:
    """The events of one stream, numbered from 0."""

    stream: str
    table: EventTable
    keep: timedelta = timedelta(days=7)
    dedupe: timedelta = timedelta(days=7)
    definition: StreamDefinition = field(init=False)
    memory: EventMemory = field(init=False)
    _recent: deque[tuple[int, bytes]] = field(default_factory=deque, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        days = f"{max(1, self.dedupe.days)} days"
        self.definition = declared_stream(
            {
                "$type": "inbox",
                "$stream": self.stream,
                "$schema": {"number": "long!", "event": "binary!"},
                "$refresh": {"dedupe": days},
            }
        )
        self.memory = EventMemory(self.definition, self.table)

    def create(self) -> None:
        """Make the table, with an identity of its own; one that is there is left alone."""
        schema = stored_schema(self.definition.columns)
        self.table.create(schema, {"grebe.inbox": self.stream})
        while self.table.position().frontier is None:
            point = SourcePoint(uuid.uuid4().hex, position_text({PARTITION: 0}), None, "")
            self._move((), self._frontier(point), self.table.position())

    def append(self, requests: Sequence[Batch]) -> list[int]:
        """Store several requests in one commit; how many events of each were new.

        Raises:
            RefreshError: nothing of any is stored.
        """
        with self._lock:
            reach("inbox.begun")
            for _ in range(TRIES):
                position = self.memory.follow(datetime.now(UTC))
                refuse_untrusted(self.table.name, (), RunId("inbox"), position)
                found = self._append_once(requests, position)
                if found is not None:
                    reach("inbox.stored")
                    return found
            raise conflict(self.table.name, RunId("inbox"), f"others were first {TRIES} times")

    def _append_once(self, requests: Sequence[Batch], position: Position) -> list[int] | None:
        point = point_of(position)
        first = number = positions_of(point.version)[PARTITION]
        at = datetime.now(UTC)
        counts, plans, tables, fresh = [], [], [], []
        seen: dict[str, str] = {}
        for request in requests:
            landed = self.memory.landed(request, position)
            landed.identity = None
            landed.labels.update(seen)
            places = unseen(request, landed)
            counts.append(len(places))
            if not places:
                continue
            if request.label is not None:
                seen[request.label] = request.digest
            plan = CommitPlan(RunId(uuid.uuid4().hex[:12]), at, request)
            for place in places:
                text = request.events[place].text
                content = text if isinstance(text, bytes) else text.text.encode()
                plan.add({"number": number, "event": content}, place)
                fresh.append((number, content))
                number += 1
            plans.append(plan)
            tables.append(event_table_rows(self.definition, plan.rows, plan.label, at))
        if number == first:
            return counts
        import pyarrow as pa

        moved = replace(point, version=position_text({PARTITION: number}), committed_at=at)
        writes = [Append(Rows(arrow=pa.concat_tables(tables)))]
        done = self._move(writes, self._frontier(moved), position)
        if done is None:
            return None
        for plan in plans:
            self.memory.add(done.version, plan)
        if self._recent and self._recent[-1][0] + 1 != first:
            self._recent.clear()
        self._recent.extend(fresh)
        while len(self._recent) > KEPT_EVENTS:
            self._recent.popleft()
        return counts

    def _move(
        self, writes: Sequence[Write], frontier: Frontier, position: Position
    ) -> Committed | None:
        for again in (True, True, False):
            try:
                return self.table.commit(writes, frontier, position)
            except ConflictError:
                return None
            except UnknownOutcomeError:
                if not again:
                    raise
        return None

    def _frontier(self, point: SourcePoint) -> Frontier:
        return Frontier(
            sources=((source_name(self.stream), point),),
            fingerprint="inbox",
            run_id=RunId(uuid.uuid4().hex[:12]),
            engine_version=VERSION,
            state_layout=LAYOUT,
        )

    # --- read by views --------------------------------------------------------------------------

    def head(self) -> tuple[str, int]:
        """What tells the inbox from another one, and the number of the next event."""
        point = point_of(self.table.position())
        return point.identity, positions_of(point.version)[PARTITION]

    def read(self, identity: str | None, positions: Mapping[str, int]) -> Batch | None:
        """The events behind a view's positions, at most so many; None when there are none."""
        own, end = self.head()
        begin = positions.get(PARTITION, 0) if identity in (None, "", own) else 0
        if begin >= end and identity in (None, "", own):
            return None
        upto = min(end, begin + MOST_READ)
        events = self._between(begin, upto)
        # What is older than what is kept is gone; a view that still waits for it holds it there.
        first = events[0][0] if events else upto
        items = [Incoming(text, f"{PARTITION}:{n}", PARTITION, n) for n, text in events]
        return Batch(items, SourceWindow(own, {PARTITION: first}, {PARTITION: upto}))

    def _between(self, begin: int, upto: int) -> list[tuple[int, bytes]]:
        with self._lock:
            recent = list(self._recent)
        if recent and recent[0][0] <= begin and recent[-1][0] >= upto - 1:
            return [item for item in recent if begin <= item[0] < upto]
        rows = self.table.rows(["number", "event"], beyond=("number", begin))
        pairs = zip(rows["number"].to_pylist(), rows["event"].to_pylist(), strict=True)
        return sorted((n, text) for n, text in pairs if begin <= n < upto)

    # --- upkeep ---------------------------------------------------------------------------------

    def retire(self, needed: int, now: datetime | None = None) -> int:
        """Remove events that every view has read and that are older than they are kept; how many."""
        before = (now or datetime.now(UTC)) - self.keep
        with self._lock:
            for _ in range(TRIES):
                position = self.memory.follow(datetime.now(UTC))
                rows: Any = self.table.rows([BATCH, AT, "number"])
                held: dict[str, list[Any]] = {}
                for batch, at, number in zip(
                    *(rows[name].to_pylist() for name in (BATCH, AT, "number")), strict=True
                ):
                    held.setdefault(batch, []).append((at, number))
                gone = [
                    batch
                    for batch, items in held.items()
                    if all(at < before and number < needed for at, number in items)
                ]
                if not gone:
                    return 0
                items = [{ACTION: "delete", BATCH: batch, EVENT: 0} for batch in gone]
                change = action_table(self.definition, items)
                merge = Merge(Rows(arrow=change), on=(BATCH,), has_inserts=False)
                if self._move([merge], self._frontier(point_of(position)), position) is not None:
                    self.memory = EventMemory(self.definition, self.table)
                    return sum(len(held[batch]) for batch in gone)
            raise conflict(self.table.name, RunId("inbox"), "others were first")


def point_of(position: Position) -> SourcePoint:
    """Where an inbox ends."""
    if position.frontier is None:
        return SourcePoint("", position_text({PARTITION: 0}), None, "")
    return position.frontier.sources[0][1]
