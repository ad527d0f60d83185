"""Joins in one form: conditions where they belong, nested inner joins as one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grebe.compiler.algebra.nodes import (
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    SemiJoin,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import FALSE, TRUE, Scalar, all_of, conjuncts_of, substitute


def simplified(node: Node) -> Node:
    """The same relation with filters pushed to where their columns come from."""
    return _Simplifier({}, {}).visit(node)


@dataclass(frozen=True, slots=True)
class _Simplifier:
    done: dict[str, Node]
    parts: dict[str, tuple[Scalar, ...]]
    """Conjuncts by the text of the conjunction: taking one apart costs more than it seems."""

    def conjuncts(self, predicate: Scalar) -> tuple[Scalar, ...]:
        found = self.parts.get(predicate.text)
        if found is None:
            found = self.parts[predicate.text] = conjuncts_of(predicate)
        return found

    def joined_text(self, conjuncts: list[Scalar]) -> Scalar:
        whole = all_of(conjuncts)
        self.parts[whole.text] = tuple(conjuncts)
        return whole

    def visit(self, node: Node) -> Node:
        done = self.done.get(node.digest)
        if done is None:
            done = self.done[node.digest] = self.step(rebuilt(node, self.visit))
        return done

    def step(self, node: Node) -> Node:
        if isinstance(node, Filter):
            return self.filtered(node.input, list(self.conjuncts(node.predicate)))
        if isinstance(node, InnerJoin):
            return self.joined(list(node.parts), list(node.on))
        return node

    def filtered(self, node: Node, conjuncts: list[Scalar]) -> Node:
        wanted = [item for item in conjuncts if item != TRUE]
        if not wanted:
            return node
        match node:
            case Filter():
                below = [*self.conjuncts(node.predicate), *wanted]
                return self.filtered(node.input, list(dict.fromkeys(below)))
            case InnerJoin():
                return self.joined(list(node.parts), [*node.on, *wanted])
            case OuterJoin() if not node.full:
                return self.pushed_left(node, wanted)
            case SemiJoin() | MarkJoin():
                return self.pushed_left(node, wanted)
            case Projection():
                return self.through(node, wanted)
        return Filter(node, self.joined_text(wanted))

    def through(self, node: Projection, conjuncts: list[Scalar]) -> Node:
        """Below a projection go the conditions that read only columns it hands on."""
        handed = {name: item for name, item in node.outputs if item.column is not None}
        down = [item for item in conjuncts if item.columns and item.columns <= handed.keys()]
        stay = [item for item in conjuncts if item not in down]
        lower: Node = node
        if down:
            below = self.filtered(node.input, [substitute(item, handed) for item in down])
            lower = replace(node, input=below)
        return Filter(lower, self.joined_text(stay)) if stay else lower

    def pushed_left(self, node: OuterJoin | SemiJoin | MarkJoin, conjuncts: list[Scalar]) -> Node:
        have = set(node.left.columns)
        down = [item for item in conjuncts if item.columns and item.columns <= have]
        stay = [item for item in conjuncts if item not in down]
        if not down:
            return Filter(node, self.joined_text(stay))
        left = self.filtered(node.left, down)
        lower = replace(node, left=left)
        return Filter(lower, self.joined_text(stay)) if stay else lower

    def joined(self, parts: list[Node], on: list[Scalar]) -> Node:
        """One join of all parts of nested joins; a condition on one part becomes its filter."""
        flat: list[Node] = []
        conditions: list[Scalar] = []
        for part in parts:
            inner, extra = self.opened(part)
            flat += inner
            conditions += extra
        conditions += [piece for item in on for piece in self.conjuncts(item)]
        conditions = [item for item in dict.fromkeys(conditions) if item != TRUE]
        alone: dict[int, list[Scalar]] = {}
        kept: list[Scalar] = []
        for item in conditions:
            owner = _owner(flat, item)
            if owner is None:
                kept.append(item)
            else:
                alone.setdefault(owner, []).append(item)
        done = [self.filtered(part, alone.get(index, [])) for index, part in enumerate(flat)]
        return InnerJoin(tuple(done), tuple(kept))

    def opened(self, part: Node) -> tuple[list[Node], list[Scalar]]:
        """The parts and conditions of an inner join that stands inside another."""
        if isinstance(part, InnerJoin):
            return list(part.parts), list(part.on)
        if isinstance(part, Filter) and isinstance(part.input, InnerJoin):
            inner = part.input
            return list(inner.parts), [*inner.on, *self.conjuncts(part.predicate)]
        return [part], []


def _owner(parts: list[Node], item: Scalar) -> int | None:
    """The one part that has all columns of a condition."""
    if not item.columns:
        return 0 if item == FALSE else None
    for index, part in enumerate(parts):
        if item.columns <= set(part.columns):
            return index
    return None
