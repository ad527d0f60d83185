"""What may be thrown away: old versions of sources and views, within what views still need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grebe.engine.heads import NEVER, Heads
from grebe.errors import GrebeError
from grebe.formats.base import OWN
from grebe.model import SourcePoint, TableName, Version
from grebe.project.definitions import Definition
from grebe.project.past_runs import named
from grebe.tabular import Tabular


@dataclass(frozen=True, slots=True)
class Needed:
    """The oldest version of a source that some view still needs."""

    source: TableName
    version: Version
    committed_at: datetime | None
    current: Version | None
    views: tuple[str, ...]
    """The views that stand at that version."""
    statement: str | None
    """What to run to expire everything older; None when there is nothing to expire."""
    setting: str | None = None
    """A SET to run before it, without which it is refused."""
    until: datetime | None = None
    """Until when the statement may be run: later it would take what is needed. None: for ever."""

    @property
    def text(self) -> str:
        """What to run, and until when, in one line."""
        if self.statement is None:
            return "nothing to expire"
        text = "; ".join(part for part in (self.setting, self.statement) if part)
        return f"{text}  -- until {self.until:%Y-%m-%d %H:%M %Z}" if self.until else text

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "source": str(self.source),
            "oldest_needed": self.version,
            "committed_at": self.committed_at.isoformat() if self.committed_at else None,
            "current": self.current,
            "needed_by": list(self.views),
            "statement": self.statement,
            "setting": self.setting,
            "until": self.until.isoformat() if self.until else None,
        }


class Retention(list[Needed], Tabular):
    """The bound of every source, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per source."""
        headings = ("source", "oldest needed", "since", "current", "needed by", "expire safely by")
        return headings, [
            (
                item.source,
                item.version,
                item.committed_at.strftime("%Y-%m-%d %H:%M:%S") if item.committed_at else "",
                item.current or "gone",
                tuple(named(view) for view in item.views),
                item.text,
            )
            for item in self
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [item.to_dict() for item in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


@dataclass(frozen=True, slots=True)
class Vacuumed(Tabular):
    """What was removed of a view's history, and what held more back."""

    view: TableName
    older_than: datetime
    kept_for: tuple[str, ...]
    """Views that still read older versions than was asked for."""
    removed: tuple[TableName, ...] = ()
    """Storage tables of former definitions that nobody reads any more."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line."""
        headings = ("view", "removed versions older than", "kept more for", "removed tables")
        kept = ", ".join(self.kept_for)
        older = self.older_than.strftime("%Y-%m-%d %H:%M:%S")
        return headings, [(self.view, older, kept, len(self.removed) or "")]

    def wide_rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """The same, with the names of the tables."""
        headings, (row,) = self.rows()
        return headings, [(*row[:3], ", ".join(item.name for item in self.removed))]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "view": str(self.view),
            "older_than": self.older_than.isoformat(),
            "kept_for": list(self.kept_for),
            "removed": [str(item) for item in self.removed],
        }


class AllVacuumed(list[Vacuumed], Tabular):
    """What was removed of the histories of a selection, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per view."""
        headings, _ = Vacuumed(TableName("", "", ""), NEVER, ()).rows()
        return headings, [row for item in self for row in item.rows()[1]]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [item.to_dict() for item in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


def points_by_source(
    views: Mapping[str, Definition], look: Heads
) -> dict[TableName, dict[str, SourcePoint]]:
    """For every source, where each view that reads it stands."""
    found: dict[TableName, dict[str, SourcePoint]] = {}
    for key, view in views.items():
        if view.facts is None or view.facts.storage is None:
            continue
        position = look.position(view.facts.storage)
        if position is None or position.frontier is None:
            continue
        points = position.frontier.by_source
        for source in view.facts.sources:
            point = points.get(str(source.name))
            if point is not None:
                found.setdefault(source.name, {})[key] = point
    return found


def retention(views: Mapping[str, Definition], look: Heads) -> Retention:
    """The oldest version of every source that any view still needs."""
    storages = {view.facts.storage for view in views.values() if view.facts}
    found = Retention()
    by_source = points_by_source(views, look)
    for source, points in sorted(by_source.items()):
        if source in storages:
            continue  # a view's own history is kept by `vacuum`
        oldest = min(points.values(), key=_time)
        try:
            current: Version | None = look.head(source).version
        except GrebeError:
            current = None
        names = tuple(
            sorted(key for key, point in points.items() if point.version == oldest.version)
        )
        bound = _bound(source, by_source, look)
        way = look.tables.expiry(source, bound) if bound != NEVER else None
        found.append(
            Needed(
                source,
                oldest.version,
                oldest.committed_at,
                current,
                names,
                way.statement if way else None,
                way.setting if way else None,
                way.until if way else None,
            )
        )
    return found


def _bound(
    source: TableName, by_source: Mapping[TableName, Mapping[str, SourcePoint]], look: Heads
) -> datetime:
    """The oldest moment that is needed of what expires together with a source."""
    tables = _together(source, by_source, look)
    return min(look.moment(name, point) for name in tables for point in by_source[name].values())


def _together(source: TableName, names: Iterable[TableName], look: Heads) -> list[TableName]:
    """The tables whose versions go when those of one go."""
    if not look.tables.one_history(source):
        return [name for name in names if name == source]
    return [name for name in names if name.catalog == source.catalog]


def needed_since(storage: TableName, look: Heads, when: datetime) -> datetime:
    """When that was committed which was shown at a moment: all that was shown since is still there."""
    version = look.tables.version_at(storage, when, look.session)
    moment = look.tables.moment(storage, version, look.session) if version else None
    return min(when, moment) if moment else when


def bound_of(
    storage: TableName, views: Mapping[str, Definition], look: Heads, wanted: datetime
) -> tuple[datetime, tuple[str, ...]]:
    """Up to when versions of a view may go, and which other views held that back.

    A version whose time nobody knows may be the oldest: then nothing may go.
    """
    needed = [*_read_of(storage, views, look), *_proofs_beside(storage, views, look)]
    holding = [(key, moment) for key, moment in needed if moment < wanted]
    own = {key for key, view in views.items() if view.facts and view.facts.storage == storage}
    names = {key for key, _ in holding} - own
    return min([wanted, *(moment for _, moment in holding)]), tuple(sorted(names))


def _read_of(
    storage: TableName, views: Mapping[str, Definition], look: Heads
) -> Iterator[tuple[str, datetime]]:
    """When that was committed which each view shows of this one, or of what expires with it."""
    alone = not look.tables.one_history(storage)
    # Of a history of its own only those are asked that read it: others may be out of reach.
    asked = {key: view for key, view in views.items() if not alone or _reads(view, storage)}
    by_source = points_by_source(asked, look)
    for name in _together(storage, by_source, look):
        for key, point in by_source[name].items():
            # The newest version of a table is never removed from a history of its own.
            if not (alone and point.version == look.head(name).version):
                yield key, look.moment(name, point)


def _reads(view: Definition, source: TableName) -> bool:
    return view.facts is not None and any(item.name == source for item in view.facts.sources)


def _proofs_beside(
    storage: TableName, views: Mapping[str, Definition], look: Heads
) -> Iterator[tuple[str, datetime]]:
    """When the views that share a history were written last: what came since proves their rows."""
    if not look.tables.one_history(storage):
        return
    for key, view in views.items():
        name = view.facts.storage if view.facts else None
        position = look.position(name) if name and name.catalog == storage.catalog else None
        if name is not None and position is not None and position.frontier is not None:
            yield key, look.moment(name, position)


def storages_of(name: TableName, tables: Iterable[TableName]) -> list[TableName]:
    """The storage tables of a view, of any definition, among those of its schema."""
    own = re.compile(rf"{OWN}{re.escape(name.name)}_[0-9a-f]{{8}}")
    return [item for item in tables if own.fullmatch(item.name)]


def former_storages(
    view: Definition, views: Mapping[str, Definition], look: Heads, wanted: datetime
) -> list[TableName]:
    """Storage tables of a view's former definitions that were out of use by a moment.

    Whoever began to read one before the name moved may read it for as long as versions are kept.
    """
    own = view.facts.storage if view.facts else None
    if own is None or look.shown(view.name) != own:
        return []
    if look.tables.version_at(own, wanted, look.session) is None:
        return []  # the rows that are shown now came later
    read = {source.name for item in views.values() if item.facts for source in item.facts.sources}
    there = look.tables.stored(own.catalog, look.session, own.schema)
    return [
        item
        for item in storages_of(view.name, there)
        if item != own and item not in read and _is_done(item, look, wanted)
    ]


def _is_done(storage: TableName, look: Heads, wanted: datetime) -> bool:
    """False for one that was filled since, or is about to be."""
    position = look.position(storage)
    made = look.head(storage).committed_at
    return position is not None and position.frontier is not None and bool(made and made <= wanted)


def _time(point: SourcePoint) -> datetime:
    # Without a time nothing may be assumed to be newer.
    return point.committed_at or NEVER
