"""What a definition names before any table is looked at: its paths, and the links they lead over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grebe.compiler.text.declarative.declared import Declared
from grebe.compiler.text.declarative.links import Link, Links

Step = tuple[str, str, Link]
"""A table (or `table.array`), the name of a link of it, and the link."""


def used_links(known: Declared, links: Links) -> tuple[Step, ...]:
    """The links that the paths of a definition lead over, each once, in order."""
    found: dict[tuple[str, str], Step] = {}
    joined = {*known.expand, *(path for path, _ in known.flatten), known.unnest}
    for path in _paths(known):
        at = known.source
        parts = path.split(".")
        for place, part in enumerate(parts):
            link = links.get(at, {}).get(part)
            if place == len(parts) - 1 and path not in joined and link and link.column == part:
                break  # the column itself is meant, not what it leads to
            if link is not None:
                found[at, part] = (at, part, link)
            at = link.to if link is not None else f"{at}.{part}"
    return tuple(found[place] for place in sorted(found))


def named_tables(known: Declared, links: Links) -> tuple[str, ...]:
    """The tables that a definition reads, as they are written."""
    return tuple(
        dict.fromkeys([known.source, *(link.to for _, _, link in used_links(known, links))])
    )


def _paths(known: Declared) -> Iterator[str]:
    yield from known.expand
    yield from (path for path, _ in known.flatten)
    yield from (path for _, path in known.select)
    yield from (group.path for group in known.group_by or ())
    yield from (item.path for item in known.compute)
    yield from (item.by for item in known.compute if item.by)
    yield from [known.unnest] if known.unnest else []
    yield from _of_filter(known.filter or {})


def _of_filter(conditions: Mapping[str, Any]) -> Iterator[str]:
    for key, wanted in conditions.items():
        if key in ("$and", "$or"):
            for item in wanted:
                yield from _of_filter(item)
        elif key == "$not":
            yield from _of_filter(wanted)
        else:
            yield key
