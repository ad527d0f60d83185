"""Only the columns that are used, and with them the tie-breaks that make orders total."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    Order,
    OuterJoin,
    Projection,
    Scan,
    SemiJoin,
    SetOperation,
    TopK,
    UnionAll,
    Unnest,
    Values,
    Windowed,
)
from grebe.compiler.algebra.scalar import Scalar, column, substitute
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import quoted
from grebe.compiler.lower.ties import Ties, rows_frame, ties_of, whole_partition
from grebe.errors import InternalError
from grebe.sql_text import made


def pruned(context: Context, node: Node, columns: Iterable[str]) -> Node:
    """The relation with exactly these columns, and nothing below that they do not need."""
    return _Pruner(context).exactly(node, tuple(columns))


@dataclass(frozen=True, slots=True)
class _Pruner:
    context: Context

    def exactly(self, node: Node, columns: tuple[str, ...]) -> Node:
        done = self.visit(node, frozenset(columns))
        if done.columns == columns:
            return done
        return self.project(done, tuple((name, column(name)) for name in columns))

    def visit(self, node: Node, needed: frozenset[str]) -> Node:
        """The relation with at least these columns."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise InternalError.broken(f"no pruning for {type(node).__name__}")
        return rule(self, node, needed)

    def scan(self, node: Scan, needed: frozenset[str]) -> Node:
        kept = tuple(pair for pair in node.pairs if pair[0] in needed)
        return replace(node, pairs=kept or node.pairs[:1])

    def values(self, node: Values, _: frozenset[str]) -> Node:
        return node

    def filter(self, node: Filter, needed: frozenset[str]) -> Node:
        return replace(node, input=self.visit(node.input, needed | node.predicate.columns))

    def inner(self, node: InnerJoin, needed: frozenset[str]) -> Node:
        wanted = needed.union(*(item.columns for item in node.on))
        return replace(node, parts=tuple(self.visit(part, wanted) for part in node.parts))

    def outer(self, node: OuterJoin, needed: frozenset[str]) -> Node:
        return self.binary(node, needed | node.on.columns, needed | node.on.columns)

    def semi(self, node: SemiJoin, needed: frozenset[str]) -> Node:
        return self.binary(node, needed | node.on.columns, node.on.columns)

    def mark(self, node: MarkJoin, needed: frozenset[str]) -> Node:
        if node.name not in needed:
            return self.visit(node.left, needed)
        return self.binary(node, needed | node.on.columns, node.on.columns)

    def set_operation(self, node: SetOperation, _: frozenset[str]) -> Node:
        left = self.exactly(node.left, node.left.columns)
        right = self.exactly(node.right, node.right.columns)
        return replace(node, left=left, right=right)

    def distinct(self, node: Distinct, _: frozenset[str]) -> Node:
        return Distinct(self.exactly(node.input, node.input.columns))

    def unnest(self, node: Unnest, needed: frozenset[str]) -> Node:
        wanted = (needed | node.collection.columns) & set(node.input.columns)
        return replace(node, input=self.visit(node.input, frozenset(wanted)))

    def binary(
        self, node: OuterJoin | SemiJoin | MarkJoin, left: frozenset[str], right: frozenset[str]
    ) -> Node:
        return replace(node, left=self.visit(node.left, left), right=self.visit(node.right, right))

    def projected(self, node: Projection, needed: frozenset[str]) -> Node:
        kept = [pair for pair in node.outputs if pair[0] in needed] or [_cheapest(node)]
        wanted = frozenset(name for _, scalar in kept for name in scalar.columns)
        return self.project(self.visit(node.input, wanted), tuple(kept))

    def project(self, below: Node, outputs: tuple[tuple[str, Scalar], ...]) -> Node:
        """The projection, merged with one below it; nothing when it changes nothing."""
        if isinstance(below, Projection) and _mergeable(below, outputs):
            inside = dict(below.outputs)
            outputs = tuple((name, substitute(item, inside)) for name, item in outputs)
            return self.project(below.input, outputs)
        same = all(item.column == name for name, item in outputs)
        if same and below.columns == tuple(name for name, _ in outputs):
            return below
        return Projection(below, outputs)

    def union(self, node: UnionAll, needed: frozenset[str]) -> Node:
        places = [i for i, name in enumerate(node.names) if name in needed] or [0]
        branches = tuple(
            self.exactly(branch, tuple(branch.columns[i] for i in places))
            for branch in node.branches
        )
        return UnionAll(branches, tuple(node.names[i] for i in places))

    def aggregate(self, node: Aggregate, needed: frozenset[str]) -> Node:
        calls = tuple(pair for pair in node.calls if pair[0] in needed)
        if not calls and not node.keys:
            calls = node.calls[:1] or ((self.context.fresh(made("count")), _count()),)
        wanted = frozenset(node.keys).union(*(call.columns for _, call in calls))
        return replace(node, input=self.visit(node.input, wanted), calls=calls)

    def window(self, node: Windowed, needed: frozenset[str]) -> Node:
        calls = tuple(pair for pair in node.calls if pair[0] in needed)
        if not calls:
            return self.visit(node.input, needed)
        own = frozenset(node.input.columns)
        wanted = (needed & own).union(node.partition, *(call.columns for _, call in calls))
        done = self.visit(node.input, wanted & own)
        for group in _by_order(calls):
            made = tuple((name, self.total(call, done)) for name, call in group)
            done = replace(node, input=done, calls=made)
        return done

    def total(self, call: Scalar, below: Node) -> Scalar:
        """The call in an order that leaves no two different rows equal, if it needs one."""
        tree = call.ast
        if not isinstance(tree, exp.Window) or ties_of(tree) is not Ties.ORDER:
            return call
        built = tree.copy()
        order = built.args.get("order")
        keys = list(order.expressions) if order is not None else []
        used = {item.this.name for item in keys}
        used.update(item.name for item in built.args.get("partition_by") or [])
        for name in self.breakers(below, used):
            keys.append(exp.Ordered(this=quoted(name), desc=False, nulls_first=True))
        if not keys:
            return call
        if whole_partition(tree):
            built.set("spec", rows_frame("UNBOUNDED", "UNBOUNDED"))
        built.set("order", exp.Order(expressions=keys))
        self.context.note("ties in a window's ORDER BY are broken by the other columns")
        return Scalar.of(built)

    def breakers(self, below: Node, used: set[str]) -> list[str]:
        types = self.context.types
        return [
            name
            for name in below.columns
            if name not in used and "MAP" not in types.get(name, "").upper()
        ]

    def topk(self, node: TopK, needed: frozenset[str]) -> Node:
        if node.limit is None and not node.offset:
            return self.visit(node.input, needed)
        wanted = needed.union(node.partition, (item.column for item in node.order))
        below = self.visit(node.input, wanted)
        used = {*node.partition, *(item.column for item in node.order)}
        extra = tuple(Order(name, False, True) for name in self.breakers(below, used))
        if extra:
            self.context.note("ties in ORDER BY … LIMIT are broken by the other columns")
        return replace(node, input=below, order=(*node.order, *extra))


def _by_order(calls: Iterable[tuple[str, Scalar]]) -> list[list[tuple[str, Scalar]]]:
    """The calls in groups that are made one after the other.

    Rows that are equal in everything still get different places in an order. Where two orders
    differ, the places in the first one must break the ties of the second: else nothing says which
    of the equal rows has which pair of places.
    """
    groups: dict[str, list[tuple[str, Scalar]]] = {"": []}
    for name, call in calls:
        tree = call.ast
        tied = isinstance(tree, exp.Window) and ties_of(tree) is Ties.ORDER
        order = tree.args.get("order")
        groups.setdefault(f"by {order}" if tied else "", []).append((name, call))
    return [group for group in groups.values() if group]


_RULES: Final[dict[type[Node], Callable[..., Node]]] = {
    Scan: _Pruner.scan,
    Values: _Pruner.values,
    Filter: _Pruner.filter,
    Projection: _Pruner.projected,
    InnerJoin: _Pruner.inner,
    OuterJoin: _Pruner.outer,
    SemiJoin: _Pruner.semi,
    MarkJoin: _Pruner.mark,
    UnionAll: _Pruner.union,
    SetOperation: _Pruner.set_operation,
    Distinct: _Pruner.distinct,
    Aggregate: _Pruner.aggregate,
    Windowed: _Pruner.window,
    TopK: _Pruner.topk,
    Unnest: _Pruner.unnest,
}


def _cheapest(node: Projection) -> tuple[str, Scalar]:
    plain = [pair for pair in node.outputs if pair[1].column is not None]
    return (plain or list(node.outputs))[0]


def _count() -> Scalar:
    return Scalar.of(exp.Count(this=exp.Star(), big_int=True))


def _mergeable(below: Projection, outputs: tuple[tuple[str, Scalar], ...]) -> bool:
    """True when no computed column would be computed twice."""
    uses: dict[str, int] = {}
    for _, item in outputs:
        for tree in item.ast.find_all(exp.Column):
            uses[tree.name] = uses.get(tree.name, 0) + 1
    computed = [name for name, item in below.outputs if item.column is None and not item.is_literal]
    return all(uses.get(name, 0) <= 1 for name in computed)
