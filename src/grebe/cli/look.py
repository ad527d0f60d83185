"""What the output is read on: how wide it is, whether it shows colours, and how names are said there."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TextIO

from grebe.model import TableName
from grebe.sql_text import PREFIX
from grebe.tabular import TableStyle, folded

if TYPE_CHECKING:
    from grebe.config import Settings

_STAGED: Final = re.compile(rf"(?:[\w-]+\.)*{PREFIX}stage_\w+")
_STORED: Final = re.compile(rf"(?:[\w-]+\.)*{PREFIX}([^\s.`\"']+?)_[0-9a-f]{{8}}(?![0-9a-z])")
_OWN: Final = re.compile(rf"(?:[\w-]+\.)*{PREFIX}\w+")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


def width_of(stream: TextIO, environment: Mapping[str, str] = os.environ) -> int | None:
    """The columns of a terminal, or those that COLUMNS asks for; None for a file or a pipe."""
    asked = environment.get("COLUMNS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return max(20, shutil.get_terminal_size().columns) if stream.isatty() else None


def has_colours(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether colours are shown: NO_COLOR and FORCE_COLOR decide, then what the stream is."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_live(stream, environment)


def is_live(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a line can be written anew: a terminal that is not dumb."""
    return stream.isatty() and environment.get("TERM") != "dumb"


def style_of(settings: Settings | None, *, wide: bool) -> TableStyle:
    """How tables are written to stdout now."""
    say = str if settings is None or wide else said_in(settings)
    return TableStyle(width_of(sys.stdout), has_colours(sys.stdout), say)


def said_in(settings: Settings) -> Callable[[object], str]:
    """Says names as people wrote them: without the catalog and the schema that complete them."""

    def say(cell: object) -> str:
        return short_name(cell, settings) if isinstance(cell, TableName) else str(cell)

    return say


def short_name(name: TableName, settings: Settings) -> str:
    """The shortest text that means this table in the project."""
    defaults = settings.defaults
    parts = (name.catalog, name.schema, name.name)
    if name.catalog != defaults.catalog or any("." in part for part in (name.schema, name.name)):
        return ".".join(parts)
    return name.name if name.schema == defaults.schema else f"{name.schema}.{name.name}"


def in_words(text: str, settings: Settings | None = None) -> str:
    """A text without the names of tables that only grebe uses."""
    text = _STAGED.sub("a staged table", text)
    text = _STORED.sub(r"the table of \1", text)
    return _OWN.sub("a table of grebe's own", text)


def folded_text(text: str, stream: TextIO) -> str:
    """A text whose lines fit; those that do are left as they are."""
    width = width_of(stream)
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _folded_line(line, width))


def _folded_line(line: str, width: int) -> list[str]:
    if len(_COLOUR.sub("", line)) <= width:
        return [line]
    indent = min(len(line) - len(line.lstrip()), width // 2)
    first, *rest = folded(line.strip(), width - indent, "  ")
    return [" " * indent + first, *(" " * indent + part for part in rest)]
