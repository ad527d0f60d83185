"""Are the columns that a view's rows were made from still those that its text means?

Versions of rows do not say: names can be given to other columns without a row being written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grebe.errors import HistoryExpiredError
from grebe.formats.base import Head, Source
from grebe.model import Column, Reason, Schema, SourcePoint, TableName

CHANGED = "schema-changed"


def changed(
    name: TableName, point: SourcePoint, head: Head, used: Iterable[Column], source: Source
) -> Reason | None:
    """Why stored rows do not fit the columns that a definition reads now, if so.

    Args:
        name: the source.
        point: what the rows show of it.
        head: where it is read now.
        used: the columns that the definition reads, as it was compiled over the head.
        source: asked for the columns of before where the point does not say them.
    """
    kept = {column.name: column for column in point.columns or ()}
    unsaid = [column for column in used if column.name not in kept]
    if unsaid and point.schema_id != head.schema.id:
        before = _schema_at(source, point)
        if before is None:  # nor can anything be read that is newer than such a version
            return None if point.columns is None else _gone(name, unsaid[0])
        kept |= {column.name: column for column in before.columns if column.name not in kept}
    elif unsaid:
        kept |= {column.name: column for column in unsaid}
    for column in used:
        if found := _differs(name, kept.get(column.name), column):
            return found
    return None


def drifted(
    name: TableName, point: SourcePoint, head: Head, ids: Sequence[int], source: Source
) -> Reason | None:
    """The same, of a view that nobody compiled now: by the columns that its rows were made from.

    ``ids`` are those of the columns that were read when it was compiled last.
    """
    columns = point.columns
    if columns is None:
        before = None if point.schema_id == head.schema.id else _schema_at(source, point)
        columns = tuple(item for item in before.columns if item.id in ids) if before else ()
    now = {column.name: column for column in head.schema.columns}
    for column in columns:
        if found := _differs(name, column, now.get(column.name)):
            return found
    return None


def _schema_at(source: Source, point: SourcePoint) -> Schema | None:
    try:
        return source.schema_at(point.version)
    except HistoryExpiredError:
        return None


def _differs(name: TableName, before: Column | None, now: Column | None) -> Reason | None:
    if before is None or now is None:
        known = now or before
        return _gone(name, known) if known else None
    if before.id != now.id:
        told = f'column "{now.name}" of table "{name}" is another one than before'
        return Reason(CHANGED, told)
    if before.type != now.type:
        told = f'column "{now.name}" of table "{name}" was {before.type}, now it is {now.type}'
        return Reason(CHANGED, told)
    return None


def _gone(name: TableName, column: Column) -> Reason:
    return Reason(CHANGED, f'column "{column.name}" of table "{name}" is not there under that name')
