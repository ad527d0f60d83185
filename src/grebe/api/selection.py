"""Which views a person means: names, globs, tags, and `+` for what is above or below.

>>> graph = {"m.a": (), "m.b": ("m.a",), "m.c": ("m.b",)}
>>> sorted(select("+m.b", graph, {}))
['m.a', 'm.b']
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from grebe.engine.graph import descendants, with_parents
from grebe.errors import UnknownTableError, did_you_mean

Parents = Mapping[str, Collection[str]]


def select(
    text: str | None,
    parents: Parents,
    tags: Mapping[str, Collection[str]],
    default: tuple[str, str] | None = None,
) -> set[str]:
    """The views that a selection means; nothing or "*" means all.

    Args:
        text: items with spaces or commas between them: `sales.daily`, `+x`, `x+`, `tag:hourly`,
            `sales.*`.
        parents: for every view, the views that it reads.
        tags: for every view, its tags.
        default: catalog and schema that complete a short name.

    Raises:
        UnknownTableError: an item that means no view.
    """
    items = (text or "").replace(",", " ").split()
    if not items:
        return set(parents)
    chosen: set[str] = set()
    for item in items:
        chosen |= _one(item, parents, tags, default)
    return chosen


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
    plain = core.replace("`", "")
    tries = [plain]
    if default:
        catalog, schema = default
        tries += [f"{catalog}.{plain}", f"{catalog}.{schema}.{plain}"]
    for text in tries:
        exact = {name for name in parents if name == text}
        found = exact or {name for name in parents if fnmatchcase(name, text)}
        if found:
            return found
    return set()


def _short(name: str) -> str:
    return name.partition(".")[2]
