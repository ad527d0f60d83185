"""Where a part of a tree stands in the text it was read from, and texts put in its place.

A definition is the user's characters. Whatever has to be changed in them (a table pinned to a
version, a clock that stands still) is put into the span of exactly that part; nothing else moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sqlglot import exp

from grebe.errors import InternalError

KEY = "span"
"""Where a tree's meta keeps its first and last token's places."""


class Span(NamedTuple):
    """The characters from ``start`` up to ``end``, which is not part of it."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The characters themselves."""
        return text[self.start : self.end]

    def holds(self, other: Span) -> bool:
        """True when the other span lies inside this one, or is the same."""
        return self.start <= other.start and other.end <= self.end


def span_of(tree: exp.Expr) -> Span | None:
    """The characters that a tree was read from; None when the parser did not say."""
    known = tree.meta.get(KEY)
    if known is not None:
        return Span(*known)
    if isinstance(tree, exp.Identifier):
        return _of_token(tree)
    if isinstance(tree, exp.Binary):  # the parser builds `a + b + c` from the left in one go
        return _around(tree.this, tree.expression)
    if isinstance(tree, (exp.Column, exp.Table)) and tree.parts:
        return _around(tree.parts[0], tree.parts[-1])
    return None


def _of_token(tree: exp.Expr) -> Span | None:
    start, end = tree.meta.get("start"), tree.meta.get("end")
    if isinstance(start, int) and isinstance(end, int):
        return Span(start, end + 1)
    return None


def _around(first: exp.Expr, last: exp.Expr) -> Span | None:
    begin, end = span_of(first), span_of(last)
    return Span(begin.start, end.end) if begin and end else None


def spliced(text: str, parts: Iterable[tuple[Span, str]]) -> str:
    """The text with some spans replaced; they must not overlap.

    >>> spliced("SELECT a FROM t", [(Span(14, 15), "u"), (Span(7, 8), "b")])
    'SELECT b FROM u'
    """
    return "".join(_pieces(text, sorted(parts)))


def _pieces(text: str, parts: list[tuple[Span, str]]) -> Iterator[str]:
    place = 0
    for span, new in parts:
        if span.start < place:
            raise InternalError.broken("two replaced parts of a text overlap")
        yield text[place : span.start]
        yield new
        place = span.end
    yield text[place:]


def before_splice(span: Span, parts: Iterable[tuple[Span, str]]) -> Span | None:
    """Where a span of a spliced text was before; None when one of its ends was put in.

    >>> before_splice(Span(9, 13), [(Span(7, 8), "bb")])
    Span(start=8, end=12)
    """
    start, end = _before(span.start, parts, last=False), _before(span.end, parts, last=True)
    return None if start is None or end is None else Span(start, end)


def _before(place: int, parts: Iterable[tuple[Span, str]], *, last: bool) -> int | None:
    shift = 0
    for span, new in sorted(parts):
        begin = span.start + shift
        if place < begin or (last and place == begin):
            break
        if place < begin + len(new):
            return span.start if place == begin else None
        if last and place == begin + len(new):
            return span.end
        shift += len(new) - (span.end - span.start)
    return place - shift
