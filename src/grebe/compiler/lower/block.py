"""The relation that a SELECT is building, operator by operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from grebe.compiler.algebra.nodes import Filter, Node, Projection
from grebe.compiler.algebra.scalar import Scalar, all_of, column, conjuncts_of
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import bare_mark
from grebe.compiler.lower.laterals import Item
from grebe.compiler.lower.pending import Kind, Pending
from grebe.compiler.lower.subqueries import join_mark, join_scalar, join_semi


@dataclass(slots=True)
class Block:
    """The rows so far. Subqueries that expressions mention are joined when they are needed."""

    context: Context
    node: Node
    pending: dict[str, Pending]
    computed: dict[str, str] = field(default_factory=dict)
    """Columns of the relation by the text of the expression that made them."""
    outputs: dict[str, Item] = field(default_factory=dict)
    """Outputs that others read, by their columns; each is computed when it is needed."""

    def need(self, scalars: Iterable[Scalar]) -> None:
        """Compute every output and join every subquery whose value these expressions read."""
        wanted = list(scalars)
        if self.outputs:
            self.compute_outputs(wanted)
        for scalar in wanted:
            for name in sorted(scalar.columns):
                if name in self.pending and name not in self.node.columns:
                    self.join_subquery(self.pending[name])

    def compute_outputs(self, scalars: Sequence[Scalar]) -> None:
        """Columns for the outputs that these expressions read; those first that read no other."""
        waiting = self.missing(scalars)
        while waiting:
            ready = {name: item for name, item in waiting.items() if not self.unmade(item)}
            if not ready or any(item.ast.find(exp.Window) for item in ready.values()):
                self.context.invalid("a window function cannot be inside another one", None)
            self.need(ready.values())
            for name, item in ready.items():
                self.computed[item.text] = name
                del waiting[name]
            kept = tuple((name, column(name)) for name in self.node.columns)
            self.node = Projection(self.node, (*kept, *ready.items()))

    def missing(self, scalars: Sequence[Scalar]) -> dict[str, Scalar]:
        """The outputs that are read and no columns yet, with those that they read themselves."""
        found: dict[str, Scalar] = {}
        waiting = list(scalars)
        while waiting:
            for name in self.unmade(waiting.pop()):
                if name not in found:
                    found[name] = Scalar.of(self.outputs[name].tree.unnest())
                    waiting.append(found[name])
        return found

    def unmade(self, scalar: Scalar) -> list[str]:
        return sorted(scalar.columns & self.outputs.keys() - set(self.node.columns))

    def join_subquery(self, item: Pending) -> None:
        self.need(item.operands)
        if item.kind is Kind.SCALAR:
            self.node = join_scalar(self.context, self.node, item)
        else:
            self.node = join_mark(self.context, self.node, item)

    def filter(self, predicate: Scalar) -> None:
        """Keep the rows for which the predicate is TRUE; subqueries become semi joins."""
        later: list[tuple[Pending, bool]] = []
        plain: list[Scalar] = []
        made = {*self.pending, *self.outputs}
        for conjunct in _conjuncts(predicate):
            match = self.semi(conjunct)
            if match is not None:
                later.append(match)
                continue
            if not conjunct.columns.isdisjoint(made):
                self.keep(plain)
                plain = []
                self.need((conjunct,))
            plain.append(conjunct)
        self.keep(plain)
        for item, anti in later:
            self.need(item.operands)
            self.node = join_semi(self.context, self.node, item, anti=anti)

    def keep(self, conjuncts: Sequence[Scalar]) -> None:
        """Keep the rows for which all conditions are TRUE, by one node: a text may have thousands."""
        if conjuncts:
            self.node = Filter(self.node, all_of(conjuncts))

    def semi(self, conjunct: Scalar) -> tuple[Pending, bool] | None:
        """The subquery that a conjunct is nothing but a test of, and whether it is negated."""
        tree, anti = conjunct.ast.unnest(), False
        while isinstance(tree, exp.Not):
            tree, anti = tree.this.unnest(), not anti
        tree = bare_mark(tree, negated=anti)
        if not isinstance(tree, exp.Column):
            return None
        item = self.pending.get(tree.name)
        if item is None or item.kind is Kind.SCALAR or tree.name in self.node.columns:
            return None
        return item, anti

    def compute(self, wanted: Sequence[tuple[str, Scalar]]) -> list[str]:
        """Columns that hold the given expressions, made by one projection if need be."""
        self.need(scalar for _, scalar in wanted)
        names: list[str] = []
        new: list[tuple[str, Scalar]] = []
        for hint, scalar in wanted:
            name = self.existing(scalar)
            if name is None:
                name = self.context.fresh(hint)
                new.append((name, scalar))
                self.computed[scalar.text] = name
            names.append(name)
        if new:
            kept = tuple((name, column(name)) for name in self.node.columns)
            self.node = Projection(self.node, (*kept, *new))
        return names

    def existing(self, scalar: Scalar) -> str | None:
        if scalar.column is not None and scalar.column in self.node.columns:
            return scalar.column
        name = self.computed.get(scalar.text)
        return name if name in self.node.columns else None


def _conjuncts(predicate: Scalar) -> list[Scalar]:
    """The conjuncts, with what all branches of an OR have in common taken out of it."""
    found: list[Scalar] = []
    for conjunct in conjuncts_of(predicate):
        found.extend(_shared(conjunct))
        found.append(conjunct)
    return list(dict.fromkeys(found))


def _shared(conjunct: Scalar) -> list[Scalar]:
    tree = conjunct.ast.unnest()
    if not isinstance(tree, exp.Or):
        return []
    branches = tree.flatten()
    common = list(conjuncts_of(Scalar.of(next(branches).copy())))
    for part in branches:
        if not common:
            break
        branch = conjuncts_of(Scalar.of(part.copy()))
        common = [item for item in common if item in branch]
    return common
