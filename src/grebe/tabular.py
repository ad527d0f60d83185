"""Tables for people: plain text in a terminal or a log, HTML in a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from grebe.errors import GrebeError
from grebe.secrets import masked

COLOURS: Final[Mapping[str, str]] = {
    "fresh": "32",
    "incremental": "32",
    "equals its query": "32",
    "ok": "32",
    "no_op": "2",
    "stale": "33",
    "full": "33",
    "never refreshed": "33",
    "running": "36",
    "failed": "31",
    "invalid": "31",
    "died": "31",
    "PROBLEM": "31",
    "differs": "31",
}
"""What a word of state looks like; the word itself always stands there too."""
LINES: Final = 10
"""What one view says of itself, at most."""
_NARROWEST: Final = 8
"""Characters that a folded column keeps at least."""
_LONG: Final = 0.6
"""The share of the width from which a last column goes below its row."""
_BREAKS: Final = re.compile(r"(?<=[\s._/,:@=-])")


@dataclass(frozen=True, slots=True)
class TableStyle:
    """How a table is written: as wide as what it is read on, with or without colours."""

    width: int | None = None
    """Columns that there are; None: as many as it takes."""
    colours: bool = False
    say: Callable[[object], str] = str
    """How a cell that is no text is said: names as people wrote them."""


PLAIN: Final = TableStyle()


class Tabular:
    """Something that is best seen as a table."""

    __slots__ = ()

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """Headings and cells."""
        raise NotImplementedError

    def wide_rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """The same with what only few ask for: versions, ids of runs."""
        return self.rows()

    def __str__(self) -> str:
        return table(*self.rows())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """What a notebook shows; it must never fail, so whatever happens is shown instead."""
        try:
            headings, rows = self.rows()
        except Exception as error:  # a repr that raises would hide the cell's own result
            return {"text/plain": f"{type(self).__name__}: {error}"}
        return {"text/plain": table(headings, rows), "text/html": html(headings, rows)}


class Printed:
    """Something that says itself in a few lines of text, also in a notebook."""

    __slots__ = ()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """What a notebook shows; it must never fail, so whatever happens is shown instead."""
        try:
            text = str(self)
        except Exception as error:  # a repr that raises would hide the cell's own result
            text = f"{type(self).__name__}: {error}"
        return {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}


def first_lines(text: str, more: str) -> str:
    """The first lines of a text; where it goes on, how the rest is had."""
    lines = text.split("\n")
    if len(lines) <= LINES:
        return text
    return "\n".join([*lines[: LINES - 1], f"... {len(lines) - LINES + 1} more lines: {more}"])


def table(
    headings: Sequence[str], rows: Sequence[Sequence[object]], look: TableStyle = PLAIN
) -> str:
    """Cells in columns, two spaces apart; nothing is cut off, what does not fit is folded.

    Where not even folded columns fit beside each other, every row becomes lines of its own.
    """
    cells = [[_line(cell, look.say) for cell in row] for row in rows]
    if look.width is not None:
        headings, cells = _without_empty(headings, cells)
    widths = _widths(headings, cells)
    below: list[str] = []
    if look.width is not None and _total(widths) > look.width:
        if len(headings) > 1 and widths[-1] > look.width * _LONG:
            below = [f"{headings[-1]}: {row[-1]}" for row in cells]
            headings, cells = headings[:-1], [row[:-1] for row in cells]
            widths = widths[:-1]
        narrow = _narrowed(headings, widths, look.width)
        if narrow is None:
            return "\n".join(_beneath(headings, cells, below, look))
        widths = narrow
    lines = [*_folded(headings, widths), ["-" * width for width in widths]]
    parts = ["  ".join(_padded(line, widths, PLAIN)).rstrip() for line in lines]
    for number, row in enumerate(cells):
        parts += [
            "  ".join(_padded(line, widths, look, row)).rstrip() for line in _folded(row, widths)
        ]
        if below:
            parts += ["  " + part for part in folded(below[number], (look.width or 80) - 2, "  ")]
    return "\n".join(parts)


def coloured(text: str, state: str) -> str:
    """A text in the colour of a state, if that has one."""
    code = COLOURS.get(state)
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def folded(text: str, width: int, indent: str = "") -> list[str]:
    """A text in lines of at most so many characters; long words break after a sign, or anywhere."""
    room, lines, line = max(1, width - len(indent)), [], ""
    for part in _parts(text, room):
        if len(line) + len(part.rstrip()) > room:
            lines.append(line.rstrip())
            line = ""
        line += part if line or part.strip() else ""
    lines.append(line.rstrip())
    return [lines[0], *(indent + item for item in lines[1:])] if lines else [""]


def html(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The same as HTML; whatever people wrote is text, never markup."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_line(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _line(cell: object, say: Callable[[object], str] = str) -> str:
    if isinstance(cell, tuple):
        return ", ".join(_line(item, say) for item in cell)
    return " ".join(say(cell).split())


def _without_empty(
    headings: Sequence[str], cells: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """The columns in which something stands."""
    if not cells:
        return list(headings), []
    places = [n for n in range(len(headings)) if n == 0 or any(row[n] for row in cells)]
    return [headings[n] for n in places], [[row[n] for n in places] for row in cells]


def _widths(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    return [
        max([len(heading), *(len(row[place]) for row in cells)])
        for place, heading in enumerate(headings)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _narrowed(headings: Sequence[str], widths: Sequence[int], limit: int) -> list[int] | None:
    """Widths that fit: the widest column gives first; None when it would become unreadable."""
    least = [
        min(width, max(_NARROWEST, len(heading)))
        for width, heading in zip(widths, headings, strict=True)
    ]
    found = list(widths)
    while _total(found) > limit:
        able = [place for place, width in enumerate(found) if width > least[place]]
        if not able:
            return None
        found[max(able, key=lambda place: found[place])] -= 1
    return found


def _folded(row: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    columns = [folded(cell, width) for cell, width in zip(row, widths, strict=True)]
    height = max((len(column) for column in columns), default=1)
    return [[column[n] if n < len(column) else "" for column in columns] for n in range(height)]


def _padded(
    line: Sequence[str], widths: Sequence[int], look: TableStyle, row: Sequence[str] = ()
) -> Iterator[str]:
    for place, (part, width) in enumerate(zip(line, widths, strict=True)):
        padding = " " * (width - len(part))
        state = row[place] if row else ""
        yield (coloured(part, state) if look.colours and part else part) + padding


def _beneath(
    headings: Sequence[str], cells: Sequence[Sequence[str]], below: Sequence[str], look: TableStyle
) -> Iterator[str]:
    """Every row as lines: its first cell, and below it what else it says."""
    width = look.width or 80
    for number, row in enumerate(cells):
        yield from folded(row[0], width)
        for heading, cell in zip(headings[1:], row[1:], strict=True):
            for line in folded(f"{heading}: {cell}", width - 2, "  ") if cell else ():
                yield "  " + (coloured(line, cell) if look.colours else line)
        if below:
            yield from ("  " + line for line in folded(below[number], width - 2, "  "))


def _parts(text: str, room: int) -> Iterator[str]:
    for part in _BREAKS.split(text):
        while len(part.rstrip()) > room:
            yield part[:room]
            part = part[room:]
        yield part


def error_to_dict(error: BaseException) -> dict[str, Any]:
    """An error as plain values."""
    if not isinstance(error, GrebeError):
        return {"code": "unexpected", "message": masked(str(error)) or type(error).__name__}
    return {
        "code": error.code,
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
        "where": str(error.where) if error.where else None,
    }
