"""Window calls: partition and order columns computed below, one node per set of partition columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from grebe.compiler.functions import aggregate_kind, unwrapped
from grebe.compiler.lower.aggregates import normal_call
from grebe.compiler.lower.block import Block
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import quoted
from grebe.compiler.lower.grouping import mapped
from grebe.compiler.nodes import Window
from grebe.compiler.reasons import ReasonCode
from grebe.compiler.scalar import Scalar
from grebe.errors import Where


@dataclass(slots=True)
class Windows:
    """Lifts expressions above window nodes: each call becomes a column."""

    context: Context
    block: Block
    calls: dict[str, str] = field(default_factory=dict)
    groups: dict[frozenset[str], list[tuple[str, Scalar]]] = field(default_factory=dict)
    partitions: dict[frozenset[str], tuple[str, ...]] = field(default_factory=dict)
    places: dict[frozenset[str], Where] = field(default_factory=dict)

    def lift(self, tree: exp.Expr) -> exp.Expr:
        """The expression over the window nodes' output."""
        if isinstance(tree, exp.Window):
            return self.call(tree)
        return mapped(tree, self.lift)

    def call(self, tree: exp.Window) -> exp.Expr:
        if any(item is not tree for item in tree.find_all(exp.Window)):
            self.context.invalid("a window function cannot be inside another one", tree)
        self.context.features.add("window")
        function = tree.this
        if aggregate_kind(function) is not None and not _picks(function):
            function = normal_call(self.context, function) if _plain(function) else function
        partition = self.columns(tree.args.get("partition_by") or [], "partition")
        order = self.ordering(tree.args.get("order"))
        self.check(tree, partition)
        built = exp.Window(
            this=function.copy(),
            partition_by=[quoted(name) for name in partition] or None,
            order=order,
            spec=tree.args["spec"].copy() if tree.args.get("spec") else None,
            over="OVER",
        )
        return self.register(tree, Scalar.of(built), partition)

    def register(self, tree: exp.Window, call: Scalar, partition: Sequence[str]) -> exp.Expr:
        name = self.calls.get(call.text)
        if name is None:
            function = unwrapped(tree.this)
            hint = function.name if isinstance(function, exp.Anonymous) else function.key
            name = self.calls[call.text] = self.context.fresh(hint.lower())
            group = frozenset(partition)
            self.partitions.setdefault(group, tuple(dict.fromkeys(partition)))
            self.places.setdefault(group, self.context.where(tree))
            self.groups.setdefault(group, []).append((name, call))
        return quoted(name, tree)

    def check(self, tree: exp.Window, partition: Sequence[str]) -> None:
        if not partition:
            name = unwrapped(tree.this).key
            message = f"{name}() has no PARTITION BY, so one changed row can move every row"
            self.context.refuse(
                ReasonCode.WINDOW_WITHOUT_PARTITION, message, tree, expressible=True
            )

    def columns(self, trees: Sequence[exp.Expr], hint: str) -> list[str]:
        return self.block.compute([(hint, Scalar.of(tree.unnest().copy())) for tree in trees])

    def ordering(self, order: exp.Order | None) -> exp.Order | None:
        if order is None:
            return None
        names = self.columns([item.this for item in order.expressions], "sort")
        keys = []
        for item, name in zip(order.expressions, names, strict=True):
            nulls_first = bool(item.args.get("nulls_first"))
            keys.append(
                exp.Ordered(
                    this=quoted(name), desc=bool(item.args.get("desc")), nulls_first=nulls_first
                )
            )
        return exp.Order(expressions=keys)

    def finish(self) -> None:
        """Put the window nodes on top of the relation."""
        self.block.join_subqueries(call for group in self.groups.values() for _, call in group)
        for group, calls in self.groups.items():
            self.block.node = Window(
                self.block.node, self.partitions[group], tuple(calls), self.places[group]
            )


def _picks(function: exp.Expr) -> bool:
    return isinstance(unwrapped(function), (exp.FirstValue, exp.LastValue, exp.First, exp.Last))


def _plain(function: exp.Expr) -> bool:
    return not isinstance(function, (exp.IgnoreNulls, exp.RespectNulls))
