"""Which view reads which, as the tree that people look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Parents = Mapping[str, Sequence[str]]
"""The views that each view reads."""


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
