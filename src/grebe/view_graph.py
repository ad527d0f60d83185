"""The graph of views: who reads whom, in which order, and what follows from a failure."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter

from grebe.errors import CycleError


def levels(parents: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The views in levels: each reads only views of earlier levels; in a level by name.

    >>> levels({"c": ["a", "b"], "b": ["a"], "a": [], "d": []})
    [['a', 'd'], ['b'], ['c']]

    Raises:
        CycleError: views read each other in a circle; the message shows the path.
    """
    sorter = TopologicalSorter(
        {name: [p for p in above if p in parents] for name, above in parents.items()}
    )
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        path = " -> ".join(_from_least(error.args[1]))
        raise CycleError(
            f"views read each other in a circle: {path}", hint="let one of them read a table"
        ) from None
    ordered: list[list[str]] = []
    while sorter.is_active():
        ordered.append(sorted(sorter.get_ready()))
        sorter.done(*ordered[-1])
    return ordered


def _from_least(circle: Sequence[str]) -> list[str]:
    """A circle, of which each is read by the next, from its first by name: each reads the next.

    >>> _from_least(["c", "b", "a", "c"])
    ['a', 'b', 'c', 'a']
    """
    names = list(reversed(circle))[1:]
    first = names.index(min(names))
    return [*names[first:], *names[:first], names[first]]


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
