"""GROUP BY: keys computed below, calls gathered, and expressions over both above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from grebe.compiler.algebra.functions import aggregate_kind, aggregates_in, function_name, unwrapped
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.lower.aggregates import normal_call
from grebe.compiler.lower.block import Block
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import quoted
from grebe.compiler.lower.pending import Pending
from grebe.compiler.lower.trees import mapped, mapped_inside
from grebe.sql_text import made, plain


@dataclass(slots=True)
class Grouping:
    """Lifts expressions above an aggregate: keys and calls become columns of its output."""

    context: Context
    block: Block
    keys: dict[str, str]
    """Columns of the output by the text of the key."""
    kinds: frozenset[type[exp.Expr]]
    """What kinds of tree the keys are: nothing else needs to be compared with them."""
    calls: dict[str, str] = field(default_factory=dict)
    scalars: list[tuple[str, Scalar]] = field(default_factory=list)
    grouping_sets: GroupingMarks | None = None
    renamed: tuple[tuple[str, str], ...] = ()
    """Key columns below the aggregate with their names above it."""

    def lift(self, tree: exp.Expr) -> exp.Expr:
        """The expression over the aggregate's output."""
        plain = tree.unnest() if isinstance(tree, exp.Paren) else tree
        if type(plain) in self.kinds:
            key = self.keys.get(Scalar.of(plain).text)
            if key is not None:
                return quoted(key, plain)
        if isinstance(tree, (exp.Grouping, exp.GroupingId)):
            return self.mark(tree)
        if aggregate_kind(tree) is not None:
            return self.call(tree)
        if isinstance(tree, exp.Column):
            return self.column(tree)
        if isinstance(tree, exp.Window):
            return self.window(tree)
        return mapped(tree, self.lift)

    def window(self, tree: exp.Window) -> exp.Expr:
        """A call behind OVER is no aggregate of this level; what it is given may hold some."""
        function = mapped_inside(tree.this, self.lift)
        rest = {
            key: value for key, value in tree.args.items() if key != "this" and value is not None
        }
        shell = exp.Window(this=exp.null(), **rest)
        built = mapped(shell, self.lift)
        built.set("this", function)
        built.meta.update(tree.meta)
        return built

    def call(self, tree: exp.Expr) -> exp.Expr:
        inside = [item for child in tree.iter_expressions() for item in aggregates_in(child)]
        if [item for item in inside if item is not unwrapped(tree)]:
            nested = [item for item in inside if aggregate_kind(item) is not None]
            if any(item not in _wrapped_calls(tree) for item in nested):
                self.context.invalid("an aggregate cannot be inside another one", tree)
        if tree.find(exp.Window):
            self.context.invalid("a window function cannot be inside an aggregate", tree)
        normal = Scalar.of(normal_call(self.context, tree))
        name = self.calls.get(normal.text)
        if name is None:
            name = self.context.fresh(made(_hint(normal.ast)))
            self.calls[normal.text] = name
            self.scalars.append((name, normal))
        return quoted(name, tree)

    def column(self, tree: exp.Column) -> exp.Expr:
        pending = self.block.pending.get(tree.name)
        if pending is not None and tree.name not in self.block.node.columns:
            self.lift_operands(pending)
            return tree.copy()
        if tree.name in self.block.node.columns:
            self.context.invalid(
                f'column "{plain(tree.name)}" is neither grouped nor inside an aggregate',
                tree,
                hint="add it to GROUP BY, or aggregate it",
            )
        return tree.copy()

    def lift_operands(self, item: Pending) -> None:
        operands = tuple(Scalar.of(self.lift(operand.copy())) for operand in item.operands)
        renamed = tuple((old, new) for old, new in self.renamed if old != new)
        self.block.pending[item.name] = replace(item, operands=operands, renamed=renamed)

    def mark(self, tree: exp.Expr) -> exp.Expr:
        if self.grouping_sets is None:
            self.context.invalid("GROUPING needs GROUPING SETS, ROLLUP or CUBE", tree)
        return self.grouping_sets.mark(self.context, tree)


@dataclass(frozen=True, slots=True)
class GroupingMarks:
    """Which keys each grouping set has, for GROUPING() and GROUPING_ID()."""

    ordinal: str
    texts: tuple[str, ...]
    """The keys' texts, in the order of GROUP BY."""
    sets: tuple[frozenset[int], ...]

    def mark(self, context: Context, tree: exp.Expr) -> exp.Expr:
        arguments = [item.unnest() for item in tree.expressions]
        texts = [item.sql(comments=False) for item in arguments] or list(self.texts)
        for text, item in zip(texts, arguments, strict=False):
            if text not in self.texts:
                context.invalid("GROUPING takes columns of GROUP BY", item)
        places = [self.texts.index(text) for text in texts]
        cases = []
        for number, members in enumerate(self.sets):
            value = 0
            for place in places:
                value = value * 2 + (place not in members)
            test = exp.EQ(this=quoted(self.ordinal), expression=exp.Literal.number(number))
            cases.append(exp.If(this=test, true=exp.Literal.number(value)))
        small = context.dialect == "spark" and isinstance(tree, exp.Grouping)
        kind = exp.DataType.build("TINYINT" if small else "BIGINT")
        return exp.Cast(this=exp.Case(ifs=cases), to=kind)


def _wrapped_calls(tree: exp.Expr) -> list[exp.Expr]:
    """The call itself, as it is met inside FILTER and WITHIN GROUP."""
    found = [tree]
    while unwrapped(found[-1]) is not found[-1]:
        found.append(found[-1].this)
    return found


def _hint(call: exp.Expr) -> str:
    inner = unwrapped(call)
    name = function_name(inner)
    argument = inner.this if isinstance(inner.this, exp.Expr) else None
    suffix = f"_{plain(argument.name)}" if isinstance(argument, exp.Column) else ""
    return f"{name}{suffix}"


def has_aggregates(trees: Sequence[exp.Expr]) -> bool:
    """True when some expression aggregates at this level."""
    return any(True for tree in trees for _ in aggregates_in(tree))
