"""Is what the parser read what the engine reads? Asked of the engine, expression by expression.

The algebra holds expressions in words of its own, written from the parser's trees. Here those words
are put into the user's text in the place of his, everything else left as it is, and the engine is
asked whether the two texts are the same to it. Where they are not, the user's characters are kept
inside the algebra (`Opaque`); where that cannot be, the definition has no algebra.

Nothing here knows an engine: ``same`` answers for a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.functions import aggregate_kind
from grebe.compiler.lower.spelling import respelled
from grebe.compiler.parser.chains import is_within
from grebe.compiler.parser.opaque import Opaque
from grebe.compiler.parser.spans import Span, span_of, spliced

Same = Callable[[str], bool]
"""True when a text means to the engine what the user's text means."""

_WRAPPERS: Final = (exp.Alias, exp.Aliases, exp.Ordered, exp.PivotAlias)
_SPLIT: Final = (
    exp.And,
    exp.Or,
    exp.Not,
    exp.Paren,
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Is,
)
"""Operators that the rules look into: their sides are judged on their own."""
_OPERATORS: Final = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Predicate, exp.Bracket)
_UNBRACKETED: Final = (exp.Paren, exp.Dot, exp.Alias, exp.Exists)


@dataclass(frozen=True, slots=True)
class Difference:
    """An expression that the parser reads otherwise than the engine, in both wordings."""

    span: Span
    ours: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the engine said of a translation."""

    kept: frozenset[Span] = frozenset()
    """Expressions that are kept as the user's characters."""
    differences: tuple[Difference, ...] = ()
    """Those that cannot be: the definition has no algebra."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A largest expression without a query in it."""

    span: Span
    tree: exp.Expr


def judged(text: str, tree: exp.Expr, same: Same, dialect: str = "spark") -> Judgement:
    """Which expressions of a query cannot be in the parser's words."""
    return _Judge(text, same, dialect).judge(tree)


@dataclass(slots=True)
class _Judge:
    text: str
    same: Same
    dialect: str
    opaque: set[Span] = field(default_factory=set)
    differences: list[Difference] = field(default_factory=list)

    def judge(self, tree: exp.Expr) -> Judgement:
        parts, brackets = _parts_of(tree)
        whole = [*self.worded(parts), *brackets]
        if self.said_same(whole):
            return Judgement()
        if brackets and not self.said_same(brackets):
            self.differ(Span(0, len(self.text)), spliced(self.text, brackets))
        for part in self.failing(parts):
            self.keep_smallest(part.tree, part.span)
        if not self.differences and not self.said_same([*self.worded(parts), *brackets]):
            self.differ(Span(0, len(self.text)), spliced(self.text, self.worded(parts)))
        return Judgement(frozenset(self.opaque), tuple(self.differences))

    def worded(self, parts: Sequence[_Part]) -> list[tuple[Span, str]]:
        return [(part.span, f"({self.words(part.tree)})") for part in parts]

    def words(self, tree: exp.Expr) -> str:
        return words(tree, self.text, frozenset(self.opaque), self.dialect)

    def said_same(self, pieces: Sequence[tuple[Span, str]]) -> bool:
        return self.same(spliced(self.text, pieces))

    def failing(self, parts: Sequence[_Part]) -> Iterator[_Part]:
        """The parts that differ, found by halving: most texts have few."""
        if not parts or self.said_same(self.worded(parts)):
            return
        if len(parts) == 1:
            yield parts[0]
            return
        middle = len(parts) // 2
        yield from self.failing(parts[:middle])
        yield from self.failing(parts[middle:])

    def keep_smallest(self, tree: exp.Expr, span: Span) -> None:
        """Keep the smallest expressions as they were written that make the rest the same."""
        scalar = _is_scalar(tree)
        if not scalar or isinstance(tree, _SPLIT):
            before = set(self.opaque)
            for part in self.failing(list(_below(tree))):
                self.keep_smallest(part.tree, part.span)
            if self.said_same([(span, f"({self.words(tree)})")]):
                return
            if scalar or not _may_hold_calls(tree):
                self.opaque = before
        if scalar or _may_hold_calls(tree):
            self.opaque.add(span)
        else:
            self.differ(span, self.words(tree))

    def differ(self, span: Span, ours: str) -> None:
        self.differences.append(Difference(span, ours))


def _is_scalar(tree: exp.Expr) -> bool:
    """True for an expression whose value follows from one row, and that is one value."""
    return not any(
        isinstance(node, (exp.Window, exp.Explode, exp.Star, exp.Unnest, exp.Grouping))
        or aggregate_kind(node) is not None
        for node in tree.walk()
    )


def _may_hold_calls(tree: exp.Expr) -> bool:
    """True for an expression over aggregates and windows that is none itself: `log10(max(x))`."""
    if isinstance(tree, (exp.Window, exp.Filter, exp.Distinct)) or aggregate_kind(tree) is not None:
        return False
    return not any(
        isinstance(node, (exp.Explode, exp.Star, exp.Unnest, exp.Grouping, exp.GroupingId))
        for node in tree.walk()
        if not isinstance(node.parent, exp.Count)
    )


def _parts_of(tree: exp.Expr) -> tuple[list[_Part], list[tuple[Span, str]]]:
    """The largest expressions without a query, and brackets around operands that hold one."""
    parts: list[_Part] = []
    brackets: list[tuple[Span, str]] = []
    waiting: list[exp.Expr] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Hint):  # the parser reads it apart: its places are not the text's
            continue
        part = _part(node)
        if part is not None:
            if not isinstance(node, (exp.Column, exp.Star)) and not _is_ordinal(node):
                parts.append(part)
            continue
        if _needs_brackets(node):
            brackets += _around(span_of(node))
        waiting.extend(node.iter_expressions())
    return sorted(parts, key=lambda item: item.span), brackets


def _around(span: Span | None) -> list[tuple[Span, str]]:
    """Brackets around a span; what stands at no known place makes a text that nobody accepts."""
    if span is None:
        return [(Span(0, 0), "?")]
    return [(Span(span.start, span.start), "("), (Span(span.end, span.end), ")")]


def _part(node: exp.Expr) -> _Part | None:
    """The node when it is an expression of its own without a query in it."""
    if not isinstance(node, exp.Condition) or isinstance(node, (*_WRAPPERS, exp.Query, exp.Lambda)):
        return None
    span = span_of(node)
    if span is None or isinstance(node, (exp.DataType, exp.Identifier, exp.Star, exp.Dot)):
        return None if not isinstance(node, exp.Dot) or span is None else _Part(span, node)
    if _stands_apart(node) or node.find(exp.Query):
        return None
    return _Part(span, node)


def _stands_apart(node: exp.Expr) -> bool:
    """True for what looks like an expression and is part of a clause: no brackets go around it."""
    parent = node.parent
    if isinstance(parent, exp.Is):  # `x IS NULL`, `x IS FALSE`: words, no values
        return node is parent.expression
    return isinstance(
        parent,
        (exp.Limit, exp.Offset, exp.Fetch, exp.TableAlias, exp.CTE, exp.Pivot, exp.WindowSpec,
         exp.TableSample, exp.Hint, exp.Table, exp.Lateral, exp.Values, exp.Interval,
         exp.GroupingSets, exp.Cube, exp.Rollup),
    )  # fmt: skip


def _is_ordinal(node: exp.Expr) -> bool:
    """A number in GROUP BY or ORDER BY names an output."""
    return (
        isinstance(node, exp.Literal)
        and not node.is_string
        and isinstance(node.parent, (exp.Group, exp.Ordered))
    )


def _needs_brackets(node: exp.Expr) -> bool:
    """True for an operand that holds a query, so that its operator's reach is shown."""
    parent = node.parent
    if isinstance(node, exp.SetOperation):
        if isinstance(parent, exp.Subquery) and span_of(parent) is None:
            parent = parent.parent  # the parser puts brackets where it finds none
        return isinstance(parent, exp.SetOperation)
    return (
        isinstance(node, _OPERATORS)
        and not _is_negated_inside(node)
        and not isinstance(node, _UNBRACKETED)
        and isinstance(parent, _OPERATORS)
        and not isinstance(parent, exp.Paren)
        and not is_within(node, parent)
        and not isinstance(node, exp.Query)
    )


def _is_negated_inside(node: exp.Expr) -> bool:
    """True for the `IN` of `x NOT IN (…)`: the NOT stands inside of it and reaches no further."""
    if not isinstance(node, (exp.In, exp.Between)) or not isinstance(node.parent, exp.Not):
        return False
    whole, left = span_of(node.parent), span_of(node.this)
    return span_of(node) is None and bool(whole and left and whole.start == left.start)


def _below(tree: exp.Expr) -> Iterator[_Part]:
    """The largest expressions inside of an expression."""
    for child in tree.iter_expressions():
        part = _part(child)
        if part is None:
            yield from _below(child)
        elif not isinstance(child, exp.Column):
            yield part


def words(
    tree: exp.Expr, text: str, kept: frozenset[Span] = frozenset(), dialect: str = "spark"
) -> str:
    """The expression in the parser's words over the user's names, every operand in brackets.

    ``kept`` are the spans that stay as the user's characters.
    """

    def change(node: exp.Expr) -> exp.Expr:
        span = span_of(node) if kept else None
        if span in kept and not isinstance(node, exp.Identifier):
            return Opaque(this=span.of(text), expressions=[])
        return respelled(node, dialect)

    built = tree.copy().transform(change, copy=False)
    return bracketed(built).sql(dialect, comments=False)


def bracketed(tree: exp.Expr) -> exp.Expr:
    """The tree with brackets around every operand that is an operation itself."""
    for node in list(tree.walk()):
        if not isinstance(node, _OPERATORS) or isinstance(node, _UNBRACKETED):
            continue
        for child in list(node.iter_expressions()):
            if is_within(child, node):
                continue  # read from the left by both: brackets there would be as many as operands
            if isinstance(child, _OPERATORS) and not isinstance(child, (*_UNBRACKETED, exp.Query)):
                child.replace(exp.Paren(this=child.copy()))
    return tree
