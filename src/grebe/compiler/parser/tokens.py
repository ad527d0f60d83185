"""The words of a text as its dialect cuts them, each with its span."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

from grebe.compiler.parser.comments import blanked
from grebe.compiler.parser.dialect import READ
from grebe.compiler.parser.spans import Span


class Word(NamedTuple):
    """A name in the text: where, and whether it is called or follows a dot."""

    name: str
    span: Span
    is_call: bool
    after_dot: bool


def tokens_of(text: str, dialect: str) -> list[Token]:
    """The tokens of a text, without comments."""
    found: list[Token] = []
    for token in READ[dialect].get_or_raise(READ[dialect]).tokenize(blanked(text)):
        # A number with a suffix becomes a number and a cast that stand at the same place.
        if not found or token.start > found[-1].end:
            found.append(token)
    return found


def words_of(text: str, whole: Span, dialect: str) -> Iterator[Word]:
    """Everything inside a span that could be a name."""
    tokens = tokens_of(whole.of(text), dialect)
    for index, token in enumerate(tokens):
        if token.token_type in (TokenType.STRING, TokenType.NUMBER):
            continue
        following = tokens[index + 1].token_type if index + 1 < len(tokens) else None
        before = tokens[index - 1].token_type if index else None
        span = Span(whole.start + token.start, whole.start + token.end + 1)
        yield Word(token.text, span, following is TokenType.L_PAREN, before is TokenType.DOT)


def pieces_of(text: str, whole: Span, holes: Sequence[Span], dialect: str) -> list[str]:
    """The characters of a span before, between and behind its holes.

    One blank stands where there were blanks or comments, so that two ways to space an expression
    are one.

    >>> pieces_of("f( a ,/* the second */  b )", Span(0, 27), [Span(3, 4)], "spark")
    ['f( ', ' , b )']
    """
    inside = whole.of(text)
    pieces, end = [""], 0
    for token in tokens_of(inside, dialect):
        if token.start > end:
            pieces[-1] += " "
        end = token.end + 1
        span = Span(whole.start + token.start, whole.start + end)
        hole = next((hole for hole in holes if hole.holds(span)), None)
        if hole is None:
            pieces[-1] += inside[token.start : end]
        elif hole.end == span.end:  # a name of several parts ends here
            pieces.append("")
    return pieces
