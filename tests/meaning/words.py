"""SQL texts cut into words, so that corpora can be made of them: never by the compiler's parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WORD = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<hint>/\*\+.*?\*/)
    | (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<string>[rR]'[^']*'|[rR]"[^"]*"|[xX]'[^']*'|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
    | (?P<quoted>`(?:``|[^`])*`)
    | (?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[LSYDFlsydf])?(?![\w]))
    | (?P<name>[^\W\d]\w*|\d+\w+)
    | (?P<sign><=>|>>>|->>|<>|!=|==|<=|>=|\|\||::|->|=>|<<|>>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ENDS = frozenset(
    ["from", "where", "group", "order", "having", "limit", "lateral", "window", "union", "qualify"]
)
_TYPED = frozenset(["date", "timestamp", "timestamp_ntz", "timestamp_ltz", "time"])


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a text: its kind and its characters."""

    kind: str
    text: str

    @property
    def plain(self) -> str:
        """The characters in lower case, for comparing key words."""
        return self.text.lower()


def words(text: str) -> list[Word]:
    """All pieces of a text; joined they are the text."""
    return [Word(str(found.lastgroup), found.group()) for found in _WORD.finditer(text)]


def joined(pieces: Sequence[Word]) -> str:
    """The text of some pieces."""
    return "".join(piece.text for piece in pieces)


def select_list(text: str) -> list[str] | None:
    """The items of `SELECT a, b, …` when nothing follows them; None for any other query."""
    pieces = words(text.strip().rstrip(";").strip())
    if not pieces or pieces[0].plain != "select":
        return None
    items: list[list[Word]] = [[]]
    depth = 0
    for piece in pieces[1:]:
        if piece.kind == "sign":
            depth += (piece.text in "([") - (piece.text in ")]")
        if depth == 0 and piece.kind == "name" and piece.plain in _ENDS:
            return None
        if depth == 0 and piece.text == ",":
            items.append([])
        else:
            items[-1].append(piece)
    return [joined(item).strip() for item in items]


def without_alias(item: str) -> str:
    """An item of a SELECT list without its own `AS name`."""
    pieces = [piece for piece in words(item) if piece.kind != "comment"]
    while pieces and pieces[-1].kind == "space":
        pieces.pop()
    if len(pieces) > 4 and pieces[-3].plain == "as" and pieces[-1].kind in ("name", "quoted"):
        return joined(pieces[:-3]).strip()
    return item


def literals(text: str) -> Iterator[tuple[int, int]]:
    """The places of literals among the words of a text: from, up to. `DATE '…'` is one."""
    pieces = words(text)
    for place, piece in enumerate(pieces):
        if piece.kind == "number":
            yield place, place + 1
        elif piece.kind == "string" or piece.plain in ("true", "false"):
            before = place - 1
            if before >= 0 and pieces[before].kind == "space":
                before -= 1
            typed = before >= 0 and pieces[before].plain in _TYPED and piece.kind == "string"
            yield before if typed else place, place + 1
