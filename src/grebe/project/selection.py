"""Which views a person means: names, globs, tags, and `+` for what is above or below.

>>> graph = {"m.a": (), "m.b": ("m.a",), "m.c": ("m.b",)}
>>> sorted(select("+m.b", graph, {}))
['m.a', 'm.b']
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from grebe.errors import UnknownTableError, did_you_mean
from grebe.view_graph import descendants, with_parents

Parents = Mapping[str, Collection[str]]
Selection = str | Sequence[str] | None
"""A text of items, or the items themselves; nothing means all views."""

_ITEM = re.compile(r"(?:`(?:[^`]|``)*`|[^\s,])+")
_QUOTED = re.compile(r"`((?:[^`]|``)*)`")


def select(
    selection: Selection,
    parents: Parents,
    tags: Mapping[str, Collection[str]],
    default: tuple[str, str] | None = None,
) -> set[str]:
    """The views that a selection means; nothing or "*" means all.

    Args:
        selection: items with spaces or commas between them: `sales.daily`, `+x`, `x+`,
            `tag:hourly`, `sales.*`; a name that holds such itself stands in backquotes, or alone.
        parents: for every view, the views that it reads.
        tags: for every view, its tags.
        default: catalog and schema that complete a short name.

    Raises:
        UnknownTableError: an item that means no view.
    """
    texts = [selection] if isinstance(selection, str) else selection or ()
    items = [item for text in texts for item in _items(text, parents, default)]
    if not items:
        return set(parents)
    chosen: set[str] = set()
    for item in items:
        known = exact_name(item, parents, default)
        chosen |= {known} if known else _one(item, parents, tags, default)
    return chosen


def _items(text: str, parents: Parents, default: tuple[str, str] | None) -> Iterator[str]:
    if exact_name(text, parents, default):
        yield text
    else:
        yield from _ITEM.findall(text)


def _one(
    item: str,
    parents: Parents,
    tags: Mapping[str, Collection[str]],
    default: tuple[str, str] | None,
) -> set[str]:
    above, below = item.startswith("+"), item.endswith("+")
    core = item.removeprefix("+").removesuffix("+")
    if core.startswith("tag:"):
        tag = core.removeprefix("tag:")
        found = {name for name in parents if tag in tags.get(name, ())}
        known = sorted({tag for items in tags.values() for tag in items})
    else:
        found = _named(core, parents, default)
        known = sorted(parents)
    if not found:
        hint = did_you_mean(core, known) or did_you_mean(core, [_short(name) for name in known])
        raise UnknownTableError(
            f'"{item}" selects no view',
            detail=f"known: {', '.join(known) or 'none'}",
            hint=hint or "`grebe status` lists the views",
        )
    chosen = set(found)
    if above:
        chosen |= with_parents(found, parents)
    if below:
        for name in found:
            chosen |= descendants(name, parents)
    return chosen


def _named(core: str, parents: Parents, default: tuple[str, str] | None) -> set[str]:
    for text in _spellings(core, default):
        found = {text} & parents.keys() or {name for name in parents if fnmatchcase(name, text)}
        if found:
            return found
    return set()


def exact_name(core: str, parents: Collection[str], default: tuple[str, str] | None) -> str | None:
    """The view that a text names, whatever signs are in it."""
    return next((text for text in _spellings(core, default) if text in parents), None)


def _spellings(core: str, default: tuple[str, str] | None) -> list[str]:
    """What a name may be in full."""
    plain = _QUOTED.sub(lambda found: found[1].replace("``", "`"), core)
    short = [core, plain] if plain != core else [plain]
    if default is None:
        return short
    catalog, schema = default
    return short + [
        f"{above}.{name}" for above in (catalog, f"{catalog}.{schema}") for name in short
    ]


def _short(name: str) -> str:
    return name.partition(".")[2]
