"""Where a view stands: one judgement, whoever asks.

Status, the check that nothing is to be done, the cut of a run, its plan and its refresh all take it from here. It
is made of metadata alone: of what the storage table shows, of where its sources are, and of what the definition
reads. No row is read, nothing is written, and no Spark is needed where the formats need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from grebe.compiler.reasons import ReasonCode
from grebe.engine.source_columns import CHANGED, changed, drifted
from grebe.errors import GrebeError, HistoryExpiredError
from grebe.formats.base import Head, Source, WindowStats
from grebe.model import (
    LAYOUT,
    Column,
    Position,
    Reason,
    SourcePoint,
    State,
    TableName,
    Version,
    Window,
)

HALF_RETENTION: Final = timedelta(days=2.5)
"""Half of the time that Iceberg keeps versions by default: for sources that do not say."""
OTHER_TEXT: Final = "definition-changed"


@dataclass(frozen=True, slots=True)
class Pinned:
    """A source with the version that it is judged and read at."""

    source: Source
    head: Head
    fingerprint: str | None = None
    """The definition's, when the source is itself a view."""
    rows: Version | None = None
    """Of a view: the last version that changed a row, which frontiers name. It may be expired;
    the head holds the same rows."""


@dataclass(frozen=True, slots=True)
class SourceUse:
    """What a definition reads of one table."""

    name: TableName
    ids: tuple[int, ...]
    columns: tuple[Column, ...] | None = None
    """As it was compiled over the table as it is; None: it was compiled before."""
    starred: tuple[str, ...] = ()
    """What a star meant when the view was made, where nobody compiled it since."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What of a definition its standing depends on."""

    fingerprint: str | None
    """That of the rows that it would make; None: of none that there are."""
    sources: tuple[SourceUse, ...]
    full_only: tuple[Reason, ...] = ()
    """Why it can only be computed as a whole, if so."""

    @property
    def by_clock(self) -> bool:
        """True when its rows change although no source does."""
        return any(reason.code == ReasonCode.TIME_FUNCTION for reason in self.full_only)


@dataclass(frozen=True, slots=True)
class Moved:
    """A source that stands somewhere else than the view shows."""

    source: TableName
    window: Window
    since: datetime | None
    """When the first change that the view does not show was committed."""
    stats: WindowStats | None = None
    """What metadata says of the window; None where it cannot be read."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is true of a view now."""

    state: State
    reasons: tuple[Reason, ...] = ()
    """Why it is not fresh."""
    moved: tuple[Moved, ...] = ()
    position: Position | None = None
    stale_since: datetime | None = None
    error: GrebeError | None = None
    distrust: tuple[Reason, ...] = ()
    """Why the stored rows cannot be built upon."""
    broken: tuple[Reason, ...] = ()
    """Why what changed in its sources cannot be followed."""
    windows: tuple[tuple[TableName, Window], ...] = ()
    """What lies between what the view shows and each source that can be followed."""
    frontier_lags: bool = False
    """Nothing but maintenance moved a source, but the version shown may soon be expired."""
    by_clock: bool = False
    """The rows change although no source does."""

    @property
    def is_idle(self) -> bool:
        """True when a refresh has nothing to do, not even for the frontier."""
        return self.state is State.FRESH and not (self.frontier_lags or self.by_clock)

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


def stand(reads: Reads, position: Position | None, pin: Callable[[TableName], Pinned]) -> Standing:
    """Where a view stands.

    Args:
        reads: what its definition reads.
        position: what its storage table shows.
        pin: gives the version of a source that it is judged at.
    """
    doubts = distrust(position) if position else ()
    frontier = position.frontier if position else None
    if frontier is None:
        return Standing(State.NEVER_REFRESHED, doubts, position=position, distrust=doubts)
    if frontier.fingerprint != reads.fingerprint:
        other = (Reason(OTHER_TEXT, "the definition is another one than the rows show"),)
        return Standing(State.INVALID, other, position=position, distrust=other)
    if doubts:
        return Standing(State.STALE, doubts, position=position, distrust=doubts)
    found = [
        _judge(use, frontier.by_source.get(str(use.name)), pin(use.name), reads)
        for use in reads.sources
    ]
    broken = tuple(item.reason for item in found if item.reason)
    moved = tuple(item.moved for item in found if item.moved)
    named = ", ".join(str(item.source) for item in moved)
    told = (Reason("source-moved", f"{named} changed"),) if moved else ()
    pending = int(dict(frontier.values).get("pending", "0"))
    if pending:
        told = (*told, Reason("rows-pending", f"{pending:,} rows wait for their functions"))
    return Standing(
        State.STALE if broken or moved or pending else State.FRESH,
        (*broken, *told),
        moved,
        position,
        min((item.since for item in moved if item.since), default=None),
        broken=broken,
        windows=tuple((item.name, item.window) for item in found if item.window),
        frontier_lags=not (broken or moved) and any(item.lags for item in found),
        by_clock=reads.by_clock,
    )


def distrust(position: Position) -> tuple[Reason, ...]:
    """Why the rows of a storage table cannot be built upon, if so."""
    layout = position.frontier.state_layout if position.frontier else LAYOUT
    if layout > LAYOUT:
        message = f"its state has layout {layout}, this version knows up to {LAYOUT}"
        return (Reason("layout-newer", message),)
    if layout < LAYOUT:
        return (Reason("layout-older", f"the state has layout {layout}, now it is {LAYOUT}"),)
    if position.foreign:
        return (Reason("foreign-write", f"somebody else wrote: {', '.join(position.foreign)}"),)
    if position.unproven:
        return (Reason("frontier-unproven", position.unproven),)
    return ()


def same_rows(source: Source, one: Version, two: Version) -> bool:
    """Two versions hold the same rows when nothing but maintenance lies between them."""
    if one == two:
        return True
    try:
        return source.window_stats(Window(one, two)).only_maintenance
    except HistoryExpiredError:
        return False


@dataclass(frozen=True, slots=True)
class _Judged:
    """What was found of one source."""

    name: TableName
    window: Window | None = None
    reason: Reason | None = None
    moved: Moved | None = None
    lags: bool = False


def _judge(use: SourceUse, point: SourcePoint | None, pin: Pinned, reads: Reads) -> _Judged:
    name, head = use.name, pin.head
    if point is None or point.identity != head.identity:
        told = f'table "{name}" is another one than before'
        return _Judged(name, reason=Reason("source-replaced", told))
    if reason := next(_column_reasons(use, point, pin), None):
        return _Judged(name, reason=reason)
    if point.version == pin.rows:
        return _Judged(name, Window(head.version, head.version))
    window = Window(point.version, head.version)
    if window.is_empty:
        return _Judged(name, window)
    # What is computed as a whole is not read by windows.
    unread = None if reads.full_only else pin.source.unreadable(window, use.ids)
    if unread is not None:
        return _Judged(name, reason=unread, moved=_same_table(unread, name, window, head))
    try:
        stats = pin.source.window_stats(window)
    except HistoryExpiredError:
        return _Judged(name, window, moved=Moved(name, window, head.committed_at))
    if stats.only_maintenance:
        lags = _is_old(point, head) or point.schema_id != head.schema.id
        return _Judged(name, window, lags=lags)
    return _Judged(name, window, moved=Moved(name, window, stats.since or head.committed_at, stats))


def _same_table(unread: Reason, name: TableName, window: Window, head: Head) -> Moved | None:
    """A window that cannot be read is one, unless it leads into other columns or another table."""
    if unread.code in (CHANGED, "source-replaced"):
        return None
    return Moved(name, window, head.committed_at)


def _column_reasons(use: SourceUse, point: SourcePoint, pin: Pinned) -> Iterator[Reason]:
    """Why the columns that the rows were made from are not those that the text means now."""
    if use.columns is not None:
        found = changed(use.name, point, pin.head, use.columns, pin.source)
    elif point.schema_id != pin.head.schema.id:
        found = drifted(use.name, point, pin.head, use.ids, pin.source)
    else:
        return
    if found:
        yield found
    yield from _came_back(use, point, pin)


def _came_back(use: SourceUse, point: SourcePoint, pin: Pinned) -> Iterator[Reason]:
    """Why a star may mean more than before: a column of its own is there again."""
    now = pin.head.schema
    if not use.starred or point.schema_id == now.id:
        return
    try:
        before = pin.source.schema_at(point.version).names
    except HistoryExpiredError:
        return
    for name in use.starred:
        if name in now.names and name not in before:
            yield Reason(CHANGED, f'column "{name}" of table "{use.name}" is there again')


def _is_old(point: SourcePoint, head: Head) -> bool:
    """True for a version that may soon be expired; of a view's own rows no time is kept."""
    half = head.retention / 2 if head.retention else HALF_RETENTION
    made = point.committed_at
    return made is not None and datetime.now(UTC) - made > half
