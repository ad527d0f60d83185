"""What may be thrown away: old versions of sources and views, within what views still need."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from grebe.api.shown import Shown
from grebe.api.standing import Look
from grebe.api.written import Written
from grebe.config import Catalog, TableFormat
from grebe.errors import GrebeError
from grebe.model import SourcePoint, TableName, Version

NEVER = datetime.min.replace(tzinfo=UTC)
"""Before every version."""


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "source": str(self.source),
            "oldest_needed": self.version,
            "committed_at": self.committed_at.isoformat() if self.committed_at else None,
            "current": self.current,
            "needed_by": list(self.views),
            "statement": self.statement,
        }


class Retention(list[Needed], Shown):
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
                ", ".join(item.views),
                item.statement or "nothing to expire",
            )
            for item in self
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [item.to_dict() for item in self]

    __str__ = Shown.__str__
    __repr__ = Shown.__str__


@dataclass(frozen=True, slots=True)
class Vacuumed(Shown):
    """What was removed of a view's history, and what held more back."""

    view: TableName
    older_than: datetime
    kept_for: tuple[str, ...]
    """Views that still read older versions than was asked for."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line."""
        headings = ("view", "removed versions older than", "kept more for")
        return headings, [(self.view, self.older_than.isoformat(), ", ".join(self.kept_for))]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "view": str(self.view),
            "older_than": self.older_than.isoformat(),
            "kept_for": list(self.kept_for),
        }


def points_by_source(
    views: Mapping[str, Written], look: Look
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


def retention(
    views: Mapping[str, Written], look: Look, catalogs: Mapping[str, Catalog]
) -> Retention:
    """The oldest version of every source that any view still needs."""
    storages = {view.facts.storage for view in views.values() if view.facts}
    found = Retention()
    for source, points in sorted(points_by_source(views, look).items()):
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
        statement = expire_statement(catalogs[source.catalog], source, oldest.committed_at)
        found.append(Needed(source, oldest.version, oldest.committed_at, current, names, statement))
    return found


def expire_statement(catalog: Catalog, name: TableName, bound: datetime | None) -> str | None:
    """The statement that removes every version older than a moment, and keeps that one."""
    if bound is None or bound == NEVER:
        return None
    moment = bound.astimezone(UTC)
    match catalog.format:
        case TableFormat.ICEBERG:
            stamp = moment.strftime("%Y-%m-%d %H:%M:%S.%f+00:00")
            table = _literal(_plain(name))
            system = f"`{catalog.spark_name.replace('`', '``')}`.system.expire_snapshots"
            return f"CALL {system}(table => {table}, older_than => TIMESTAMP '{stamp}')"
        case TableFormat.DELTA:
            hours = math.ceil((datetime.now(UTC) - moment) / timedelta(hours=1)) + 1
            return f"VACUUM {name.quoted()} RETAIN {hours} HOURS"
        case TableFormat.DUCKLAKE:
            stamp = moment.strftime("%Y-%m-%d %H:%M:%S.%f+00:00")
            own = "'" + catalog.name.replace("'", "''") + "'"
            return f"CALL ducklake_expire_snapshots({own}, older_than => TIMESTAMPTZ '{stamp}')"
    return None


def bound_of(
    points: Mapping[str, SourcePoint],
    wanted: datetime,
    moment_of: Callable[[Version], datetime | None],
) -> tuple[datetime, tuple[str, ...]]:
    """Up to when versions of a view may go, and which of its readers held that back.

    A reader's version whose time nobody knows may be the oldest: then nothing may go.
    """
    moments = {
        key: point.committed_at or moment_of(point.version) or NEVER
        for key, point in points.items()
    }
    holding = {key: moment for key, moment in moments.items() if moment < wanted}
    return min([wanted, *holding.values()]), tuple(sorted(holding))


def storages_of(name: TableName, tables: Sequence[str]) -> list[TableName]:
    """The storage tables of a view, of any definition, among the tables of its schema."""
    own = re.compile(rf"__grebe_{re.escape(name.name)}_[0-9a-f]{{8}}")
    return [TableName(name.catalog, name.schema, item) for item in tables if own.fullmatch(item)]


def _time(point: SourcePoint) -> datetime:
    # Without a time nothing may be assumed to be newer.
    return point.committed_at or NEVER


def _plain(name: TableName) -> str:
    parts = [*name.schema.split("."), name.name]
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
