"""Events into the table of one stream view: rows, dead letters and position in one commit.

What landed is never remembered on trust: positions, batch ids and keys are read from the table, and the
commit is refused when the table has moved since. Whoever loses reads again and goes on behind it.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version as package_version
from typing import Any, Final

from grebe.errors import ConflictError, RefreshError, UnknownOutcomeError
from grebe.formats.base import ACTION, Append, Committed, Merge, Rows, Write
from grebe.formats.event_tables import BATCH, EVENT, EventTable
from grebe.formats.failpoints import reach
from grebe.formats.storage_errors import conflict, refuse_untrusted
from grebe.model import LAYOUT, STREAM, Frontier, Position, RunId, SourcePoint
from grebe.streams.definition import StreamDefinition
from grebe.streams.event_columns import action_table, event_table_rows
from grebe.streams.event_memory import EventMemory
from grebe.streams.event_plan import CommitPlan
from grebe.streams.isolate import RowMaker
from grebe.streams.landed import Batch, advanced, position_text, unseen
from grebe.streams.letters import MARK, DeadLetter, event_digest, letter_text, raw_of
from grebe.streams.row_making import EventRows
from grebe.streams.totals import Ingested, Totals
from grebe.thresholds import EVENT_FILES

log = logging.getLogger(__name__)

PLACES: Final = ("stream.begun", "stream.known", "stream.made", "stream.stored")
"""The places between the steps of an ingest, in order, where tests can interfere."""
VERSION: Final = package_version("grebe")
TRIES: Final = 60
"""How often somebody else may be first; each time somebody's events landed."""
AGED: Final = 16 * EVENT_FILES
"""Commits after which rows that are too old are looked for."""
KEPT: Final = timedelta(days=7)
"""How long files stay that only old versions name: children may still read those."""
WATCHED: Final = 1000
"""Events of which at least half have to become rows, where they wait in their source."""
DEFINITION: Final = "definition"
CHANGED: Final = "changed-from"


@dataclass(slots=True)
class EventWriter:
    """Stores events in one stream view."""

    definition: StreamDefinition
    digest: str
    """What tells the definition from another one."""
    fingerprint: str
    """That of the storage table, as its frontiers say it."""
    table: EventTable
    maker: RowMaker
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    memory: EventMemory = field(init=False)
    waiting: Totals = field(default_factory=Totals)
    """What was counted and is in no commit yet: batches that were known as a whole."""
    _stored: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _fates: deque[bool] = field(default_factory=lambda: deque(maxlen=WATCHED), repr=False)

    def __post_init__(self) -> None:
        self.memory = EventMemory(self.definition, self.table)

    def close(self) -> None:
        """End the process of its functions."""
        self.maker.close()

    def position(self) -> Position:
        """Where the view stands."""
        return self.table.position()

    def totals(self) -> Totals:
        """What became of all events so far."""
        frontier = self.table.position().frontier
        return Totals.of(dict(frontier.values) if frontier else {}).plus(self.waiting)

    def store(self, batch: Batch, *, stop: bool = False, doubtful: bool = False) -> Ingested:
        """Store what did not land yet of a batch, in one commit.

        Args:
            batch: the events.
            stop: store nothing of it when an event would be a dead letter.
            doubtful: refuse it when most events die: they wait in their source.

        Raises:
            RefreshError: nothing of it is stored; the code says why.
        """
        with self._lock:
            begun = time.monotonic()
            found = self._store(batch, stop=stop, doubtful=doubtful)
            self._keep_up(found)
            return Ingested(
                found.received,
                found.events,
                found.rows,
                found.filtered,
                found.dead,
                found.duplicates,
                batch.window is not None or batch.label is not None or bool(self.definition.key),
                self.memory.version,
                time.monotonic() - begun,
            )

    def _store(self, batch: Batch, *, stop: bool, doubtful: bool) -> Totals:
        reach("stream.begun")
        made: dict[int, EventRows] = {}
        for _ in range(TRIES):
            position = self.memory.follow(self.clock())
            self._refuse_doubtful(position)
            places = unseen(batch, self.memory.landed(batch, position))
            reach("stream.known")
            missing = [place for place in places if place not in made]
            if missing:
                events = [(batch.events[p].text, batch.events[p].position) for p in missing]
                made.update(zip(missing, self.maker.rows(events), strict=True))
            reach("stream.made")
            if stop:
                _refuse_dead(batch, places, made)
            if doubtful:
                self._refuse_mostly_dead([made[place] for place in places])
            plan = self._plan(batch, places, made)
            if not plan.moves:
                self.waiting = self.waiting.plus(plan.totals)
                return plan.totals
            if self._commit(plan, position) is not None:
                reach("stream.stored")
                return plan.totals
        raise conflict(self.table.name, RunId("ingest"), f"others were first {TRIES} times")

    def _keep_up(self, stored: Totals) -> None:
        """Now and then few files are made of many; what fails there is made up for by the next time."""
        self._stored += 1 if stored.batches else 0
        if not stored.batches or self._stored % EVENT_FILES:
            return
        try:
            self.table.compact()
            if self.definition.retention is not None and self._stored % AGED == 0:
                self.retire(self.clock() - self.definition.retention)
                self.table.expire(self.clock() - KEPT)
        except Exception as error:  # the events are stored, whatever becomes of their files
            log.warning('table "%s": no upkeep: %s', self.table.name, error)

    # --- what is to be stored -------------------------------------------------------------------

    def _plan(
        self, batch: Batch, places: Sequence[int], made: Mapping[int, EventRows]
    ) -> CommitPlan:
        plan = CommitPlan(RunId(uuid.uuid4().hex[:12]), self.clock(), batch)
        known_by_content = batch.window is None and batch.label is None and self.definition.key
        duplicates = len(batch.events) - len(places)
        events = filtered = dead = 0
        for place in places:
            result, event = made[place], batch.events[place]
            if result.dead is not None:
                digest = event_digest(event.text)
                is_known = self.memory.has_letter(digest, plan.at)
                if known_by_content and not plan.is_new_letter(digest, is_known=is_known):
                    duplicates += 1
                    continue
                dead += 1
                said = letter_text(result.dead, event.text, event.position)
                plan.add({}, place, said, raw_of(event.text))
                continue
            fresh = [row for row in result.rows if self._is_fresh(row, plan)]
            if not result.rows:
                filtered += 1
            elif not fresh:
                duplicates += 1
            else:
                events += 1
            for row in fresh:
                plan.add(row, place)
        rows = len(plan.rows) - dead
        plan.totals = Totals(
            len(batch.events), events, rows, filtered, dead, duplicates, 1 if places else 0
        )
        if batch.label is not None and places and not plan.rows:
            plan.add({}, 0, MARK)
        plan.moves = bool(plan.rows) or self._leads_on(batch)
        return plan

    def _is_fresh(self, row: Mapping[str, Any], plan: CommitPlan) -> bool:
        """False for a row whose key is stored, or comes twice in this batch."""
        if self.definition.key is None:
            return True
        key = row[self.definition.key]
        if key in plan.keys or self.memory.has_key(key, plan.at):
            return False
        plan.keys.add(key)
        return True

    def _leads_on(self, batch: Batch) -> bool:
        """Whether a batch moves the position although none of its events is stored."""
        if batch.window is None:
            return False
        landed = self.memory.landed(batch, self.memory.position)
        return advanced(batch.window, landed) != landed.positions

    # --- the commit -----------------------------------------------------------------------------

    def _commit(self, plan: CommitPlan, position: Position) -> Committed | None:
        """The commit; None when somebody else was first."""
        writes: list[Write] = []
        if plan.rows:
            rows = event_table_rows(self.definition, plan.rows, plan.label, plan.at)
            writes.append(Append(Rows(arrow=rows)))
        frontier = self._frontier(plan.run_id, plan.totals, plan.at, position, plan.batch)
        done = self._move(writes, frontier, position)
        if done is not None:
            self.memory.add(done.version, plan)
            self.waiting = Totals()
        return done

    def _move(
        self, writes: Sequence[Write], frontier: Frontier, position: Position
    ) -> Committed | None:
        for again in (True, True, False):
            try:
                return self.table.commit(writes, frontier, position)
            except ConflictError:
                return None
            except UnknownOutcomeError:
                if not again:  # nobody can say now; whoever sends it again will be told
                    raise
        return None

    def _frontier(
        self, run_id: RunId, totals: Totals, at: datetime, position: Position, batch: Batch | None
    ) -> Frontier:
        before = position.frontier
        values = dict(before.values) if before else {}
        sum_ = Totals.of(values).plus(self.waiting).plus(totals)
        if values.get(DEFINITION) not in (None, self.digest):
            values[CHANGED] = at.isoformat()
        values |= {**dict(sum_.values()), DEFINITION: self.digest}
        name = source_name(self.definition.stream)
        point = before.by_source.get(name) if before else None
        identity = point.identity if point else ""
        version = point.version if point else position_text({})
        if batch is not None and batch.window is not None:
            identity = batch.window.identity
            version = position_text(advanced(batch.window, self.memory.landed(batch, position)))
        return Frontier(
            sources=((name, SourcePoint(identity, version, at, self.digest)),),
            fingerprint=self.fingerprint,
            run_id=run_id,
            engine_version=VERSION,
            state_layout=LAYOUT,
            values=tuple(sorted(values.items())),
        )

    def begin(self, batch: Batch | None = None) -> None:
        """The first commit of a table: it holds nothing, and says so. Nothing for one that has one.

        With a batch of no events the view takes its window for its position: that is how it adopts
        another source.
        """
        with self._lock:
            for _ in range(TRIES):
                position = self.table.position()
                if position.frontier is not None and batch is None:
                    return
                run_id = RunId(uuid.uuid4().hex[:12])
                if batch is not None:
                    self.memory.forget_positions()
                frontier = self._frontier(run_id, Totals(), self.clock(), position, batch)
                if self._move((), frontier, position) is not None:
                    self.memory = EventMemory(self.definition, self.table)
                    return

    # --- dead letters and age -------------------------------------------------------------------

    def redrive(self, letters: Sequence[DeadLetter]) -> Ingested:
        """Run dead letters again: what becomes rows now takes their place, in one commit."""
        with self._lock:
            begun = time.monotonic()
            whole = [letter for letter in letters if letter.is_whole]
            made = self.maker.rows([(letter.raw, letter.position) for letter in whole])
            pairs = [(one, rows) for one, rows in zip(whole, made, strict=True) if not rows.dead]
            for _ in range(TRIES):
                position = self.memory.follow(self.clock())
                self._refuse_doubtful(position)
                there = {(item.batch, item.event) for item in self.memory.dead_letters()}
                left = [(one, rows) for one, rows in pairs if (one.batch, one.event) in there]
                plan = CommitPlan(RunId(uuid.uuid4().hex[:12]), self.clock(), Batch(()))
                totals, change = self._redriven(left, plan)
                if not left:
                    break
                merge = Merge(Rows(arrow=change), on=(BATCH, EVENT))
                frontier = self._frontier(plan.run_id, totals, plan.at, position, None)
                done = self._move([merge], frontier, position)
                if done is not None:
                    self.memory.add(done.version, plan)
                    self.waiting = Totals()
                    break
            else:
                raise conflict(self.table.name, RunId("redrive"), "others were first")
            return Ingested(
                len(letters),
                totals.events,
                totals.rows,
                totals.filtered,
                len(letters) - len(left),
                totals.duplicates,
                version=self.memory.version,
                seconds=time.monotonic() - begun,
            )

    def _redriven(
        self, pairs: Sequence[tuple[DeadLetter, EventRows]], plan: CommitPlan
    ) -> tuple[Totals, Any]:
        items: list[dict[str, Any]] = []
        events = filtered = duplicates = count = 0
        for letter, result in pairs:
            common = {BATCH: letter.batch, EVENT: letter.event}
            items.append({ACTION: "delete", **common})
            fresh = [row for row in result.rows if self._is_fresh(row, plan)]
            items += [{ACTION: "insert", **common, **row, "at": letter.at} for row in fresh]
            count += len(fresh)
            if fresh:
                events += 1
            elif result.rows:
                duplicates += 1
            else:
                filtered += 1
        totals = Totals(0, events, count, filtered, -len(pairs), duplicates)
        return totals, action_table(self.definition, items)

    def retire(self, before: datetime) -> int:
        """Remove what was received before a moment; the number of rows, dead letters included."""
        with self._lock:
            for _ in range(TRIES):
                position = self.memory.follow(self.clock())
                old = self.memory.received_before(before)
                if not old:
                    return 0
                items = [{ACTION: "delete", BATCH: batch, EVENT: 0} for batch in old]
                change = action_table(self.definition, items)
                merge = Merge(Rows(arrow=change), on=(BATCH,), has_inserts=False)
                run_id = RunId(uuid.uuid4().hex[:12])
                frontier = self._frontier(run_id, Totals(), self.clock(), position, None)
                done = self._move([merge], frontier, position)
                if done is not None:
                    self.memory = EventMemory(self.definition, self.table)
                    return sum(old.values())
            raise conflict(self.table.name, RunId("retention"), "others were first")

    # --- what is refused ------------------------------------------------------------------------

    def _refuse_doubtful(self, position: Position) -> None:
        refuse_untrusted(self.table.name, (), RunId("ingest"), position)
        if position.frontier is not None and position.frontier.fingerprint != self.fingerprint:
            raise RefreshError(
                f'table "{self.table.name}" is one of another view',
                hint="open the project again, which reads the view as it is now",
                code="definition-changed",
            )

    def _refuse_mostly_dead(self, results: Sequence[EventRows]) -> None:
        fates = deque(self._fates, maxlen=WATCHED)
        fates.extend(result.dead is not None for result in results)
        if len(fates) == WATCHED and sum(fates) * 2 > WATCHED:
            first = next((item.dead for item in results if item.dead is not None), None)
            raise RefreshError(
                f"{sum(fates):,} of {WATCHED:,} events did not become rows",
                detail=f"the last of them: {first.text}  [{first.code}]" if first else None,
                hint="the events wait in their source: correct the definition",
                code="mostly-dead",
            )
        self._fates = fates


def source_name(stream: str) -> str:
    """What a frontier calls a stream: a colon stands in no table's name."""
    return f"{STREAM}{stream}"


def _refuse_dead(batch: Batch, places: Sequence[int], made: Mapping[int, EventRows]) -> None:
    for place in places:
        dead = made[place].dead
        if dead is not None:
            at = f", field {dead.field}" if dead.field else ""
            raise RefreshError(
                f"event {batch.events[place].position} does not become rows{at}",
                detail=f"{dead.text}  [{dead.code}]; nothing of its part of the batch is stored",
                hint='send it with on_error="dead" to keep it as a dead letter',
                code="event-failed",
            )
