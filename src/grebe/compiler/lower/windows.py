"""Window calls: partition and order columns computed below, one node per set of partition columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from grebe.compiler.algebra.functions import aggregate_kind, function_name, unwrapped
from grebe.compiler.algebra.nodes import Windowed
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.lower.aggregates import normal_call
from grebe.compiler.lower.block import Block
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import quoted
from grebe.compiler.lower.ties import Ties, depends_on_order, rows_frame, ties_of
from grebe.compiler.lower.trees import mapped
from grebe.compiler.reasons import ReasonCode
from grebe.errors import Where
from grebe.sql_text import made


@dataclass(slots=True)
class _Level:
    """Calls that can be made at once, by the set of their partition columns."""

    calls: dict[frozenset[str], list[tuple[str, Scalar]]] = field(default_factory=dict)
    partitions: dict[frozenset[str], tuple[str, ...]] = field(default_factory=dict)
    places: dict[frozenset[str], Where] = field(default_factory=dict)

    def add(self, name: str, call: Scalar, partition: Sequence[str], place: Where) -> None:
        group = frozenset(partition)
        self.partitions.setdefault(group, tuple(dict.fromkeys(partition)))
        self.places.setdefault(group, place)
        self.calls.setdefault(group, []).append((name, call))


@dataclass(slots=True)
class Windows:
    """Lifts expressions above window nodes: each call becomes a column."""

    context: Context
    block: Block
    names: dict[str, str] = field(default_factory=dict)
    first: _Level = field(default_factory=_Level)
    second: _Level = field(default_factory=_Level)
    """Calls over the results of the first level."""

    def lift(self, tree: exp.Expr) -> exp.Expr:
        """The expression over the window nodes' output."""
        if isinstance(tree, exp.Window):
            return self.call(tree)
        return mapped(tree, self.lift)

    def call(self, tree: exp.Window) -> exp.Expr:
        if any(item is not tree for item in tree.find_all(exp.Window)):
            self.context.invalid("a window function cannot be inside another one", tree)
        self.context.features.add("window")
        partition = self.columns(tree.args.get("partition_by") or [], made("partition"))
        order = self.ordering(tree.args.get("order"))
        self.check(tree, partition)
        built = exp.Window(
            this=self.function(tree.this),
            partition_by=[quoted(name) for name in partition] or None,
            order=order,
            spec=tree.args["spec"].copy() if tree.args.get("spec") else None,
            over="OVER",
        )
        name = self.names.get(Scalar.of(built).text)
        if name is None:
            text = Scalar.of(built).text
            name = self.names[text] = self.added(tree, built, partition)
        return quoted(name, tree)

    def function(self, tree: exp.Expr) -> exp.Expr:
        call = unwrapped(tree)
        if aggregate_kind(call) is None or depends_on_order(call):
            return tree.copy()
        return normal_call(self.context, tree).copy()

    def added(self, tree: exp.Window, built: exp.Window, partition: Sequence[str]) -> str:
        """The column of a new call, over its equal rows if its frame takes them as one."""
        function = function_name(unwrapped(built.this))
        name = self.context.fresh(made(function))
        place = self.context.where(tree)
        ties = ties_of(built)
        if ties is Ties.REFUSE:
            message = f"{function}() picks one of the rows that are equal in ORDER BY"
            self.context.refuse(ReasonCode.ORDER_DEPENDENT_WINDOW, message, tree, expressible=True)
        if ties not in (Ties.LAST_PEER, Ties.FIRST_PEER):
            self.first.add(name, Scalar.of(built), partition, place)
            return name
        return self.of_peers(name, built, partition, place, last=ties is Ties.LAST_PEER)

    def of_peers(
        self, name: str, built: exp.Window, partition: Sequence[str], place: Where, *, last: bool
    ) -> str:
        """The value at the last (or first) of the equal rows, for all of them.

        It is found by the row's number in the same order, since equal rows may be equal in every
        column and still have different values.
        """
        ends = ("UNBOUNDED", "CURRENT ROW") if last else ("CURRENT ROW", "UNBOUNDED")
        built.set("spec", rows_frame(*ends))
        row = self.context.fresh(made("row_number"))
        numbered = built.copy()
        numbered.set("this", exp.RowNumber())
        numbered.set("spec", None)
        self.first.add(name, Scalar.of(built), partition, place)
        self.first.add(row, Scalar.of(numbered), partition, place)
        order = [item.this.name for item in built.args["order"].expressions]
        peers = tuple(dict.fromkeys((*partition, *order)))
        picked = self.context.fresh(name)
        picking = exp.LastValue if last else exp.FirstValue
        over_peers = exp.Window(
            this=picking(this=quoted(name)),
            partition_by=[quoted(peer) for peer in peers],
            order=exp.Order(expressions=[exp.Ordered(this=quoted(row), nulls_first=True)]),
            spec=rows_frame("UNBOUNDED", "UNBOUNDED"),
            over="OVER",
        )
        self.second.add(picked, Scalar.of(over_peers), peers, place)
        return picked

    def check(self, tree: exp.Window, partition: Sequence[str]) -> None:
        if partition:
            return
        name = function_name(unwrapped(tree.this))
        message = f"{name}() has no PARTITION BY, so one changed row can move every row"
        self.context.refuse(ReasonCode.WINDOW_WITHOUT_PARTITION, message, tree, expressible=True)

    def columns(self, trees: Sequence[exp.Expr], hint: str) -> list[str]:
        return self.block.compute([(hint, Scalar.of(tree.unnest().copy())) for tree in trees])

    def ordering(self, order: exp.Order | None) -> exp.Order | None:
        if order is None:
            return None
        names = self.columns([item.this for item in order.expressions], made("sort"))
        keys = []
        for item, name in zip(order.expressions, names, strict=True):
            down, nulls_first = bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
            keys.append(exp.Ordered(this=quoted(name), desc=down, nulls_first=nulls_first))
        return exp.Order(expressions=keys)

    def finish(self) -> None:
        """Put the window nodes on top of the relation."""
        for level in (self.first, self.second):
            self.block.need(call for group in level.calls.values() for _, call in group)
            for group, calls in level.calls.items():
                self.block.node = Windowed(
                    self.block.node, level.partitions[group], tuple(calls), level.places[group]
                )
