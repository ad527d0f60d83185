"""The graph of views: who reads whom, in which order, and what follows from a failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grebe.errors import CycleError


def levels(parents: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The views in levels: each reads only views of earlier levels; in a level by name.

    Raises:
        CycleError: views read each other in a circle; the message shows the path.
    """
    waiting = {name: {p for p in above if p in parents} for name, above in parents.items()}
    ordered: list[list[str]] = []
    while waiting:
        ready = sorted(name for name, above in waiting.items() if not above)
        if not ready:
            path = " -> ".join(_circle(waiting))
            raise CycleError(
                f"views read each other in a circle: {path}", hint="let one of them read a table"
            )
        ordered.append(ready)
        for name in ready:
            del waiting[name]
        for above in waiting.values():
            above.difference_update(ready)
    return ordered


def _circle(waiting: Mapping[str, set[str]]) -> list[str]:
    path = [min(waiting)]
    while path[-1] not in path[:-1]:
        path.append(min(waiting[path[-1]]))
    return path[path.index(path[-1]) :]


def with_parents(chosen: Iterable[str], parents: Mapping[str, Iterable[str]]) -> set[str]:
    """The chosen views and everything they read, directly or not."""
    found: set[str] = set()
    stack = list(chosen)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(parents.get(name, ()))
    return found


def descendants(name: str, parents: Mapping[str, Iterable[str]]) -> set[str]:
    """The views that read a view, directly or not."""
    found: set[str] = set()
    grown = True
    while grown:
        more = {
            child
            for child, above in parents.items()
            if child not in found and any(p == name or p in found for p in above)
        }
        found |= more
        grown = bool(more)
    return found
