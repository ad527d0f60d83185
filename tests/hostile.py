"""Names that generated SQL could take for its own: every generator of tests draws from them.

A view as plain as `SELECT id, name FROM w` once lost rows because generated SQL called a row id
`id`. What it makes up has a prefix that no user's name has; these names see to it that a name
without the prefix meets one of a user.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import Final

WORDS: Final = (
    *("id", "rowid", "row", "rows", "stored", "found", "ids", "copies", "source", "delta"),
    *("changes", "key", "c", "q", "build", "present", "wanted", "weight", "value", "type"),
    *("name", "date", "order", "group", "all", "target", "change", "query", "visible", "action"),
    *("step", "entry", "matches", "partition", "sort", "count", "n", "old", "new", "again"),
    *("touched", "keys", "one", "near", "verbatim", "path", "pos", "base", "mark", "file"),
)
"""Plain words: what generated SQL calls, or once called, something of its own."""

RESERVED: Final = (
    *("select", "from", "where", "table", "join", "using", "when", "case", "null", "true", "union"),
    *("distinct", "lateral", "window", "interval", "timestamp", "array", "struct", "exists", "any"),
)
"""Words of SQL itself."""

ODD: Final = (
    *("Order Line", "a.b", "it's", "tick`s", 'say "x"', "Größe", "1st", "CamelCase", "semi;colon"),
    *("--", "/* no */", "x, y", "{x}", "%s", "?", ":x", "$1", "\\n", "ROWS BETWEEN", "amount_2"),
)
"""Names that have to be quoted, in other letter cases, with marks of every kind."""

POOL: Final = (*WORDS, *RESERVED, *ODD)


def without_mapping(names: Iterable[str]) -> list[str]:
    """The names that a Delta table cannot have unless its columns are mapped."""
    return [name for name in names if set(name) & set(" ,;{}()\n\t=")]


def drawn(
    names: Iterable[str], rng: Random, pool: Collection[str] = POOL, without: Collection[str] = ()
) -> dict[str, str]:
    """A hostile name for each name, no two alike in any letter case; ``without`` these."""
    barred = {name.lower() for name in without}
    free = [name for name in dict.fromkeys(pool) if name.lower() not in barred]
    rng.shuffle(free)
    found: dict[str, str] = {}
    for place, name in enumerate(dict.fromkeys(names)):
        again = place // len(free)
        found[name] = free[place % len(free)] + (f" {again}" if again else "")
    return found


_TOKEN: Final = re.compile(r"'(?:[^']|'')*'|[A-Za-z_]\w*")


def disguised(sql: str, names: Mapping[str, str], mark: str) -> str:
    """A text of plain words in which some of them are other names, quoted by ``mark``."""

    def replaced(found: re.Match[str]) -> str:
        word = names.get(found[0])
        return found[0] if word is None else mark + word.replace(mark, mark * 2) + mark

    return _TOKEN.sub(replaced, sql)


def words_in(sql: str, pattern: str) -> list[str]:
    """The words of a text that match a pattern, each once, in order."""
    whole = re.compile(pattern)
    return list(dict.fromkeys(word for word in _TOKEN.findall(sql) if whole.fullmatch(word)))
