"""Corpus: the queries of TPC with comments, hints, odd spacing, other case and quoted names put in."""

from __future__ import annotations

from collections.abc import Callable, Set
from random import Random

from meaning.words import Word, words

COMMENTS = (
    "/* nothing */", "-- to the end of the line\n", "/* 'a quote */", "-- \"another; SELECT 1\n", "/**/",
    "/* -- */", "-- /* not open\n", "/* ` */", "/*x*/", "--'\n", "/* é 日本 😀 */",
)  # fmt: skip
SPACES = (" ", "  ", "\n", "\t", "\r\n", "\n\n  ", " \t ")
HINTS = (
    "/*+ COALESCE(1) */",
    "/*+ REPARTITION(2) */",
    "/*+ BROADCAST(nation) */",
    "/*+ MERGE(x), COALESCE(3) */",
)
_DISTANCE = 9
"""Every so many words something is put between two of them."""


def disguised(text: str, rng: Random, names: Set[str], tables: Set[str]) -> str:
    """Another text of the same meaning; names may be quoted, those of tables keep their case."""
    made: list[str] = []
    first = True
    before = Word("space", "")
    for word in words(text):
        # A comment to the end of its line has to find that end.
        made.append("\n" if before.text.startswith("--") else _word(word, rng, names, tables))
        if word.plain == "select" and first and rng.random() < 0.7:
            made.append(f" {rng.choice(HINTS)} ")
            first = False
        elif word.kind == "space" and not rng.randrange(_DISTANCE):
            made.append(f"{rng.choice(COMMENTS)}{rng.choice(SPACES)}")
        before = word
    tail = rng.choice(("", " ", "\n-- the end", "/* the end */"))
    return "".join(made) + ("" if before.kind == "space" else tail)


def _word(word: Word, rng: Random, names: Set[str], tables: Set[str]) -> str:
    change: Callable[[str], str] = rng.choice((str, str.upper, str.lower, str.title, str.swapcase))
    if word.kind == "space":
        return rng.choice(SPACES)
    if word.kind == "name" and word.text in tables:
        return rng.choice((word.text, f"`{word.text}`"))
    if word.kind == "name":
        if word.plain in names and not rng.randrange(4):
            return f"`{change(word.text)}`"
        return change(word.text)
    return word.text
