"""Joins in one form: conditions where they belong, nested inner joins as one."""

from __future__ import annotations

from grebe.compiler.nodes import Filter, InnerJoin, MarkJoin, Node, OuterJoin, SemiJoin
from grebe.compiler.pin import rebuilt
from grebe.compiler.scalar import FALSE, TRUE, Scalar, all_of, conjuncts_of


def simplified(node: Node) -> Node:
    """The same relation with filters pushed to where their columns come from."""
    memo: dict[str, Node] = {}

    def visit(current: Node) -> Node:
        done = memo.get(current.digest)
        if done is None:
            done = memo[current.digest] = _step(rebuilt(current, visit))
        return done

    return visit(node)


def _step(node: Node) -> Node:
    if isinstance(node, Filter):
        return _filtered(node.input, list(conjuncts_of(node.predicate)))
    if isinstance(node, InnerJoin):
        return _joined(list(node.parts), list(node.on))
    return node


def _filtered(node: Node, conjuncts: list[Scalar]) -> Node:
    wanted = [item for item in conjuncts if item != TRUE]
    if not wanted:
        return node
    match node:
        case Filter():
            return _filtered(node.input, [*conjuncts_of(node.predicate), *wanted])
        case InnerJoin():
            return _joined(list(node.parts), [*node.on, *wanted])
        case OuterJoin() if not node.full:
            return _pushed_left(node, wanted)
        case SemiJoin() | MarkJoin():
            return _pushed_left(node, wanted)
    return Filter(node, all_of(wanted))


def _pushed_left(node: OuterJoin | SemiJoin | MarkJoin, conjuncts: list[Scalar]) -> Node:
    have = set(node.left.columns)
    down = [item for item in conjuncts if item.columns and item.columns <= have]
    stay = [item for item in conjuncts if item not in down]
    if not down:
        return Filter(node, all_of(stay))
    left = _filtered(node.left, down)
    lower = rebuilt(node, lambda child: left if child is node.left else child)
    return Filter(lower, all_of(stay)) if stay else lower


def _joined(parts: list[Node], on: list[Scalar]) -> Node:
    """One join of all parts of nested joins; a condition on one part becomes its filter."""
    flat: list[Node] = []
    conditions: list[Scalar] = []
    for part in parts:
        inner, extra = _opened(part)
        flat += inner
        conditions += extra
    conditions += [piece for item in on for piece in conjuncts_of(item)]
    conditions = [item for item in dict.fromkeys(conditions) if item != TRUE]
    alone: dict[int, list[Scalar]] = {}
    kept: list[Scalar] = []
    for item in conditions:
        owner = _owner(flat, item)
        if owner is None:
            kept.append(item)
        else:
            alone.setdefault(owner, []).append(item)
    done = [_filtered(part, alone.get(index, [])) for index, part in enumerate(flat)]
    if len(done) == 1:
        return _filtered(done[0], kept)
    return InnerJoin(tuple(done), tuple(kept))


def _opened(part: Node) -> tuple[list[Node], list[Scalar]]:
    """The parts and conditions of an inner join that stands inside another."""
    if isinstance(part, InnerJoin):
        return list(part.parts), list(part.on)
    if isinstance(part, Filter) and isinstance(part.input, InnerJoin):
        return list(part.input.parts), [*part.input.on, *conjuncts_of(part.predicate)]
    return [part], []


def _owner(parts: list[Node], item: Scalar) -> int | None:
    if not item.columns:
        return 0 if item == FALSE else None
    for index, part in enumerate(parts):
        if item.columns <= set(part.columns):
            return index
    return None
