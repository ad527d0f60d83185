"""Which view reads which: levels that can run side by side, and the tree that people look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grebe.errors import CycleError

Parents = Mapping[str, Sequence[str]]
"""The views that each view reads."""


def levels(parents: Parents) -> list[list[str]]:
    """Views in an order in which every one comes after what it reads.

    >>> levels({"c": ["a", "b"], "b": ["a"], "a": [], "d": []})
    [['a', 'd'], ['b'], ['c']]

    Raises:
        CycleError: when views read each other in a circle.
    """
    left = {name: set(reads) for name, reads in parents.items()}
    found: list[list[str]] = []
    while left:
        ready = sorted(name for name, reads in left.items() if not reads & set(left))
        if not ready:
            raise CycleError(f"views read each other in a circle: {' -> '.join(_circle(left))}")
        found.append(ready)
        left = {name: reads for name, reads in left.items() if name not in ready}
    return found


def _circle(left: Mapping[str, set[str]]) -> list[str]:
    path = [min(left)]
    while path.count(path[-1]) < 2:
        path.append(min(left[path[-1]] & set(left)))
    return path[path.index(path[-1]) :]


def tree(parents: Parents, sources: Mapping[str, Sequence[str]]) -> str:
    """Every view that no other view reads, with what it reads below it."""
    read = {parent for reads in parents.values() for parent in reads}
    lines: list[str] = []
    for name in sorted(set(parents) - read):
        _branch(name, 0, parents, sources, lines)
    return "\n".join(lines)


def _branch(
    name: str,
    depth: int,
    parents: Parents,
    sources: Mapping[str, Sequence[str]],
    lines: list[str],
) -> None:
    lines.append(f"{'  ' * depth}{name}")
    for below in (*sorted(parents.get(name, ())), *sorted(sources.get(name, ()))):
        _branch(below, depth + 1, parents, sources, lines)
