"""What a stream view holds, as far as it tells what is sent again: read from its table, and kept beside it.

The table is the truth. What is kept here saves reading it for every batch, and is read again from where
it stood as soon as the table has moved.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from grebe.formats.event_tables import AT, BATCH, DEAD, EVENT, RAW, EventTable
from grebe.model import Position, Version
from grebe.streams.definition import StreamDefinition
from grebe.streams.event_plan import CommitPlan
from grebe.streams.landed import Batch, Landed, positions_of, read_label
from grebe.streams.letters import MARK, DeadLetter, digest_in, letter_of

if TYPE_CHECKING:
    import pyarrow as pa


NEVER: Final = datetime.min.replace(tzinfo=UTC)
_SWEEP: Final = 1000
"""Commits after which what is too old to be known is forgotten here, too."""


@dataclass(slots=True)
class EventMemory:
    """Batch ids, keys and dead letters of the time in which they are known, each with its time."""

    definition: StreamDefinition
    table: EventTable
    position: Position = field(default_factory=lambda: Position(None, None))
    loaded: bool = False
    now: datetime = NEVER
    labels: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    keys: dict[object, datetime] = field(default_factory=dict)
    letters: dict[str, datetime] = field(default_factory=dict)
    _added: int = 0
    _ignored: bool = False

    @property
    def version(self) -> Version | None:
        """The version of the table that it is of."""
        return self.position.version

    def follow(self, now: datetime) -> Position:
        """The table's position; what others stored since is known from now on."""
        self.now = now
        position = self.table.position()
        if self.loaded and position.version == self.position.version:
            self.position = position
            return position
        columns = self._columns()
        fresh = None
        if self.loaded and self.position.version is not None:
            fresh = self.table.added(self.position.version, columns)
        if fresh is None:
            self._forget_all()
            since = now - max(self.definition.dedupe, self.definition.key_window)
            fresh = self.table.rows(columns, since)
        self._take(fresh)
        # The rows may be newer than the position, never older: the commit's compare meets the rest.
        self.position, self.loaded = position, True
        return position

    def _columns(self) -> list[str]:
        key = [self.definition.key] if self.definition.key else []
        return [BATCH, AT, DEAD, *key]

    def _take(self, rows: pa.Table) -> None:
        import pyarrow.compute as pc

        if rows.num_rows == 0:
            return
        batches = rows.group_by([BATCH]).aggregate([(AT, "max")])
        for text, at in zip(
            batches[BATCH].to_pylist(), batches[f"{AT}_max"].to_pylist(), strict=True
        ):
            label, digest = read_label(text or "")
            if label:
                self.labels[label] = (digest, at)
        if self.definition.key is None:
            return
        living = rows.filter(pc.is_null(rows[DEAD]))
        pairs = zip(living[self.definition.key].to_pylist(), living[AT].to_pylist(), strict=True)
        self.keys.update(pairs)
        dying = rows.filter(pc.is_valid(rows[DEAD]))
        for said, at in zip(dying[DEAD].to_pylist(), dying[AT].to_pylist(), strict=True):
            if said != MARK:
                self.letters[digest_in(said)] = at

    def landed(self, batch: Batch, position: Position) -> Landed:
        """What of a batch is known."""
        found = Landed()
        frontier = position.frontier
        points = [] if frontier is None else [point for _, point in frontier.sources]
        if points and points[0].identity and not self._ignored:
            found.identity = points[0].identity
            found.positions = positions_of(points[0].version)
        known = self.labels.get(batch.label) if batch.label is not None else None
        if known is not None and batch.label is not None:
            digest, at = known
            if at >= self.now - self.definition.dedupe:
                found.labels[batch.label] = digest
        return found

    def forget_positions(self) -> None:
        """From now on another source is followed."""
        self._ignored = True

    def has_key(self, key: object, now: datetime) -> bool:
        """Whether a key is stored and still known."""
        at = self.keys.get(key)
        return at is not None and at >= now - self.definition.key_window

    def has_letter(self, digest: str, now: datetime) -> bool:
        """Whether a dead letter is stored and still known."""
        at = self.letters.get(digest)
        return at is not None and at >= now - self.definition.key_window

    def add(self, version: Version, plan: CommitPlan) -> None:
        """What was stored just now."""
        self.position = Position(None, version)
        if plan.batch.label is not None:
            self.labels[plan.batch.label] = (plan.batch.digest, plan.at)
        self.keys.update(dict.fromkeys(plan.keys, plan.at))
        self.letters.update(dict.fromkeys(plan.letters, plan.at))
        self._added += 1
        if self._added % _SWEEP == 0:
            self._sweep(plan.at)

    def _sweep(self, now: datetime) -> None:
        oldest = now - self.definition.dedupe
        self.labels = {k: pair for k, pair in self.labels.items() if pair[1] >= oldest}
        oldest = now - self.definition.key_window
        self.keys = {key: at for key, at in self.keys.items() if at >= oldest}
        self.letters = {key: at for key, at in self.letters.items() if at >= oldest}

    def _forget_all(self) -> None:
        self.labels, self.keys, self.letters = {}, {}, {}

    # --- read as they are -----------------------------------------------------------------------

    def dead_letters(self) -> list[DeadLetter]:
        """The dead letters that are stored, oldest first."""
        return dead_letters(self.table)

    def received_before(self, moment: datetime) -> Counter[str]:
        """The batches that were received before a moment, with the number of their rows."""
        rows = self.table.rows([BATCH, AT])
        pairs = zip(rows[BATCH].to_pylist(), rows[AT].to_pylist(), strict=True)
        return Counter(batch for batch, at in pairs if at < moment)


def dead_letters(table: EventTable) -> list[DeadLetter]:
    """The dead letters of a table, oldest first."""
    import pyarrow.compute as pc

    rows: Any = table.rows([BATCH, EVENT, AT, DEAD, RAW])
    rows = rows.filter(pc.and_(pc.is_valid(rows[DEAD]), pc.not_equal(rows[DEAD], MARK)))
    columns = [rows[name].to_pylist() for name in (BATCH, EVENT, AT, DEAD, RAW)]
    found = [letter_of(*item) for item in zip(*columns, strict=True)]
    return sorted(found, key=lambda item: (item.at, item.batch, item.event))
