"""Rows of some keys at both versions, from one read: the old ones are the new ones less the change.

Law: ``σ(R_old ⋉ K) = σ(R_new ⋉ K) - σ(dR ⋉ K)`` for a K that is the same in all three.
Where reading R is dear and K is at hand, a step of its own (`ReadBoth`) reads `BothVersions.rows` first;
taken apart, they are handed to the step under their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from grebe import thresholds
from grebe.compiler.algebra.nodes import (
    Aggregate,
    At,
    Consolidate,
    Distinct,
    Filter,
    Named,
    Node,
    Projection,
    RowsNear,
    Scan,
    SemiJoin,
    Small,
    UnionAll,
    walk,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import conjuncts_of, equated
from grebe.compiler.bind.kept_scans import is_kept
from grebe.compiler.bind.known import Known
from grebe.compiler.delta.weighted import plus, summed, with_side
from grebe.compiler.write.steps import Compute, ReadBoth, Step


@dataclass(frozen=True, slots=True)
class BothVersions:
    """Rows of a source that a relation reads at both versions, by keys that are at hand."""

    name: str
    new: Node
    near: RowsNear | None = None
    """Which rows are enough for each of the two scans."""

    @property
    def scan(self) -> Scan:
        """The source."""
        return _scan(self.new)

    @property
    def keys(self) -> tuple[SemiJoin, ...]:
        """The semi joins that say which rows are read."""
        return tuple(item for item in _links(self.new) if isinstance(item, SemiJoin))

    @property
    def is_filtered(self) -> bool:
        """Whether a condition leaves out some of the rows with these keys."""
        return any(isinstance(item, Filter) for item in _links(self.new))

    @property
    def rows(self) -> Node:
        """The new rows and the changed ones, with weights, each with its side."""
        sides = (plus(self.new), _at(self.new, At.DELTA))
        return summed(*(with_side(rows, side) for side, rows in enumerate(sides)))

    @property
    def step(self) -> ReadBoth:
        """The step that reads them."""
        return ReadBoth(self.name, self.rows, self.new.columns)

    def named(self, at: At) -> Named:
        """The rows of a version, once they are computed."""
        return self.step.side(at)


def share_reads(step: Step, known: Known) -> tuple[Step, ...]:
    """A step, and before it the reads that give it a source's rows of both versions at once."""
    if not isinstance(step, Compute):
        return (step,)
    chosen = [both for both in read_twice(step.node) if is_worth_it(both, known)]
    reads = [both.step for both in chosen if not known.is_read(both.named(At.NEW))]
    return (*reads, replace(step, node=read_once(step.node, chosen)))


def is_worth_it(both: BothVersions, known: Known) -> bool:
    """True when few rows of a large source are expected, and they can come to the driver."""
    if known.is_read(both.named(At.NEW)):
        return True
    source = None if known.is_refused(both.name) else known.source(both.scan)
    if source is None or (both.near and is_kept(known.near(both.scan, both.near))):
        return False
    if source.rows is None or source.rows < thresholds.SHARED_SOURCE_ROWS:
        return False
    if not all(source.is_plain(name) for _, name in both.scan.pairs):
        return False
    expected = [
        number * max(1.0, source.rows / max(widths))
        for item in both.keys
        if not item.anti
        and (widths := [source.width(name) or 1 for name in _key_columns(item, both.scan)])
        and (number := _at_most(item.right, known)) is not None
    ]
    share = thresholds.FILTERED_SHARE if both.is_filtered else 1
    return bool(expected) and min(expected) * share <= thresholds.KEPT_ROWS


def _key_columns(node: SemiJoin, scan: Scan) -> Iterator[str]:
    sources = dict(scan.pairs)
    for names in filter(None, map(equated, conjuncts_of(node.on))):
        yield from (sources[name] for name in names if name in sources)


def _at_most(node: Node, known: Known) -> int | None:
    """How many rows a relation has at most, where it is not a join of several."""
    match node:
        case Named() | Scan():
            return known.rows_of(node)
        case UnionAll():
            counts = [_at_most(item, known) for item in node.branches]
            said = [item for item in counts if item is not None]
            return sum(said) if len(said) == len(counts) else None
        case (
            Filter()
            | Projection()
            | Distinct()
            | Consolidate()
            | Small()
            | Aggregate()
            | SemiJoin()
        ):
            return _at_most(node.inputs[0], known)
    return None


def read_twice(node: Node) -> tuple[BothVersions, ...]:
    """The parts of a relation that differ in nothing but the version of the one source they read."""
    found: dict[str, dict[At, Node]] = {}
    for top in _chains(node):
        found.setdefault(_at(top, At.NEW).digest, {})[_scan(top).at] = top
    return tuple(
        BothVersions(f"both_{digest[:12]}", _at(tops[At.NEW], At.NEW), _scan(tops[At.NEW]).near)
        for digest, tops in found.items()
        if len(tops) > 1
    )


def read_once(node: Node, both: Iterable[BothVersions]) -> Node:
    """The relation with these parts taken from what was computed before."""
    return _replaced(node, {item.new.digest: item for item in both})


def _replaced(node: Node, both: Mapping[str, BothVersions]) -> Node:
    if _is_chain(node):
        found = both.get(_at(node, At.NEW).digest)
        if found:
            return found.named(_scan(node).at)
    return rebuilt(node, lambda item: _replaced(item, both))


def _chains(node: Node) -> Iterator[Node]:
    if _is_chain(node):
        yield node
    else:
        for item in node.inputs:
            yield from _chains(item)


def _is_chain(node: Node) -> bool:
    """Filters and semi joins with what is at hand, down to a version of a source."""
    links = list(_links(node))
    semi = [item for item in links[:-1] if isinstance(item, SemiJoin)]
    end = links[-1]
    return (
        isinstance(end, Scan)
        and end.at in (At.NEW, At.OLD)
        and any(not item.anti for item in semi)
        and all(_is_at_hand(item.right) for item in semi)
    )


def _links(node: Node) -> Iterator[Node]:
    yield node
    while isinstance(node, Filter | SemiJoin):
        node = node.inputs[0]
        yield node


def _is_at_hand(node: Node) -> bool:
    leaves = [item for item in walk(node) if not item.inputs]
    return all(
        isinstance(item, Named) or (isinstance(item, Scan) and item.at is At.DELTA)
        for item in leaves
    )


def _scan(node: Node) -> Scan:
    end = list(_links(node))[-1]
    assert isinstance(end, Scan)
    return end


def _at(node: Node, at: At) -> Node:
    """The chain at another version, or over the change."""
    if isinstance(node, Scan):
        return replace(node, at=at, near=None)
    if isinstance(node, SemiJoin):
        return replace(node, left=_at(node.left, at))
    return rebuilt(node, lambda item: _at(item, at))
