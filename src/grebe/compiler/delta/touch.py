"""Keys that a change may have touched, found without looking at values that depend on order.

Law: every key whose rows differ between the old and the new version is in ``touch``; it may hold
more. Below a float sum nothing is compared by value: the keys of everything that went into it
count as touched, whether or not the sum looks the same.
Needs: the key to be a column of the input, or equal to one by a join condition.
Falls back when: no key can be followed from the changed rows to the root
(`order-dependent-value`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from grebe.compiler.algebra.facts import Noise, noise
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    SemiJoin,
    TopK,
    UnionAll,
    Windowed,
)
from grebe.compiler.algebra.scalar import Scalar, column, conjuncts_of, substitute
from grebe.compiler.algebra.try_casts import forgiving
from grebe.compiler.delta.join import is_plain, links
from grebe.compiler.delta.restrict import equal_columns, mark_conjuncts
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import consolidated

Outputs = tuple[tuple[str, Scalar], ...]


class Untouchable(Exception):  # noqa: N818 - control flow inside this file, never seen outside
    """No way leads from the changed rows to the key."""


@dataclass(slots=True)
class Touch:
    """Follows changed rows up to a key."""

    of: Rules
    wide: bool = False
    """Whether to follow keys alone, where that spares computing the change: more keys are found."""
    memo: dict[str, Noise] = field(default_factory=dict)

    def keys(self, node: Node, outputs: Outputs) -> Node:
        """The distinct touched values of some expressions over a node."""
        return Distinct(self.rows(node, outputs))

    def rows(self, node: Node, outputs: Outputs) -> Node:
        """The touched values, as often as they are found; where one raises, any value will do."""
        outputs = tuple((name, forgiving(item) or item) for name, item in outputs)
        facts = noise(node, self.of.types, self.memo)
        used = _columns(item for _, item in outputs)
        if facts.columns & used:
            raise Untouchable
        if facts.silent and not _is_partitioned_by(node, used):
            followed = self._followed_widely(node, outputs) if self.wide else None
            return followed or Projection(consolidated(self.of.change(node)), outputs)
        return self._followed(node, outputs)

    def _followed_widely(self, node: Node, outputs: Outputs) -> Node | None:
        """The keys of the rows below, where what lies between tells little about which changed."""
        if isinstance(node, Filter) or is_plain(node):
            return None
        try:
            return self._followed(node, outputs)
        except Untouchable:
            return None

    def _followed(self, node: Node, outputs: Outputs) -> Node:
        match node:
            case Projection():
                named = dict(node.outputs)
                below = tuple((name, substitute(item, named)) for name, item in outputs)
                return self.rows(node.input, below)
            case Filter() | Distinct():
                return self.rows(node.input, outputs)
            case Aggregate():
                return self._keyed(node.input, node.keys, outputs)
            case Windowed() | TopK():
                return self._keyed(node.input, node.partition, outputs)
            case UnionAll():
                return self._branches(node, outputs)
            case InnerJoin():
                return self._inner(node, outputs)
            case OuterJoin(full=False) | SemiJoin() | MarkJoin():
                return self._from_left(node, outputs)
        raise Untouchable

    def _keyed(self, below: Node, keys: Sequence[str], outputs: Outputs) -> Node:
        if any(not item.columns <= frozenset(keys) for _, item in outputs):
            raise Untouchable
        return self.rows(below, outputs)

    def _branches(self, node: UnionAll, outputs: Outputs) -> Node:
        found = []
        for branch in node.branches:
            own = {
                name: column(item) for name, item in zip(node.names, branch.columns, strict=True)
            }
            moved = tuple((name, substitute(item, own)) for name, item in outputs)
            found.append(self.rows(branch, moved))
        return UnionAll(tuple(found), tuple(name for name, _ in outputs))

    def _inner(self, node: InnerJoin, outputs: Outputs) -> Node:
        found = [
            self._through(node.parts, place, node.on, outputs) for place in range(len(node.parts))
        ]
        return UnionAll(tuple(found), tuple(name for name, _ in outputs))

    def _from_left(self, node: OuterJoin | SemiJoin | MarkJoin, outputs: Outputs) -> Node:
        if any(not item.columns <= frozenset(node.left.columns) for _, item in outputs):
            raise Untouchable
        # A NULL that comes or goes on the right turns marks of all left rows, not only of NULL ones.
        on = mark_conjuncts(node.on) if isinstance(node, MarkJoin) else conjuncts_of(node.on)
        changed_right = self._through((node.left, node.right), 1, on, outputs)
        both = (self.rows(node.left, outputs), changed_right)
        return UnionAll(both, tuple(name for name, _ in outputs))

    def _through(
        self, parts: Sequence[Node], place: int, on: Sequence[Scalar], outputs: Outputs
    ) -> Node:
        """Touched rows of one part; by equalities alone where they reach, else by a join.

        A condition that reads a noisy value says nothing here: it may hold in one computation and
        not in the next. Without it more keys are touched, never fewer.
        """
        own = frozenset(parts[place].columns)
        on = [item for item in on if not item.columns & self._noisy(parts)]
        direct = _carried(outputs, own, equal_columns(on))
        if direct is not None:
            return self.rows(parts[place], direct)
        others = [part for index, part in enumerate(parts) if index != place]
        bound = frozenset(name for part in others for name in part.columns)
        ties = [(mine, theirs) for mine, theirs in links(parts[place].columns, bound, on)]
        wanted = {name for _, item in outputs for name in item.columns if name in own}
        wanted |= {name for mine, _ in ties for name in mine.columns}
        if not ties:
            raise Untouchable
        touched = self.rows(parts[place], tuple((name, column(name)) for name in sorted(wanted)))
        usable = tuple(item for item in on if item.columns <= bound | wanted and item.columns)
        sides = [
            Projection(InnerJoin((touched, *(at(part) for part in others)), usable), outputs)
            for at in (self.of.new, self.of.old)
        ]
        return UnionAll(tuple(sides), tuple(name for name, _ in outputs))

    def _noisy(self, parts: Sequence[Node]) -> frozenset[str]:
        return frozenset().union(*(noise(part, self.of.types, self.memo).columns for part in parts))


def _columns(items: Iterable[Scalar]) -> frozenset[str]:
    return frozenset().union(*(item.columns for item in items))


def _is_partitioned_by(node: Node, used: frozenset[str]) -> bool:
    """True when the touched partitions are known without ranking anything."""
    match node:
        case Projection():
            named = dict(node.outputs)
            return _is_partitioned_by(node.input, _columns(named[name] for name in used))
        case Filter():
            return _is_partitioned_by(node.input, used)
        case Windowed() | TopK():
            return bool(used) and used <= frozenset(node.partition)
    return False


def _carried(
    outputs: Outputs, own: frozenset[str], equal: dict[str, frozenset[str]]
) -> Outputs | None:
    """The outputs as expressions over ``own`` columns, if equalities allow all of them."""
    carried: list[tuple[str, Scalar]] = []
    for name, item in outputs:
        if item.columns <= own:
            carried.append((name, item))
            continue
        names = sorted(equal.get(item.column or "", frozenset()) & own)
        if not names:
            return None
        carried.append((name, column(names[0])))
    return tuple(carried)
