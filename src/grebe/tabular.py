"""Tables for people: plain text in a terminal or a log, HTML in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from grebe.errors import GrebeError
from grebe.secrets import masked


class Tabular:
    """Something that is best seen as a table."""

    __slots__ = ()

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """Headings and cells."""
        raise NotImplementedError

    def __str__(self) -> str:
        return table(*self.rows())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """What a notebook shows; it must never fail, so whatever happens is shown instead."""
        try:
            headings, rows = self.rows()
        except Exception as error:  # a repr that raises would hide the cell's own result
            return {"text/plain": f"{type(self).__name__}: {error}"}
        return {"text/plain": table(headings, rows), "text/html": html(headings, rows)}


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Cells in columns, two spaces apart; nothing is cut off."""
    cells = [[_line(cell) for cell in row] for row in rows]
    widths = [
        max([len(heading), *(len(row[place]) for row in cells)])
        for place, heading in enumerate(headings)
    ]
    lines = [headings, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def html(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The same as HTML; whatever people wrote is text, never markup."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_line(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _line(cell: object) -> str:
    return " ".join(str(cell).split())


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
