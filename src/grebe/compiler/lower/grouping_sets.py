"""GROUP BY with its keys; GROUPING SETS, ROLLUP and CUBE as one aggregate over a union.

Each grouping set reads the input once with the keys that it lacks set to NULL and with its own
number; then one aggregate groups by the number and all keys. The number, not GROUPING_ID, tells
the sets apart: two equal sets give each row twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

from sqlglot import exp

from grebe.compiler.algebra.functions import aggregates_in
from grebe.compiler.algebra.nodes import Aggregate, Node, Projection, UnionAll
from grebe.compiler.algebra.scalar import NULL, Scalar, column, null_like, number, rename
from grebe.compiler.lower.block import Block
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import Resolver
from grebe.compiler.lower.grouping import Grouping, GroupingMarks
from grebe.compiler.reasons import ReasonCode
from grebe.errors import Where
from grebe.sql_text import made

Sets = tuple[tuple[int, ...], ...]
"""Grouping sets as positions of keys."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The distinct keys of GROUP BY below the aggregate, and the sets over them, if any."""

    scalars: tuple[Scalar, ...] = ()
    sets: Sets | None = None


@dataclass(slots=True)
class _Reader:
    """Reads the elements of GROUP BY; equal keys are one key."""

    context: Context
    resolver: Resolver
    items: Sequence[exp.Expr]
    keys: list[Scalar]

    def position(self, tree: exp.Expr) -> int:
        key = key_of(self.context, tree, self.resolver, self.items)
        if key not in self.keys:
            self.keys.append(key)
        return self.keys.index(key)

    def group(self, tree: exp.Expr) -> tuple[int, ...]:
        """One element of a set: a key, or several in parentheses."""
        plain = tree.unnest() if isinstance(tree, exp.Paren) else tree
        if isinstance(plain, exp.Tuple):
            return tuple(self.position(item) for item in plain.expressions)
        return (self.position(plain),)

    def sets(self, tree: exp.Expr) -> list[tuple[int, ...]]:
        """The grouping sets that one element of GROUP BY stands for."""
        match tree:
            case exp.GroupingSets():
                return [found for item in tree.expressions for found in self.sets(item)]
            case exp.Rollup():
                return rolled_up([self.group(item) for item in tree.expressions])
            case exp.Cube():
                return cubed([self.group(item) for item in tree.expressions])
        return [self.group(tree)]


def rolled_up(groups: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """All prefixes, the longest first.

    >>> rolled_up([(0,), (1, 2)])
    [(0, 1, 2), (0,), ()]
    """
    return [sum(groups[:length], ()) for length in range(len(groups), -1, -1)]


def cubed(groups: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """All subsets, the largest first.

    >>> cubed([(0,), (1,)])
    [(0, 1), (0,), (1,), ()]
    """
    lengths = range(len(groups), -1, -1)
    return [sum(chosen, ()) for length in lengths for chosen in combinations(groups, length)]


def keys_of(
    context: Context, group: exp.Group | None, resolver: Resolver, items: Sequence[exp.Expr]
) -> Keys:
    """What GROUP BY says."""
    if group is None:
        return Keys()
    if group.args.get("totals"):
        context.refuse(ReasonCode.UNSUPPORTED_CLAUSE, "WITH TOTALS has no rule", group)
    reader = _Reader(context, resolver, items, [])
    if group.args.get("all"):
        whole = [resolver.laterals.inlined(tree) for tree in items]
        plain = [tree for tree in whole if not any(True for _ in aggregates_in(tree))]
        scalars = [Scalar.of(tree.unnest()) for tree in plain]
        return Keys(tuple(dict.fromkeys(scalars)))
    sets = _sets(reader, group)
    if all(len(element) == 1 for element in sets) and not _written_as_sets(group):
        return Keys(tuple(reader.keys))
    _check_keys(context, reader.keys, group)
    crossed = [sum(chosen, ()) for chosen in product(*sets)]
    if len(crossed) > 256:
        context.stop("grouping_sets", f"{len(crossed)} grouping sets are too many", group)
    return Keys(tuple(reader.keys), tuple(tuple(dict.fromkeys(chosen)) for chosen in crossed))


def _check_keys(context: Context, keys: Sequence[Scalar], group: exp.Group) -> None:
    """Two keys over the same columns may be one to Spark, as `a + b` and `b + a` are."""
    made = [key.columns for key in keys if key.column is None and key.columns]
    if context.dialect == "spark" and len(set(made)) < len(made):
        message = "whether two keys of its grouping sets are one is for Spark to say"
        context.refuse(ReasonCode.TRANSLATION_DIFFERS, message, group)


def _written_as_sets(group: exp.Group) -> bool:
    words = (exp.GroupingSets, exp.Rollup, exp.Cube)
    listed = any(isinstance(item, words) for item in group.expressions)
    return listed or any(group.args.get(key) for key in ("rollup", "cube", "grouping_sets"))


def _sets(reader: _Reader, group: exp.Group) -> list[list[tuple[int, ...]]]:
    """The sets of each element; the product of all elements is what is grouped by."""
    elements = list(group.expressions)
    for key, expand in (("rollup", rolled_up), ("cube", cubed)):
        for tree in group.args.get(key) or []:
            if tree.expressions:
                elements.append(tree)
            else:  # GROUP BY a, b WITH ROLLUP
                return [expand([reader.group(item) for item in elements])]
    if group.args.get("grouping_sets"):
        for item in elements:  # GROUP BY a, b GROUPING SETS (…) names its keys first
            reader.group(item)
        return [reader.sets(tree) for tree in group.args["grouping_sets"]]
    return [reader.sets(item) for item in elements]


def at_position(context: Context, literal: exp.Literal, trees: Sequence[exp.Expr]) -> exp.Expr:
    """The output that a number in GROUP BY or ORDER BY means."""
    place = int(literal.name)
    if not 1 <= place <= len(trees):
        context.invalid(f"position {place} is not in the SELECT list", literal)
    return trees[place - 1]


def key_of(
    context: Context, tree: exp.Expr, resolver: Resolver, items: Sequence[exp.Expr]
) -> Scalar:
    """A key as an expression below the aggregate."""
    plain = tree.unnest()
    if isinstance(plain, exp.Literal) and plain.is_int:
        found = at_position(context, plain, items).copy()
    else:
        found = resolver.tree(plain)
    found = resolver.laterals.inlined(found)
    if any(True for _ in aggregates_in(found)) or found.find(exp.Window, exp.Explode):
        context.invalid("GROUP BY cannot hold an aggregate or a window function", tree)
    return Scalar.of(found.unnest())


def aggregated(
    context: Context, keys: Keys, block: Block, trees: Sequence[exp.Expr], where: Where
) -> list[exp.Expr]:
    """The expressions over the aggregate, which is now on top of the relation."""
    if keys.scalars:
        context.features.add("group_by")
    names = block.compute([(key.column or made("key"), key) for key in keys.scalars])
    texts = [key.text for key in keys.scalars]
    kinds = frozenset(type(key.ast) for key in keys.scalars)
    if keys.sets is None:
        grouping = Grouping(context, block, dict(zip(texts, names, strict=True)), kinds)
    else:
        context.features.add("grouping_sets")
        final = [context.fresh(name) for name in names]
        marks = GroupingMarks(
            context.fresh(made("grouping_set")),
            tuple(texts),
            tuple(frozenset(s) for s in keys.sets),
        )
        columns = dict(zip(texts, final, strict=True))
        grouping = Grouping(context, block, columns, kinds, grouping_sets=marks)
        grouping.renamed = tuple(zip(names, final, strict=True))
    lifted = [grouping.lift(tree) for tree in trees]
    block.need(call for _, call in grouping.scalars)
    calls = tuple(grouping.scalars)
    if grouping.grouping_sets is None:
        block.node = Aggregate(block.node, tuple(dict.fromkeys(names)), calls, where)
    else:
        output = tuple(grouping.keys.values())
        expansion = _Expansion(context, block.node, tuple(names), output, calls, where)
        block.node = expansion.node(grouping.grouping_sets.ordinal, keys.sets or ())
    block.computed = {}
    return lifted


@dataclass(frozen=True, slots=True)
class _Expansion:
    """Grouping sets over an input: its key columns, their names above, and the calls."""

    context: Context
    input: Node
    keys: tuple[str, ...]
    output: tuple[str, ...]
    calls: tuple[tuple[str, Scalar], ...]
    where: Where

    def node(self, ordinal: str, sets: Sets) -> Node:
        numbered = list(enumerate(sets))
        # DuckDB gives the total row even for an empty input, Spark never does.
        apart = self.context.dialect == "duckdb"
        totals = [place for place, members in numbered if apart and not members]
        rest = [(place, members) for place, members in numbered if place not in totals]
        if not totals:
            return self.grouped(ordinal, rest)
        names = (ordinal, *self.output, *(name for name, _ in self.calls))
        branches = [self.total(place) for place in totals]
        if rest:
            own = replace_names(self, self.context)
            fresh = self.context.fresh(made("grouping_set"))
            branches.insert(0, own.grouped(fresh, rest))
        return UnionAll(tuple(branches), names)

    def grouped(self, ordinal: str, sets: Sequence[tuple[int, tuple[int, ...]]]) -> Node:
        read = {name for _, call in self.calls for name in call.columns}
        passed = [name for name in self.input.columns if name in read]
        arguments = {name: self.context.fresh(name) for name in passed}
        branches = tuple(self.branch(place, members, passed) for place, members in sets)
        union = UnionAll(branches, (ordinal, *self.output, *arguments.values()))
        calls = tuple((name, rename(call, arguments)) for name, call in self.calls)
        return Aggregate(union, (ordinal, *self.output), calls, self.where)

    def branch(self, place: int, members: Sequence[int], passed: Sequence[str]) -> Node:
        outputs = [(self.context.fresh(made("grouping_set")), number(place))]
        for index, key in enumerate(self.keys):
            value = column(key) if index in members else null_like(column(key))
            outputs.append((self.context.fresh(key), value))
        outputs += [(name, column(name)) for name in passed]
        return Projection(self.input, tuple(outputs))

    def total(self, place: int) -> Node:
        calls = tuple((self.context.fresh(name), call) for name, call in self.calls)
        if not calls:
            count = Scalar.of(exp.Count(this=exp.Star(), big_int=True))
            calls = ((self.context.fresh(made("count")), count),)
        aggregate = Aggregate(self.input, (), calls, self.where)
        outputs = [(self.context.fresh(made("grouping_set")), number(place))]
        outputs += [(self.context.fresh(name), NULL) for name in self.output]
        outputs += [(self.context.fresh(n), column(n)) for n, _ in calls[: len(self.calls)]]
        return Projection(aggregate, tuple(outputs))


def replace_names(expansion: _Expansion, context: Context) -> _Expansion:
    """The same expansion under names of its own, as one branch of a union."""
    return _Expansion(
        context,
        expansion.input,
        expansion.keys,
        tuple(context.fresh(name) for name in expansion.output),
        tuple((context.fresh(name), call) for name, call in expansion.calls),
        expansion.where,
    )
