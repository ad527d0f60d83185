"""Where equal is not the same: 0.0 and -0.0 are one value to GROUP BY, and two to CAST, to 1 / x and to readers.

A user's GROUP BY makes them one, as the engine does. Where rules add up weights, or find a stored row again, a row
has to stay the row that it was: there the columns that may hold such a zero are told apart by its sign, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from re import compile as pattern
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.function_names import SINGLE
from grebe.compiler.algebra.functions import unwrapped
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Consolidate,
    MarkJoin,
    Node,
    Projection,
    Scan,
    SetOperation,
    UnionAll,
    Unnest,
    Values,
    Windowed,
    walk,
)
from grebe.compiler.algebra.rewriting import rebuilt
from grebe.compiler.algebra.scalar import TRUE, Scalar, column, number
from grebe.sql_text import plain

_FLOATING: Final = pattern(r"\b(?:FLOAT|REAL|DOUBLE|FLOAT4|FLOAT8|VARIANT)\b")
_NEVER: Final = (
    exp.Predicate, exp.Connector, exp.Not, exp.Boolean, exp.Null, exp.Interval, exp.Count, exp.CountIf,
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.Length, exp.Upper, exp.Lower, exp.Trim,
    exp.Substring, exp.Concat, exp.ConcatWs, exp.DPipe, exp.Replace, exp.Year, exp.Month, exp.Day, exp.Quarter,
    exp.DateTrunc, exp.TimestampTrunc, exp.Extract, exp.DateAdd, exp.DateSub, exp.DateDiff, exp.GroupConcat,
    exp.LogicalAnd, exp.LogicalOr, exp.MD5, exp.SHA2, exp.TsOrDsToDate,
)  # fmt: skip
"""Expressions that give no number with a fraction, whatever they are given."""
_AS_GIVEN: Final = (
    exp.Paren, exp.Neg, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Add, exp.Sub, exp.Mul,
    exp.Mod, exp.Abs, exp.Sum, exp.Min, exp.Max, exp.FirstValue, exp.LastValue, exp.First, exp.Last,
    exp.AnyValue, exp.Distinct, exp.Filter, exp.IgnoreNulls,
)  # fmt: skip
"""Expressions that give such a number only when they are given one."""


@dataclass(slots=True)
class _Definition:
    """What is known of the columns of a definition: names are unique in it."""

    types: Types
    steady: dict[str, bool]
    """Whether equal values of a column are the same value."""

    def learn(self, node: Node) -> None:
        """What a node makes, once all that it reads is known."""
        if isinstance(node, SetOperation):
            # It compares rows as GROUP BY does: Spark gives 0.0 for both zeros, DuckDB either.
            for name in node.columns:
                self.steady.setdefault(name, True)
            return
        for name, items in _made(node):
            kind = self.types.of(column(name))
            if kind and not (items and all(isinstance(item.ast, exp.Column) for item in items)):
                own = _is_steady(kind)
            else:
                own = bool(items) and all(map(self.is_steady, items))
            self.steady[name] = self.steady.get(name, True) and own

    def is_steady(self, item: Scalar) -> bool:
        """Whether equal values of an expression are the same value; a column's are those that were made."""
        if isinstance(item.ast, exp.Column) and item.ast.name in self.steady:
            return self.steady[item.ast.name]
        kind = self.types.of(item)
        return _is_steady(kind) if kind else self.gives_steady(item.ast)

    def gives_steady(self, tree: exp.Expr) -> bool:
        """The same, by what the expression is made of."""
        tree = unwrapped(tree)
        match tree:
            case exp.Column():
                return self.steady.get(tree.name, False)
            case exp.Literal():
                return bool(tree.is_string) or "e" not in tree.name.lower()
            case exp.Cast() | exp.TryCast():
                return _is_steady(tree.to.sql().upper())
            case exp.Case() | exp.If():
                return all(map(self.gives_steady, _branches(tree)))
            case exp.Window():
                return self.gives_steady(tree.this)
            case exp.Anonymous() if tree.name == SINGLE:
                return all(map(self.gives_steady, tree.expressions))
        as_given = isinstance(tree, _AS_GIVEN)
        return isinstance(tree, _NEVER) or (
            as_given and all(map(self.gives_steady, tree.iter_expressions()))
        )


def _is_steady(kind: str) -> bool:
    return _FLOATING.search(kind) is None


def _branches(tree: exp.Case | exp.If) -> list[exp.Expr]:
    """What a choice may give."""
    given = [item.args["true"] for item in tree.args["ifs"]] if isinstance(tree, exp.Case) else []
    others = (tree.args.get(name) for name in ("true", "false", "default"))
    return [*given, *(item for item in others if isinstance(item, exp.Expr))]


def _made(node: Node) -> Iterable[tuple[str, Sequence[Scalar]]]:
    """The columns that a node makes, each with the expressions that its values are those of."""
    match node:
        case Scan():
            return [(name, ()) for name, _ in node.pairs]
        case Projection():
            return [(name, (item,)) for name, item in node.outputs]
        case Aggregate() | Windowed():
            return [(name, (call,)) for name, call in node.calls]
        case UnionAll():
            branches = [[column(name) for name in item.columns] for item in node.inputs]
            return zip(node.columns, zip(*branches, strict=True), strict=True)
        case MarkJoin():
            return [(node.name, (TRUE,))]
        case Values():
            return zip(node.names, zip(*node.rows, strict=True), strict=True)
        case Unnest():
            places = [(node.position, (number(0),))] if node.position else []
            return [*((name, ()) for name in node.names), *places]
    return ()


def unsteady_columns(definition: Node, types: Types) -> frozenset[str]:
    """The columns of a definition, and of what is stored of it, whose equal values need not be the same.

    What rules make beside them counts and marks.
    """
    known = _Definition(types, {})
    for node in walk(definition):
        known.learn(node)
    names = [name for name, steady in known.steady.items() if not steady]
    return frozenset([*names, *map(plain, names)])


def told_apart(node: Node, unsteady: frozenset[str], memo: dict[str, Node] | None = None) -> Node:
    """The tree in which rows stay the rows that they were wherever equal ones are added up."""
    memo = {} if memo is None else memo
    if node.digest not in memo:
        below = rebuilt(node, lambda item: told_apart(item, unsteady, memo))
        if isinstance(below, Consolidate):
            below = replace(below, signed=among(below.columns, unsteady))
        memo[node.digest] = below
    return memo[node.digest]


def among(names: Sequence[str], unsteady: frozenset[str]) -> tuple[str, ...]:
    """Those of some columns whose values are to be told apart."""
    return tuple(name for name in names if name in unsteady)
