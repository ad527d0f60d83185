"""Scalar expressions: a parsed tree that nobody changes, with its text and the columns it reads.

Every column inside a compiled query has a name of its own (`lower` sees to that), so a bare name
is enough to say which column is meant, in any operator and on both sides of a join.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import ErrorLevel, exp

from grebe.compiler.budget import too_large
from grebe.compiler.parser.chains import chain
from grebe.compiler.parser.opaque import Opaque
from grebe.sql_text import quote

LONGEST: Final = 200_000
"""Characters of an expression that others were put into; one may double with every level."""


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """An immutable expression. Two are equal when their texts are."""

    ast: exp.Expr
    text: str
    columns: frozenset[str]

    @staticmethod
    def of(ast: exp.Expr) -> Scalar:
        """The scalar of a tree; the caller gives the tree away."""
        if isinstance(ast, exp.Column) and ast.this.args.get("quoted") and len(ast.parts) == 1:
            return Scalar(ast, _quoted(ast.name), frozenset((ast.name,)))
        columns = frozenset(column.name for column in ast.find_all(exp.Column))
        return Scalar(ast, ast.sql(comments=False, unsupported_level=ErrorLevel.IGNORE), columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Scalar({self.text})"

    @property
    def column(self) -> str | None:
        """The name when this is nothing but a column, else None."""
        return self.ast.name if isinstance(self.ast, exp.Column) else None

    @property
    def is_literal(self) -> bool:
        """True for a constant that needs no row: a literal, NULL, TRUE, or a cast of one."""
        tree = self.ast
        while isinstance(tree, (exp.Cast, exp.Paren)):
            tree = tree.this
        return not self.columns and not tree.find(exp.Func, exp.Subquery)

    def copy(self) -> exp.Expr:
        """A tree that the caller may put into a larger one."""
        return self.ast.copy()


def column(name: str) -> Scalar:
    """The scalar that reads one column."""
    ast = exp.Column(this=exp.to_identifier(name, quoted=True))
    return Scalar(ast, _quoted(name), frozenset((name,)))


def passed(names: Sequence[str]) -> tuple[tuple[str, Scalar], ...]:
    """Columns handed on as they are."""
    return tuple((name, column(name)) for name in names)


def _quoted(name: str) -> str:
    """What `sql` would give, without the cost of a generator for the most frequent tree."""
    return quote(name, "duckdb")


def number(value: int) -> Scalar:
    """An integer literal."""
    return Scalar.of(exp.Literal.number(value))


def text(value: str) -> Scalar:
    """A string literal."""
    return Scalar.of(exp.Literal.string(value))


TRUE: Final = Scalar.of(exp.true())
FALSE: Final = Scalar.of(exp.false())
NULL: Final = Scalar.of(exp.null())


def cast(item: Scalar, kind: str, dialect: str) -> Scalar:
    """The value as another type, which is spelled as ``dialect`` spells it.

    >>> cast(column("a"), "decimal(10,2)", "spark").text
    'CAST("a" AS DECIMAL(10, 2))'
    """
    return Scalar.of(exp.Cast(this=item.copy(), to=exp.DataType.build(kind, dialect=dialect)))


def null_like(item: Scalar) -> Scalar:
    """NULL with the type of another expression, whatever that is."""
    return build("CASE WHEN FALSE THEN :x END", x=item)


def likeness(item: Scalar) -> Scalar:
    """The expression whose type a ``null_like`` has; any other expression itself."""
    tree = item.ast
    if not isinstance(tree, exp.Case) or tree.this or tree.args.get("default"):
        return item
    (branch, *others) = tree.args["ifs"]
    never = not others and isinstance(branch.this, exp.Boolean) and not branch.this.this
    return Scalar.of(branch.args["true"].copy()) if never else item


def all_of(conjuncts: Iterable[Scalar]) -> Scalar:
    """The conjunction; TRUE when there is nothing to require."""
    kept = [item for item in conjuncts if item != TRUE]
    if not kept:
        return TRUE
    if len(kept) == 1:
        return kept[0]
    return Scalar.of(chain(exp.And, [_wrapped(item) for item in kept]))


def _wrapped(item: Scalar) -> exp.Expr:
    tree = item.copy()
    return exp.paren(tree, copy=False) if isinstance(tree, exp.Connector) else tree


def conjuncts_of(predicate: Scalar) -> tuple[Scalar, ...]:
    """The parts of a conjunction, without the parentheses around them."""
    tree = predicate.ast.unnest()
    if isinstance(tree, exp.And):
        return tuple(Scalar.of(part.unnest()) for part in tree.flatten())
    return () if predicate == TRUE else (Scalar.of(tree),)


def true_only(condition: Scalar) -> Scalar | None:
    """The condition inside ``COALESCE(condition, FALSE)``, else None."""
    tree = condition.ast
    if isinstance(tree, exp.Coalesce) and [str(item) for item in tree.expressions] == ["FALSE"]:
        return Scalar.of(tree.this.copy().unnest())
    return None


def never_null(condition: Scalar) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """The conjuncts that are TRUE or FALSE for any row, and those that may be unknown."""
    parts = conjuncts_of(condition)
    sure = tuple(item for item in parts if isinstance(item.ast, exp.NullSafeEQ))
    return sure, tuple(item for item in parts if item not in sure)


def equated(item: Scalar) -> tuple[str, str] | None:
    """The two columns that a condition makes equal, if it is nothing else."""
    tree = item.ast
    if isinstance(tree, (exp.EQ, exp.NullSafeEQ)):
        left, right = tree.this.unnest(), tree.expression.unnest()
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            return left.name, right.name
    return None


def equals(left: Scalar, right: Scalar) -> Scalar:
    """``left = right`` as SQL means it: NULL when a side is NULL."""
    return Scalar.of(exp.EQ(this=_operand(left), expression=_operand(right)))


def same(left: Scalar, right: Scalar) -> Scalar:
    """Null-safe equality: for keys and for the identity of rows."""
    return Scalar.of(exp.NullSafeEQ(this=_operand(left), expression=_operand(right)))


def _operand(item: Scalar) -> exp.Expr:
    tree = item.copy()
    return tree if is_closed(tree) else exp.paren(tree, copy=False)


def is_closed(tree: exp.Expr) -> bool:
    """True when the text of a tree can stand beside any operator as it is.

    The parser's library counts AND, OR and some infix operators as functions too.
    """
    if isinstance(tree, (exp.Connector, exp.Binary)):
        return isinstance(tree, exp.Dot)
    closed = (exp.Column, exp.Literal, exp.Func, exp.Cast, exp.Paren, exp.Null, exp.Window, Opaque)
    return isinstance(tree, closed)


def substitute(scalar: Scalar, by: Mapping[str, Scalar]) -> Scalar:
    """The scalar with columns replaced by other scalars; others stay."""
    if not scalar.columns.intersection(by):
        return scalar
    if scalar.column is not None:
        return by[scalar.column]
    read = (tree.name for tree in scalar.ast.find_all(exp.Column))
    if len(scalar.text) + sum(len(by[name].text) for name in read if name in by) > LONGEST:
        raise too_large()

    def replace(tree: exp.Expr) -> exp.Expr:
        if isinstance(tree, exp.Column) and tree.name in by:
            return _operand(by[tree.name])
        return tree

    return Scalar.of(scalar.copy().transform(replace, copy=False))


def rename(scalar: Scalar, names: Mapping[str, str]) -> Scalar:
    """The scalar with columns renamed."""
    return substitute(scalar, {old: column(new) for old, new in names.items()})


def build(template: str, **parts: Scalar) -> Scalar:
    """A scalar from SQL text in which ``:name`` stands for a part.

    >>> build("COALESCE(:x, 0) > :y", x=column("a"), y=number(1)).text
    'COALESCE("a", 0) > 1'
    """
    tree: exp.Expr = exp.maybe_parse(template, copy=False)

    def replace(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Placeholder) and node.name in parts:
            return _operand(parts[node.name])
        return node

    return Scalar.of(tree.transform(replace, copy=False))
