"""A text without its comments, every other character in its place."""

from __future__ import annotations

import re
from typing import Final

_PIECES: Final = re.compile(
    r"""
      '(?:[^'\\]|\\.|'')*'            # strings and names hold no comments
    | "(?:[^"\\]|\\.|"")*"
    | `(?:[^`]|``)*`
    | --[^\n]*
    | /\*
    """,
    re.VERBOSE | re.DOTALL,
)


def blanked(text: str) -> str:
    r"""The text with blanks where its comments stood; hints are no comments.

    A comment between two words that belong together (`ORDER /* by */ BY`) hides them from the
    parser otherwise.

    >>> blanked("SELECT a -- the '\nFROM t /* x */ WHERE b = '-- no' /*+ hint */")
    "SELECT a         \nFROM t         WHERE b = '-- no' /*+ hint */"
    """
    pieces: list[str] = []
    at = 0
    while (found := _PIECES.search(text, at)) is not None:
        pieces.append(text[at : found.start()])
        piece, end = found[0], found.end()
        if piece == "/*":
            end = _end_of_comment(text, found.start())
            piece = text[found.start() : end]
        is_comment = piece.startswith(("--", "/*")) and not piece.startswith("/*+")
        pieces.append(re.sub(r"[^\n]", " ", piece) if is_comment else piece)
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _end_of_comment(text: str, start: int) -> int:
    """Where a comment in brackets ends; they can hold each other."""
    depth = 0
    for found in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return start + found.end()
    return len(text)
