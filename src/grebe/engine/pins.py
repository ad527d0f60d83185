"""One consistent cut for a run: where every view stands, and one version of each source for all.

Positions are read before the heads of the sources. What a position shows was therefore pinned by
its own run before we look, so no window leads back in time; a run that slips in between is met by
the commit's compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from grebe.engine.compiled_view import CompiledView
from grebe.engine.standing import Pinned, distrust, same_rows
from grebe.engine.tables import Tables
from grebe.errors import GrebeError, HistoryExpiredError, InternalError
from grebe.formats.base import Head, Session, Source
from grebe.model import STREAM, Position, SourcePoint, TableName
from grebe.view_graph import with_parents

NOWHERE = Position(None, None)
"""The position of a view without a storage table."""

_PASSES = 5

Points = dict[str, SourcePoint]


@dataclass(frozen=True, slots=True)
class Pins:
    """What one run reads, decided before anything is read."""

    positions: Mapping[str, Position]
    """Of the views of the run, and of the parents that are not part of it."""
    pins: Mapping[TableName, Pinned]
    missing: Mapping[TableName, GrebeError] = field(default_factory=dict)
    """Sources that cannot be opened: the views that read them fail, the others do not."""
    shown: Mapping[str, SourcePoint] = field(default_factory=dict)
    """What the parents outside the run show of every table below them."""
    unread: Mapping[str, GrebeError] = field(default_factory=dict)
    """Views whose storage table cannot be read: they fail, the others do not."""
    conflict: str | None = None
    """Why the parents outside the run cannot be read together, if so."""


def pin_sources(
    tables: Tables,
    spark: Session,
    views: Mapping[str, CompiledView],
    around: Mapping[str, CompiledView],
) -> Pins:
    """The cut for some views; ``around`` holds all that are known.

    A source that a parent outside the run shows is read as that parent shows it, when only one
    view is refreshed; with several it must be the newest one.
    """
    outside = outside_parents(views, around)
    known = {**around, **views}
    above = {name: view.parents for name, view in known.items()}
    below = sorted(with_parents(outside, above) & known.keys())
    everybody = {name: known[name] for name in (*below, *views)}
    positions, unread = _positions(tables, spark, everybody)
    pins, missing = _heads(tables, spark, _sources(views, around))
    found = Pins(positions, pins, missing, unread=unread)
    conflict = _unfit(outside, positions)
    if conflict:
        return replace(found, conflict=conflict)
    given, conflict = _given(_Shown(tables, spark, known, positions), outside)
    if conflict:
        return replace(found, conflict=conflict)
    fixed: dict[TableName, Pinned] = {}
    for name, pin in pins.items():
        point = given.get(str(name))
        if point is None or _agree(pin.source, point, pin.head):
            fixed[name] = pin
            continue
        if point.identity != pin.head.identity or len(views) > 1:
            moved = "has moved since {} was refreshed"
        elif _leads_back(pin.source, _point(positions[next(iter(views))], name), point):
            moved = "was read at a later version already than {} shows"
        elif (head := _at(pin, point)) is None:
            moved = "no longer has the version that {} shows"
        else:
            fixed[name] = replace(pin, head=head)
            continue
        return replace(found, conflict=f'"{name}" {moved.format(", ".join(outside))}')
    return replace(found, pins=fixed, shown=given)


def _positions(
    tables: Tables, spark: Session, views: Mapping[str, CompiledView]
) -> tuple[dict[str, Position], dict[str, GrebeError]]:
    """Where the views stand; and those that cannot tell, which stand nowhere."""
    positions: dict[str, Position] = {}
    unread: dict[str, GrebeError] = {}
    for name, view in views.items():
        try:
            positions[name] = tables.position(view.storage_name, spark) or NOWHERE
        except GrebeError as error:
            positions[name], unread[name] = NOWHERE, error
        except Exception as error:  # torn in a way that nobody foresaw: its siblings are not
            positions[name], unread[name] = NOWHERE, InternalError.unforeseen(error)
    return positions, unread


def outside_parents(
    views: Mapping[str, CompiledView], around: Mapping[str, CompiledView]
) -> dict[str, CompiledView]:
    """The direct parents of some views that are not among them."""
    names = {parent for view in views.values() for parent in view.parents}
    return {name: around[name] for name in sorted(names) if name not in views and name in around}


def parent_pin(source: Source, position: Position, fingerprint: str) -> Pinned:
    """A parent as its children read it: at the last version that changed a row.

    Frontier-only commits and compaction do not move that, so they trigger nobody. When it was
    expired, the newest version holds the same rows.
    """
    head = source.head()
    rows = position.row_version
    wanted = rows or position.version or head.version
    for version in (wanted, position.version or head.version):
        try:
            schema = source.schema_at(version)
        except HistoryExpiredError:
            continue
        moment = head.committed_at if version == head.version else None
        return Pinned(source, Head(head.identity, version, schema, moment), fingerprint, rows)
    return Pinned(source, head, fingerprint, rows)


def point_of(pin: Pinned) -> SourcePoint:
    """What a frontier keeps of a pin."""
    head = pin.head
    version = pin.rows or head.version
    return SourcePoint(head.identity, version, head.committed_at, head.schema.id, pin.fingerprint)


def _sources(
    views: Mapping[str, CompiledView], around: Mapping[str, CompiledView]
) -> list[TableName]:
    stored = {view.storage_name for view in (*views.values(), *around.values())}
    return sorted({name for view in views.values() for name, _ in view.sources} - stored)


def _heads(
    tables: Tables, spark: Session, names: Iterable[TableName]
) -> tuple[dict[TableName, Pinned], dict[TableName, GrebeError]]:
    """All pointers, read until two passes agree; and the tables that have none."""
    sources = {name: tables.source(name, spark) for name in names}
    heads: dict[TableName, Head] = {}
    for _ in range(_PASSES):
        seen: dict[TableName, Head] = {}
        missing: dict[TableName, GrebeError] = {}
        for name, source in sources.items():
            try:
                seen[name] = source.head()
            except GrebeError as error:
                missing[name] = error
        if seen == heads:
            break
        heads = seen
    return {name: Pinned(sources[name], head) for name, head in heads.items()}, missing


def _unfit(outside: Iterable[str], positions: Mapping[str, Position]) -> str | None:
    """Why a parent must not be read as it is, if so."""
    for name in outside:
        position = positions[name]
        if doubts := distrust(position):
            return f"the rows of {name} cannot be trusted ({doubts[0].message})"
        if position.frontier is None:
            return f"{name} was never refreshed"
    return None


@dataclass(frozen=True, slots=True)
class _Shown:
    """Which versions views show of the tables below them."""

    tables: Tables
    spark: Session
    known: Mapping[str, CompiledView]
    positions: Mapping[str, Position]

    def points(self, name: str) -> Points:
        """What a view shows, by what it recorded and by where its parents stand.

        A view whose parents' rows did not change commits nothing, so what it recorded of the
        tables below them stays behind. Where it stands at the last rows of its parents, it shows
        what they show; unless they do not agree, or it reads such a table itself.
        """
        frontier = self.positions[name].frontier
        points = dict(frontier.by_source) if frontier else {}
        # A stream is no table that somebody else could read: each view has its own position in it.
        points = {table: point for table, point in points.items() if not table.startswith(STREAM)}
        later: dict[str, list[SourcePoint]] = {}
        for parent in self.known[name].parents:
            if parent in self.positions:
                recorded = points.get(str(self.known[parent].storage_name))
                for table, point in self._followed(parent, recorded, points).items():
                    later.setdefault(table, []).append(point)
        own = {str(table) for table, _ in self.known[name].sources}
        for table, found in later.items():
            if table not in own and len({(item.identity, item.version) for item in found}) == 1:
                points[table] = found[0]
        return points

    def _followed(self, parent: str, recorded: SourcePoint | None, points: Points) -> Points:
        """What a parent shows now, when a child stands at its last rows; else what it showed."""
        now = self.points(parent)
        version = self.positions[parent].row_version
        if recorded and recorded.version == version and recorded.identity == self.identity(parent):
            return now
        return {table: points[table] for table in now if table in points}

    def identity(self, name: str) -> str:
        """Which table holds the rows of a view."""
        return self.tables.source(self.known[name].storage_name, self.spark).head().identity


def _given(shown: _Shown, outside: Mapping[str, CompiledView]) -> tuple[Points, str | None]:
    """Which versions the parents outside the run show, and why they cannot be read together."""
    given: Points = {}
    by: dict[str, str] = {}
    for name, view in outside.items():
        points = shown.points(name)
        position = shown.positions[name]
        version = position.row_version or position.version
        if version is not None:
            points[str(view.storage_name)] = SourcePoint(shown.identity(name), version, None, "")
        for table, point in points.items():
            known = given.setdefault(table, point)
            by.setdefault(table, name)
            if known.version == point.version and known.identity == point.identity:
                continue
            source = shown.tables.source(_named(table), shown.spark)
            if known.identity != point.identity or not same_rows(
                source, known.version, point.version
            ):
                return given, f'{by[table]} and {name} show different versions of "{table}"'
    return given, None


def _point(position: Position, name: TableName) -> SourcePoint | None:
    return position.frontier.by_source.get(str(name)) if position.frontier else None


def _leads_back(source: Source, before: SourcePoint | None, point: SourcePoint) -> bool:
    """True when a view shows a later version already than the one that it is to read.

    Versions have no order outside of their format, their commits have times. A source that was
    itself rolled back is read at its head, and never asked about here.
    """
    if before is None or before.identity != point.identity or before.version == point.version:
        return False
    if before.committed_at is None or point.committed_at is None:
        return False
    later = before.committed_at >= point.committed_at
    return later and not same_rows(source, point.version, before.version)


def _named(text: str) -> TableName:
    catalog, _, rest = text.partition(".")
    schema, _, name = rest.rpartition(".")
    return TableName(catalog, schema, name)


def _agree(source: Source, point: SourcePoint, head: Head) -> bool:
    return point.identity == head.identity and same_rows(source, point.version, head.version)


def _at(pin: Pinned, point: SourcePoint) -> Head | None:
    """The table as a parent shows it; None when that version is gone."""
    try:
        schema = pin.source.schema_at(point.version)
    except HistoryExpiredError:
        return None
    return Head(point.identity, point.version, schema, point.committed_at)
