"""Inner joins, N-way: one telescoped term per part.

Law: ``d(T1 ⋈ … ⋈ Tn) = Σ_i T1_new ⋈ … ⋈ T(i-1)_new ⋈ dT_i ⋈ T(i+1)_old ⋈ … ⋈ Tn_old``.
A self join is two parts with the same delta. Terms of sources that did not change are dropped.
Needs: the other parts at both versions; each term starts from its delta and reads the others by
the keys it has.
Falls back when: never. A condition over several parts that can raise is evaluated after the
consolidated change of the join without it: telescoping makes pairs that never existed.
Example: ``r JOIN s USING (a)`` -> ``dr ⋈ s_old  +  r_new ⋈ ds``.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain

from sqlglot import exp

from grebe.compiler.algebra.key_bounds import bounded
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import (
    Distinct,
    Filter,
    InnerJoin,
    Node,
    Projection,
    Scan,
    Stored,
    Unnest,
    Values,
)
from grebe.compiler.algebra.raising import can_raise
from grebe.compiler.algebra.scalar import Scalar, all_of
from grebe.compiler.delta.restrict import Pair, restrict
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import key_name, summed, weighted


def change(node: InnerJoin, of: Rules) -> Node:
    """The sum of the terms, one for each part that can change."""
    risky = [item for item in node.on if is_risky(item, node.parts, of.types)]
    if risky:
        safe = InnerJoin(node.parts, tuple(item for item in node.on if item not in risky))
        return of.change(Filter(safe, all_of(risky)))
    return summed(*(_term(node, place, of) for place in range(len(node.parts))))


def is_risky(item: Scalar, parts: Sequence[Node], types: Types) -> bool:
    """True when a condition can raise on a pair of rows that never stood side by side."""
    return any(
        can_raise(tree, types) and _touches_several(tree, parts)
        for tree in item.ast.find_all(exp.Expr)
    )


def _touches_several(tree: exp.Expr, parts: Sequence[Node]) -> bool:
    names = {part.name for part in tree.find_all(exp.Column)}
    return sum(bool(names.intersection(part.columns)) for part in parts) > 1


def _term(node: InnerJoin, place: int, of: Rules) -> Node:
    before = [of.new(part) for part in node.parts[:place]]
    after = [of.old(part) for part in node.parts[place + 1 :]]
    delta = of.change(node.parts[place])
    return weighted(started_from(delta, [*before, *after], node.on), node.columns)


@dataclass(frozen=True, slots=True)
class Equality:
    """A condition that equates two expressions."""

    left: Scalar
    right: Scalar
    null_safe: bool


def equalities(on: Sequence[Scalar]) -> list[Equality]:
    """The equalities among some conditions."""
    return [
        Equality(
            Scalar.of(item.ast.this.copy()),
            Scalar.of(item.ast.expression.copy()),
            isinstance(item.ast, exp.NullSafeEQ),
        )
        for item in on
        if isinstance(item.ast, (exp.EQ, exp.NullSafeEQ))
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A part that is not joined yet, with the conditions that read it."""

    part: Node
    own: frozenset[str]
    equated: tuple[frozenset[str], ...]
    """The columns of the other side of each equality of which one side is over this part."""
    compared: tuple[frozenset[str], ...]
    """The columns of every condition that reads this part."""

    @staticmethod
    def of(part: Node, on: Sequence[Scalar], equal: Sequence[Equality]) -> _Waiting:
        own = frozenset(part.columns)
        sides = [(one.left, one.right) for one in equal] + [(one.right, one.left) for one in equal]
        equated = (
            theirs.columns
            for mine, theirs in sides
            if mine.columns and mine.columns <= own and theirs.columns
        )
        compared = (item.columns for item in on if item.columns & own)
        return _Waiting(part, own, tuple(equated), tuple(compared))

    def connection(self, bound: AbstractSet[str]) -> int:
        """How well it hangs on what is joined already: 2 by an equality, 1 by any condition."""
        if any(theirs <= bound for theirs in self.equated):
            return 2
        return int(
            any(item - self.own <= bound and not item.isdisjoint(bound) for item in self.compared)
        )


def started_from(delta: Node, others: Sequence[Node], on: Sequence[Scalar]) -> Node:
    """The join in an order that begins with the delta and follows equalities."""
    joined, bound = [delta], set(delta.columns)
    equal = equalities(on)
    waiting = [_Waiting.of(part, on, equal) for part in others]
    while waiting:
        following = max(waiting, key=lambda item: item.connection(bound))
        waiting.remove(following)
        joined.append(_narrowed(following.part, joined, on, equal))
        bound.update(following.part.columns)
    return InnerJoin(tuple(joined), tuple(on)) if len(joined) > 1 or on else delta


def links(
    columns: Sequence[str], bound: frozenset[str], on: Sequence[Scalar]
) -> list[tuple[Scalar, Scalar]]:
    """Equalities among conditions, as linked pairs."""
    return linked(columns, bound, equalities(on))


def linked(
    columns: Sequence[str], bound: frozenset[str], equal: Sequence[Equality]
) -> list[tuple[Scalar, Scalar]]:
    """Pairs of equal expressions, the first over ``columns``, the second over ``bound``."""
    own = frozenset(columns)
    found: list[tuple[Scalar, Scalar]] = []
    for item in equal:
        for mine, theirs in ((item.left, item.right), (item.right, item.left)):
            if mine.columns and mine.columns <= own and theirs.columns and theirs.columns <= bound:
                found.append((mine, theirs))
                break
    return found


def _narrowed(
    part: Node, joined: Sequence[Node], on: Sequence[Scalar], equal: Sequence[Equality]
) -> Node:
    """A part that would have to be computed as a whole is computed for the needed keys only.

    A plain one is read by the join itself, and skips the files outside the delta's key range.
    """
    if is_plain(part):
        plain = [item for item in equal if not item.null_safe]
        return bounded(part, linked(part.columns, frozenset(joined[0].columns), plain), joined[0])
    bound = frozenset(chain.from_iterable(item.columns for item in joined))
    known = tuple(item for item in on if item.columns <= bound)
    base = joined[0] if len(joined) == 1 and not known else InnerJoin(tuple(joined), known)
    return narrowed(part, base, linked(part.columns, bound, equal))


def narrowed(part: Node, base: Node, equalities: Sequence[tuple[Scalar, Scalar]]) -> Node:
    """The rows of a part that can meet a row of ``base`` under the given equalities."""
    pairs: list[Pair] = []
    outputs: list[tuple[str, Scalar]] = []
    for place, (mine, theirs) in enumerate(equalities):
        name = key_name(mine.column or f"link_{place}")
        if name not in dict(outputs):
            pairs.append((mine, name))
            outputs.append((name, theirs))
    if not pairs:
        return part
    return restrict(part, Distinct(Projection(base, tuple(outputs))), pairs)


def is_plain(node: Node) -> bool:
    """True when joining it costs no more than reading it: filters and projections of a scan."""
    match node:
        case Scan() | Stored() | Values():
            return True
        case Filter() | Projection() | Unnest():
            return is_plain(node.input)
    return False
