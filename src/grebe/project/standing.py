"""Where a view stands towards its definition and its sources: asked of metadata, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe.engine.public_name import PUBLIC, STORED, shown_storage, shows
from grebe.engine.source_columns import CHANGED, drifted
from grebe.errors import GrebeError, HistoryExpiredError
from grebe.formats.base import OWN, Head, Source, WindowStats
from grebe.model import Position, Reason, SourcePoint, State, TableName, Window
from grebe.project.definitions import Definition
from grebe.project.summary import SourceSummary, Summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from grebe.engine.tables import Tables
    from grebe.registry.records import RunRecord

Session = Callable[[], "SparkSession"]
NEVER = datetime.min.replace(tzinfo=UTC)
"""Before every version."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A source that stands somewhere else than the view shows."""

    source: TableName
    window: Window
    since: datetime | None
    """When the first change that the view does not show was committed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is true of a view now."""

    state: State
    reasons: tuple[Reason, ...] = ()
    moved: tuple[Moved, ...] = ()
    position: Position | None = None
    stale_since: datetime | None = None
    error: GrebeError | None = None
    settles: bool = False
    """Nothing but maintenance moved a source, but the version shown may soon be expired."""

    @property
    def data_time(self) -> datetime | None:
        """The time of the newest data that the view shows."""
        if self.position is None or self.position.frontier is None:
            return None
        times = [point.committed_at for _, point in self.position.frontier.sources]
        known = [time for time in times if time is not None]
        return max(known) if known else None

    @property
    def refreshed_version(self) -> str | None:
        """The version of the storage table."""
        return self.position.version if self.position else None


class Heads:
    """One look at the tables: every head and position is read once, whoever asks."""

    def __init__(self, tables: Tables, session: Session) -> None:
        self.tables = tables
        self.session = session
        self._heads: dict[TableName, Head] = {}
        self._positions: dict[TableName, Position | None] = {}

    def shown(self, name: TableName) -> TableName | None:
        """The storage table that a public name shows."""
        return shown_storage(name, self.tables.shown(name, self.session))

    def shows(self, name: TableName, storage: TableName) -> bool:
        """Whether a public name shows a storage table, by the SELECT that this one keeps."""
        text = self.tables.shown(name, self.session)
        if shown_storage(name, text) != storage:
            return False
        if not self.source(storage).capabilities.head_without_spark:
            return True  # to look closer would cost a job for every view
        kept = (self.tables.properties(storage, self.session) or {}).get(PUBLIC)
        if kept is None or '"' in self.tables.relation(storage):  # a text in other words
            return True
        return shows(text, kept.replace(STORED, self.tables.relation(storage)))

    def head(self, name: TableName) -> Head:
        """Where a table stands."""
        if name not in self._heads:
            self._heads[name] = self.source(name).head()
        return self._heads[name]

    def position(self, name: TableName) -> Position | None:
        """What a storage table shows."""
        if name not in self._positions:
            self._positions[name] = self.tables.position(name, self.session)
        return self._positions[name]

    def moment(self, name: TableName, point: SourcePoint | Position) -> datetime:
        """When a version of a table was committed; before everything if nobody knows."""
        known = point.committed_at if isinstance(point, SourcePoint) else None
        if known is None and point.version is not None:
            known = self.tables.moment(name, point.version, self.session)
        return known or NEVER

    def stats(self, name: TableName, window: Window) -> WindowStats:
        """What metadata says of a window."""
        return self.source(name).window_stats(window)

    def source(self, name: TableName) -> Source:
        """The table as a source; Spark is asked for only when rows are read through it."""
        return self.tables.source(name, self.session)


def refreshed_at(
    view: Definition, stand: Standing, landed: RunRecord | None, look: Heads
) -> datetime | None:
    """When the view was last made what it shows: by the journal, else by its own table."""
    if stand.state is State.NEVER_REFRESHED:
        return None
    if landed is not None:
        return landed.ended_at
    storage = view.facts.storage if view.facts else None
    if storage is None or stand.position is None:
        return None
    try:
        moment = look.moment(storage, stand.position)
    except GrebeError:
        return None
    return None if moment == NEVER else moment


def standings(views: Mapping[str, Definition], look: Heads) -> dict[str, Standing]:
    """Every view's standing; a view over one that is not fresh is not fresh either."""
    own = {name: standing(view, look) for name, view in views.items()}
    found: dict[str, Standing] = {}

    def visit(name: str, path: tuple[str, ...]) -> Standing:
        if name in found or name in path:
            return found.get(name, own[name])
        above = {p: visit(p, (*path, name)) for p in views[name].parents_among(views)}
        behind = [p for p, item in above.items() if item.state is not State.FRESH]
        former = replaced_parents(views[name], views)
        item = own[name]
        reasons = list(views[name].notes)
        if former:
            text = f"the rows show a former definition of {', '.join(former)}"
            reasons.append(Reason("parent-replaced", text))
        if behind:
            reasons.append(Reason("parent-stale", f"{', '.join(behind)} is not fresh"))
        if (former or behind) and item.state is State.FRESH:
            since = [above[p].stale_since for p in behind]
            dated = [time for time in since if time is not None]
            item = Standing(
                State.STALE,
                tuple(reasons),
                (),
                item.position,
                min(dated) if dated else None,
            )
        found[name] = item
        return item

    for name in views:
        visit(name, ())
    return found


def replaced_parents(view: Definition, views: Mapping[str, Definition]) -> list[str]:
    """The parents of whose former definitions a view shows the rows."""
    read = {source.name for source in view.facts.sources} if view.facts else set()
    above = [(name, views[name].facts) for name in view.parents_among(views)]
    return [name for name, facts in above if facts is not None and facts.storage not in read]


def standing(view: Definition, look: Heads) -> Standing:
    """Where one view stands by itself; a problem is told, never raised."""
    if view.error is not None:
        return Standing(State.INVALID, view.notes, error=view.error)
    try:
        found = _standing(view, look)
    except GrebeError as error:
        found = Standing(State.STALE, (Reason(error.code, error.message),), error=error)
    return replace(found, reasons=(*view.notes, *found.reasons))


def _standing(view: Definition, look: Heads) -> Standing:
    facts = view.facts
    if facts is None or facts.storage is None:
        return Standing(State.NEVER_REFRESHED)
    changed = Reason("definition-changed", "the definition is another one than the rows show")
    position = look.position(facts.storage)
    if position is None or position.frontier is None:
        old = look.position(facts.before) if facts.before else None
        if old is not None and old.frontier is not None:
            return Standing(State.INVALID, (changed,), position=old)
        return Standing(State.NEVER_REFRESHED, position=position)
    recorded = view.record.fingerprint if view.record else None
    if view.has_changed or position.frontier.fingerprint != recorded:
        return Standing(State.INVALID, (changed,), position=position)
    if position.foreign:
        reason = Reason("foreign-write", f"somebody else wrote: {', '.join(position.foreign)}")
        return Standing(State.STALE, (reason,), position=position)
    if position.unproven:
        reason = Reason("frontier-unproven", position.unproven)
        return Standing(State.STALE, (reason,), position=position)
    found = _against_sources(facts, position, look)
    if found.state is State.FRESH and not look.shows(view.name, facts.storage):
        reason = Reason("not-shown", "the public name does not show the rows that are stored")
        return Standing(State.STALE, (reason,), position=position)
    return found


def _against_sources(facts: Summary, position: Position, look: Heads) -> Standing:
    points = position.frontier.by_source if position.frontier else {}
    moved: list[Moved] = []
    reasons: list[Reason] = []
    settles = False
    for source in facts.sources:
        head = look.head(source.name)
        point = points.get(str(source.name))
        kept = dict(facts.frozen).get(str(source.name), ())
        found = _against(source, point, head, look) or _came_back(kept, source, point, look)
        if isinstance(found, Reason):
            reasons.append(found)
        elif found is not None:
            moved.append(found)
        elif point is not None and point.version != head.version:
            settles |= _is_old(point, head) or point.schema_id != head.schema.id
    if not moved and not reasons:
        return Standing(State.FRESH, position=position, settles=settles)
    dated = [item.since for item in moved if item.since]
    since = min(dated) if dated else None
    named = ", ".join(str(item.source) for item in moved)
    if named:
        reasons.append(Reason("source-moved", f"{named} changed"))
    return Standing(State.STALE, tuple(reasons), tuple(moved), position, since)


def _against(
    source: SourceSummary, point: SourcePoint | None, head: Head, look: Heads
) -> Moved | Reason | None:
    name = source.name
    if point is None or point.identity != head.identity:
        return Reason("source-replaced", f'table "{name}" is another one than before')
    window = Window(point.version, head.version)
    if window.is_empty or _is_settled(name, point, look):
        return None
    if point.schema_id != head.schema.id and (reason := _drifted(source, point, head, look)):
        return reason
    stats = look.stats(name, window)
    return None if stats.only_maintenance else Moved(name, window, stats.since or head.committed_at)


def _came_back(
    kept: Sequence[str], source: SourceSummary, point: SourcePoint | None, look: Heads
) -> Reason | None:
    """Why a star may mean more than before: a column of its own is there again."""
    now = look.head(source.name).schema
    if point is None or point.schema_id == now.id:
        return None
    try:
        before = look.source(source.name).schema_at(point.version).names
    except HistoryExpiredError:
        return None
    again = [name for name in kept if name in now.names and name not in before]
    if not again:
        return None
    return Reason(CHANGED, f'column "{again[0]}" of table "{source.name}" is there again')


def _drifted(source: SourceSummary, point: SourcePoint, head: Head, look: Heads) -> Reason | None:
    """Why the columns that the rows were made from are not those that their names mean now."""
    table = look.source(source.name)
    found = drifted(source.name, point, head, source.columns, table)
    if found is None and point.columns is not None:  # a part of one may have been made anew
        window = Window(point.version, head.version)
        found = table.unreadable(window, [column.id for column in point.columns])
    return found if found and found.code == CHANGED else None


def _is_old(point: SourcePoint, head: Head) -> bool:
    """True for a version that may soon be expired; of a view's own rows no time is kept."""
    from grebe.engine import choice

    half = head.retention / 2 if head.retention else choice.HALF_RETENTION
    made = point.committed_at
    return made is not None and datetime.now(UTC) - made > half


def _is_settled(name: TableName, point: SourcePoint, look: Heads) -> bool:
    """True for a view's storage table that moved without changing a row since."""
    if not name.name.startswith(OWN):
        return False
    position = look.position(name)
    return position is not None and position.row_version == point.version
