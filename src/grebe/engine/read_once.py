"""Rows of a large source that a step needs at both versions: whether to read them once for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from grebe.compiler.algebra.nodes import (
    Aggregate,
    Consolidate,
    Distinct,
    Filter,
    Named,
    Node,
    Projection,
    Scan,
    SemiJoin,
    Small,
    UnionAll,
)
from grebe.compiler.algebra.scalar import conjuncts_of, equated
from grebe.compiler.bind.shared_reads import BothVersions
from grebe.compiler.delta.weighted import SIDE
from grebe.engine.delta_statistics import width_of
from grebe.engine.kept_rows import MOST, is_plain, less
from grebe.engine.source_deltas import SourceDelta
from grebe.formats.base import WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa

LARGE: Final = 1_000_000
"""Rows of a source from which reading it once less is worth a statement and a trip to the driver."""
_FILTERED: Final = 0.25
"""The share of rows that a condition is taken to leave."""


def is_worth_it(both: BothVersions, side: SourceDelta, count: Callable[[Node], int | None]) -> bool:
    """True when few rows of a large source are expected.

    ``count``: how many rows a step or a delta has.
    """
    kinds = {item.id: item.type for item in side.source.schema_at(side.new).columns}
    if any(not is_plain(kinds[side.columns[name]]) for _, name in both.scan.pairs):
        return False
    semi = [item for item in both.keys if not item.anti]
    keys = [list(_key_columns(item, both.scan)) for item in semi]
    stats = side.source.version_stats(
        side.new, [side.columns[name] for name in sorted({name for own in keys for name in own})]
    )
    if stats.rows is None or stats.rows < LARGE:
        return False
    widths = [[width_of(stats.bounds.get(name, ())) or 1 for name in own] for own in keys]
    expected = [
        number * max(1.0, stats.rows / max(own))
        for item, own in zip(semi, widths, strict=True)
        if own and (number := _at_most(item.right, count)) is not None
    ]
    share = _FILTERED if both.is_filtered else 1
    return bool(expected) and min(expected) * share <= MOST


def taken_apart(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows of the new version and of the old one."""
    import pyarrow.compute as pc

    new, changed = (
        rows.filter(pc.equal(rows[SIDE], side)).drop_columns([SIDE]) for side in range(2)
    )
    now = new.drop_columns([WEIGHT])
    return now, less(now, changed.select([*now.column_names, WEIGHT]))


def _key_columns(node: SemiJoin, scan: Scan) -> Iterator[str]:
    sources = dict(scan.pairs)
    for names in filter(None, map(equated, conjuncts_of(node.on))):
        yield from (sources[name] for name in names if name in sources)


def _at_most(node: Node, count: Callable[[Node], int | None]) -> int | None:
    """How many rows a relation has at most, where it is not a join of several."""
    match node:
        case Named() | Scan():
            return count(node)
        case UnionAll():
            counts = [_at_most(item, count) for item in node.branches]
            known = [item for item in counts if item is not None]
            return sum(known) if len(known) == len(counts) else None
        case (
            Filter()
            | Projection()
            | Distinct()
            | Consolidate()
            | Small()
            | Aggregate()
            | SemiJoin()
        ):
            return _at_most(node.inputs[0], count)
    return None
