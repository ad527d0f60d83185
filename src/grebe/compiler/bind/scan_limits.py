"""Which rows of a source are near a change: all that a scan of a refresh has to give.

Law: where a column must equal one whose values all come from deltas, only rows with such a value
matter. A scan is told which rows are enough; it may give more, so the plan stays right whatever
the engine makes of it. What many scans need can be read once for all of them.

A limit on a column means: rows with another value may be left out below, and nothing changes
above. It goes down where `restrict` may push a semi join, and for the same reasons. Values are
compared null-safe, and only columns of one type are: an equality of two types is not transitive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import (
    Aggregate,
    At,
    Consolidate,
    Distinct,
    Empty,
    Filter,
    InnerJoin,
    MarkJoin,
    Named,
    Node,
    OuterJoin,
    Projection,
    Repeat,
    RowsNear,
    Scan,
    SemiJoin,
    SetOperation,
    Small,
    TopK,
    UnionAll,
    Unnest,
    Windowed,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import Scalar, all_of, column, conjuncts_of, equals, equated
from grebe.compiler.bind.situation import Situation, Steps
from grebe.compiler.bind.sizes import SideSizes
from grebe.compiler.delta.restrict import mark_conjuncts
from grebe.compiler.write.steps import Compute, Step


@dataclass(frozen=True, slots=True)
class Drawn:
    """The deltas' columns that all values of a column come from, and their type."""

    kind: str
    deltas: frozenset[tuple[str, str]]


Limits = Mapping[str, Drawn]

_PLAIN: Final = frozenset({"STRING", "VARCHAR", "DATE"})
"""Types besides exact numbers whose values are equal in one way only."""


def limit_scans(steps: Steps, situation: Situation) -> Steps:
    """The steps with every scan told which rows are enough."""
    facts = situation.facts
    return near(steps, situation.plan.types, facts.sizes, facts.never_null)


def near(
    steps: Sequence[Step],
    types: Types,
    sizes: SideSizes,
    never_null: Collection[tuple[str, str]] = (),
) -> tuple[Step, ...]:
    """The steps with every scan told which rows are enough, where that is known.

    ``never_null``: columns of deltas that hold no NULL; to equal one of them, a plain equality
    will do, and an engine finds rows by it much faster.
    """
    search = _Search(types, sizes, never_null)
    found: list[Step] = []
    for step in steps:
        found.append(replace(step, node=search.limited(step.node, {})))
        if isinstance(step, Compute):
            search.steps[step.name] = step.node
    return tuple(found)


@dataclass(slots=True)
class _Search:
    types: Types
    sizes: SideSizes
    never_null: Collection[tuple[str, str]]
    steps: dict[str, Node] = field(default_factory=dict)
    known: dict[tuple[str, str], Drawn | None] = field(default_factory=dict)
    done: dict[tuple[str, frozenset[tuple[str, Drawn]]], Node] = field(default_factory=dict)

    def limited(self, node: Node, limits: Limits) -> Node:
        """The relation, without rows that the limits make superfluous."""
        key = (node.digest, frozenset(limits.items()))
        if key not in self.done:
            self.done[key] = self._limited(node, limits)
        return self.done[key]

    def _limited(self, node: Node, limits: Limits) -> Node:
        match node:
            case Scan():
                return self._scan(node, limits)
            case InnerJoin():
                return self._inner(node, limits)
            case OuterJoin(full=False) | SemiJoin() | MarkJoin():
                return self._from_left(node, limits)
            case UnionAll() | SetOperation():
                return rebuilt(node, lambda item: self.limited(item, _by_place(node, item, limits)))
            case Empty():
                return node
        return self._below(node, _handed_down(node, limits))

    def _below(self, node: Node, limits: Limits) -> Node:
        return rebuilt(node, lambda item: self.limited(item, limits))

    def _scan(self, node: Scan, limits: Limits) -> Node:
        fitting = {
            source: limits[name]
            for name, source in node.pairs
            if name in limits and limits[name].kind == self._kind([node], name)
        }
        if node.at is At.DELTA or not fitting:
            return node
        best = min(fitting, key=lambda name: (self._size(fitting[name]), name))
        return replace(node, near=RowsNear(best, tuple(sorted(fitting[best].deltas))))

    def _size(self, drawn: Drawn) -> int:
        return sum(self.sizes.changed.get(table, 0) for table, _ in drawn.deltas)

    def _inner(self, node: InnerJoin, limits: Limits) -> Node:
        return rebuilt(
            node,
            lambda part: self.limited(
                part, self._tied(part, [p for p in node.parts if p is not part], node.on, limits)
            ),
        )

    def _from_left(self, node: OuterJoin | SemiJoin | MarkJoin, limits: Limits) -> Node:
        """The left side keeps its rows; the right side matters only where it can meet them."""
        on = mark_conjuncts(node.on) if isinstance(node, MarkJoin) else conjuncts_of(node.on)
        mine = _among(limits, node.left.columns)
        filters = isinstance(node, SemiJoin) and not node.anti
        left = self._tied(node.left, [node.right], on, mine) if filters else mine
        right = self._tied(node.right, [node.left], on, mine)
        limited = replace(
            node, left=self.limited(node.left, left), right=self.limited(node.right, right)
        )
        return replace(limited, on=self._plain(node)) if isinstance(node, SemiJoin) else limited

    def _plain(self, node: SemiJoin) -> Scalar:
        """The condition with plain equalities where no NULL can be met."""
        return all_of(
            equals(*map(column, names)) if names and self._is_never_null(node, names) else item
            for item in conjuncts_of(node.on)
            for names in [equated(item)]
        )

    def _is_never_null(self, node: SemiJoin, names: Sequence[str]) -> bool:
        found = [self.drawn([node.right], name) for name in names]
        return any(item and item.deltas <= frozenset(self.never_null) for item in found)

    def _tied(
        self, part: Node, others: Sequence[Node], on: Sequence[Scalar], limits: Limits
    ) -> dict[str, Drawn]:
        """The limits of a part: its own, and what equalities with other parts say."""
        found = _among(limits, part.columns)
        for own, other in _pairs(on, part.columns):
            drawn = self.drawn(others, other)
            if (
                drawn is None
                and other in limits
                and self._kind(others, other) == limits[other].kind
            ):
                drawn = limits[other]
            if drawn and (own not in found or self._size(drawn) < self._size(found[own])):
                found[own] = drawn
        return found

    def drawn(self, parts: Iterable[Node], name: str) -> Drawn | None:
        """Where the values of a column of some relations come from, if only from deltas."""
        part = next((item for item in parts if name in item.columns), None)
        if part is None:
            return None
        key = (part.digest, name)
        if key not in self.known:
            self.known[key] = self._drawn(part, name)
        return self.known[key]

    def _drawn(self, node: Node, name: str) -> Drawn | None:
        match node:
            case Scan(at=At.DELTA):
                kind = self._kind([node], name)
                source = (node.table, dict(node.pairs).get(name, ""))
                return Drawn(kind, frozenset({source})) if kind else None
            case UnionAll():
                return self._drawn_by_all(node, name)
            case InnerJoin():
                return self._drawn_by_any(node.parts, node.on, name)
            case SemiJoin(anti=False):
                return self._drawn_by_any((node.left, node.right), conjuncts_of(node.on), name)
        below = self._copied(node, name)
        return self.drawn([below[0]], below[1]) if below else None

    def _copied(self, node: Node | None, name: str) -> tuple[Node, str] | None:
        """The relation below and its column that a column is a copy of, in every row."""
        match node:
            case Named():
                return (self.steps[node.step], name) if node.step in self.steps else None
            case Projection():
                item = dict(node.outputs)[name].column
                return (node.input, item) if item else None
            case Aggregate():
                return (node.input, name) if name in node.keys else None
            case Filter() | Distinct() | Consolidate() | Repeat() | Small() | TopK():
                return node.input, name
            case Unnest() | Windowed():
                return (node.input, name) if name in node.input.columns else None
            case OuterJoin(full=False) | SemiJoin() | MarkJoin():
                return (node.left, name) if name in node.left.columns else None
        return None

    def _drawn_by_all(self, node: UnionAll, name: str) -> Drawn | None:
        place = node.names.index(name)
        branches = [item for item in node.branches if not isinstance(item, Empty)]
        found = [self.drawn([branch], branch.columns[place]) for branch in branches]
        known = [item for item in found if item]
        if not known or len(known) < len(found) or len({item.kind for item in known}) > 1:
            return None
        return Drawn(known[0].kind, frozenset().union(*(item.deltas for item in known)))

    def _drawn_by_any(self, parts: Sequence[Node], on: Sequence[Scalar], name: str) -> Drawn | None:
        """The column's own origin, or that of one that it must equal."""
        found = [self.drawn(parts, name)]
        kind = self._kind(parts, name)
        if kind:
            equal = [self.drawn(parts, other) for _, other in _pairs(on, (name,))]
            found += [item for item in equal if item and item.kind == kind]
        known = [item for item in found if item]
        return min(known, key=lambda item: (self._size(item), sorted(item.deltas)), default=None)

    def _kind(self, parts: Sequence[Node], name: str) -> str | None:
        """The type of a column that is a copy of a source's."""
        node = next((item for item in parts if name in item.columns), None)
        if isinstance(node, Scan):
            kind = self.types.of(column(name)) or ""
            return kind if self.types.exact(column(name)) or kind in _PLAIN else None
        if isinstance(node, InnerJoin):
            return self._kind(node.parts, name)
        below = self._copied(node, name)
        return self._kind([below[0]], below[1]) if below else None


def _handed_down(node: Node, limits: Limits) -> dict[str, Drawn]:
    """The limits of the one relation that an operator is made from."""
    match node:
        case Filter() | Distinct() | Consolidate() | Repeat() | Small():
            return dict(limits)
        case Unnest():
            return _among(limits, node.input.columns)
        case Projection():
            items = ((item.column, name) for name, item in node.outputs if name in limits)
            return {own: limits[name] for own, name in items if own}
        case Aggregate():
            return _among(limits, node.keys)
        case Windowed() | TopK():
            return _among(limits, node.partition)
    return {}


def _among(limits: Limits, columns: Sequence[str]) -> dict[str, Drawn]:
    return {name: limits[name] for name in columns if name in limits}


def _by_place(node: UnionAll | SetOperation, branch: Node, limits: Limits) -> dict[str, Drawn]:
    pairs = zip(node.names, branch.columns, strict=True)
    return {own: limits[name] for name, own in pairs if name in limits}


def _pairs(on: Sequence[Scalar], columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Equal columns, the first one of ``columns``, the second one of another relation."""
    own = frozenset(columns)
    for names in filter(None, map(equated, on)):
        for mine, other in (names, names[::-1]):
            if mine in own and other not in own:
                yield mine, other
