"""A name as a person writes it, in its parts."""

from __future__ import annotations

import re

from grebe.errors import UnknownTableError

_NAME_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s.`]+))\s*(\.|$)")


def split_name(text: str) -> tuple[str, ...]:
    """The parts of a dotted name, backquotes removed.

    >>> split_name("lake.sales.`odd.name`")
    ('lake', 'sales', 'odd.name')
    """
    parts: list[str] = []
    at, dot = 0, "."
    while dot:
        found = _NAME_PART.match(text, at)
        if found is None:
            raise UnknownTableError(f"'{text}' is not a table name", hint="write schema.table")
        parts.append(found[1].replace("``", "`") if found[1] else found[2])
        at, dot = found.end(), found[3]
    return tuple(parts)
