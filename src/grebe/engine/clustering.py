"""In which order rows are stored, so that a small change later finds them in few files.

What people ask for by CLUSTER BY comes first. Without it, groups lie by their keys; the rows of a
join lie in the order of the largest source whose files are in an order themselves, because that
is how its changes arrive. Small tables are one file anyway: sorting them would only cost.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Final, cast

from grebe import thresholds
from grebe.compiler.algebra.key_bounds import origin
from grebe.compiler.algebra.nodes import InnerJoin, walk
from grebe.engine.compiled_view import CompiledView
from grebe.formats.base import KeyBounds, VersionStats

_UNORDERED: Final = ("<", "variant", "binary", "void", "geo")
"""Parts of the names of types by which rows are not sorted."""

Stats = Callable[[str], VersionStats]
"""What metadata says of a source, by its name."""


def order_of(view: CompiledView, stored: int | None, stats: Stats) -> tuple[str, ...]:
    """The columns by which all rows of a view are sorted when they are written anew.

    ``stored`` is how many there were before; nobody knows how many there will be.
    """
    if view.clustered:
        return view.clustered
    expected = stored
    if not expected:
        expected = max((stats(str(name)).rows or 0 for name, _ in view.sources), default=0)
    if expected < thresholds.CLUSTERED_ROWS:
        return ()
    if view.plan.shape.scope:
        kinds = {column.name: column.type.lower() for column in view.stored.columns}
        keys = view.plan.shape.scope
        return tuple(key for key in keys if not any(part in kinds[key] for part in _UNORDERED))
    if any(isinstance(node, InnerJoin) for node in walk(view.plan.build)):
        return _as_a_source(view, stats)
    return ()  # the rows of one table keep the order that they have in it


def _as_a_source(view: CompiledView, stats: Stats) -> tuple[str, ...]:
    """The column that holds the order of the largest source that is in one."""
    found: list[tuple[int, str]] = []
    for name in view.plan.build.columns:
        source = origin(view.plan.build, name)
        if source:
            known = stats(source[0].table)
            if is_ordered(known.bounds.get(source[1], ())):
                found.append((known.rows or 0, name))
    return (max(found, key=lambda item: item[0])[1],) if found else ()


def is_ordered(files: Sequence[KeyBounds]) -> bool:
    """True when the ranges of several files hardly overlap, small files not counted."""
    large = max((file.bytes for file in files), default=0) / 10
    ends = [(file.low, file.high) for file in files if file.bytes >= large]
    for kind in (int, datetime.date):
        if len(ends) > 1 and all(type(end) is kind for pair in ends for end in pair):
            pairs = cast("list[tuple[int, int]]", ends)
            met = sum(low <= last and first <= high for low, high in pairs for first, last in pairs)
            return met <= len(pairs) * thresholds.CLUSTERED_OVERLAP
    return False
