"""One consistent cut for a run: where every view stands, and one version of each source for all.

Positions are read before the heads of the sources. What a position shows was therefore pinned by
its own run before we look, so no window leads back in time; a run that slips in between is met by
the commit's compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from grebe.engine.choice import Pinned
from grebe.engine.tables import Tables
from grebe.engine.views import View
from grebe.errors import GrebeError, HistoryExpiredError
from grebe.formats.base import Head, Session, Source
from grebe.model import Position, SourcePoint, TableName, Version, Window

NOWHERE = Position(None, None)
"""The position of a view without a storage table."""

_PASSES = 5

Points = dict[str, SourcePoint]


@dataclass(frozen=True, slots=True)
class Cut:
    """What one run reads, decided before anything is read."""

    positions: Mapping[str, Position]
    """Of the views of the run, and of the parents that are not part of it."""
    pins: Mapping[TableName, Pinned]
    missing: Mapping[TableName, GrebeError] = field(default_factory=dict)
    """Sources that cannot be opened: the views that read them fail, the others do not."""
    conflict: str | None = None
    """Why the parents outside the run cannot be read together, if so."""


def take(
    tables: Tables, spark: Session, views: Mapping[str, View], around: Mapping[str, View]
) -> Cut:
    """The cut for some views; ``around`` holds all that are known.

    A source that a parent outside the run shows is read as that parent shows it, when only one
    view is refreshed; with several it must be the newest one.
    """
    outside = outside_parents(views, around)
    everybody = {**outside, **views}
    positions = {
        name: tables.position(view.storage_name, spark) or NOWHERE
        for name, view in everybody.items()
    }
    pins, missing = _heads(tables, spark, _sources(views, around))
    found = Cut(positions, pins, missing)
    fresh = [name for name in outside if positions[name].frontier is None]
    if fresh:
        return replace(found, conflict=f"{', '.join(fresh)} was never refreshed")
    given, conflict = _given(tables, spark, outside, positions)
    if conflict:
        return replace(found, conflict=conflict)
    fixed: dict[TableName, Pinned] = {}
    for name, pin in pins.items():
        point = given.get(str(name))
        if point is None or _agree(pin.source, point, pin.head):
            fixed[name] = pin
        elif point.identity != pin.head.identity or len(views) > 1:
            shown = ", ".join(outside)
            return replace(found, conflict=f'"{name}" has moved since {shown} was refreshed')
        else:
            fixed[name] = replace(pin, head=_at(pin, point))
    return replace(found, pins=fixed)


def outside_parents(views: Mapping[str, View], around: Mapping[str, View]) -> dict[str, View]:
    """The direct parents of some views that are not among them."""
    names = {parent for view in views.values() for parent in view.parents}
    return {name: around[name] for name in sorted(names) if name not in views and name in around}


def parent_pin(source: Source, position: Position, fingerprint: str) -> Pinned:
    """A parent as its children read it: at the last version that changed a row.

    Frontier-only commits and compaction do not move that, so they trigger nobody. When it was
    expired, the newest version holds the same rows.
    """
    head = source.head()
    wanted = position.row_version or position.version or head.version
    for version in (wanted, position.version or head.version):
        try:
            schema = source.schema_at(version)
        except HistoryExpiredError:
            continue
        moment = head.committed_at if version == head.version else None
        return Pinned(source, Head(head.identity, version, schema, moment), fingerprint)
    return Pinned(source, head, fingerprint)


def point_of(pin: Pinned) -> SourcePoint:
    """What a frontier keeps of a pin."""
    head = pin.head
    return SourcePoint(
        head.identity, head.version, head.committed_at, head.schema.id, pin.fingerprint
    )


def _sources(views: Mapping[str, View], around: Mapping[str, View]) -> list[TableName]:
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


def _given(
    tables: Tables, spark: Session, outside: Mapping[str, View], positions: Mapping[str, Position]
) -> tuple[Points, str | None]:
    """Which versions the parents outside the run show, and why they cannot be read together."""
    given: Points = {}
    by: dict[str, str] = {}
    for name, view in outside.items():
        position = positions[name]
        shown = dict(position.frontier.by_source) if position.frontier else {}
        version = position.row_version or position.version
        if version is not None:
            identity = tables.source(view.storage_name, spark).head().identity
            shown[str(view.storage_name)] = SourcePoint(identity, version, None, "")
        for table, point in shown.items():
            known = given.setdefault(table, point)
            by.setdefault(table, name)
            if known.version == point.version and known.identity == point.identity:
                continue
            source = tables.source(_named(table), spark)
            if known.identity != point.identity or not _same(source, known.version, point.version):
                return given, f'{by[table]} and {name} show different versions of "{table}"'
    return given, None


def _named(text: str) -> TableName:
    catalog, _, rest = text.partition(".")
    schema, _, name = rest.rpartition(".")
    return TableName(catalog, schema, name)


def _agree(source: Source, point: SourcePoint, head: Head) -> bool:
    return point.identity == head.identity and _same(source, point.version, head.version)


def _same(source: Source, one: Version, two: Version) -> bool:
    """Two versions agree when nothing but maintenance lies between them."""
    if one == two:
        return True
    try:
        return source.window_stats(Window(one, two)).only_maintenance
    except HistoryExpiredError:
        return False


def _at(pin: Pinned, point: SourcePoint) -> Head:
    schema = pin.source.schema_at(point.version)
    return Head(point.identity, point.version, schema, point.committed_at)
