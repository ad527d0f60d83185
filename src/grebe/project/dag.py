"""The graph of views in the forms that people and programs read: tree, dot, mermaid, JSON, SVG."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from grebe.project.freshness import standings
from grebe.project.selection import Selection
from grebe.view_graph import levels

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Dag:
    """Views, what each reads, and where each stands."""

    parents: Mapping[str, Sequence[str]]
    sources: Mapping[str, Sequence[str]]
    """Tables that are no views."""
    states: Mapping[str, str]

    def __str__(self) -> str:
        return self.tree()

    def tree(self) -> str:
        """Every view below what it reads first."""
        lines: list[str] = []
        for level, names in enumerate(levels(self.parents)):
            for name in names:
                read = [*self.parents[name], *self.sources.get(name, ())]
                state = f"  [{self.states[name]}]" if name in self.states else ""
                lines.append(f"{'  ' * level}{name}{state}  <- {', '.join(read) or 'nothing'}")
        return "\n".join(lines) or "no views"

    def dot(self) -> str:
        """The graph for Graphviz."""
        lines = ["digraph grebe {", "  rankdir=LR;", "  node [shape=box];"]
        lines += [f"  {_dot(table)} [style=dashed];" for table in self._tables()]
        lines += [f"  {_dot(name)};" for name in sorted(self.parents)]
        lines += [f"  {_dot(above)} -> {_dot(below)};" for above, below in self._edges()]
        return "\n".join([*lines, "}"])

    def mermaid(self) -> str:
        """The graph for Markdown."""
        names = [*self._tables(), *sorted(self.parents)]
        numbers = {name: f"n{place}" for place, name in enumerate(names)}
        lines = ["graph LR"]
        lines += [f'  {numbers[name]}["{escape(name)}"]' for name in names]
        lines += [f"  {numbers[above]} --> {numbers[below]}" for above, below in self._edges()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "views": [
                {
                    "name": name,
                    "state": self.states.get(name),
                    "parents": list(self.parents[name]),
                    "sources": list(self.sources.get(name, ())),
                }
                for name in sorted(self.parents)
            ]
        }

    def text(self, form: str) -> str:
        """The graph in one of `FORMS`."""
        return FORMS[form](self)

    def _repr_svg_(self) -> str:
        """The graph as a picture, for a notebook; without any program to draw it."""
        columns = [self._tables(), *levels(self.parents)]
        spots = {
            name: (20 + 260 * x, 20 + 44 * y)
            for x, names in enumerate(columns)
            for y, name in enumerate(names)
        }
        boxes = "".join(_box(name, spots[name], name in self.parents) for name in spots)
        lines = "".join(_arrow(spots[above], spots[below]) for above, below in self._edges())
        width = 260 * len(columns)
        height = 44 * max([len(names) for names in columns], default=1) + 20
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' font-family="monospace" font-size="12">{lines}{boxes}</svg>'
        )

    def _tables(self) -> list[str]:
        return sorted({table for tables in self.sources.values() for table in tables})

    def _edges(self) -> list[tuple[str, str]]:
        return sorted(
            (above, name)
            for name in self.parents
            for above in [*self.parents[name], *self.sources.get(name, ())]
        )


def dag(workspace: Workspace, selection: Selection) -> Dag:
    """The graph of the chosen views; needs no Spark.

    Raises:
        CycleError: views read each other in a circle.
    """
    views = workspace.written()
    chosen = workspace.selected(views, selection)
    parents = {name: view.parents_among(views) for name, view in chosen.items()}
    levels({name: view.parents_among(views) for name, view in views.items()})
    sources = {
        name: [view.stream_source]
        if view.stream_source
        else [table for table in view.tables if table not in views]
        for name, view in chosen.items()
        if view.error is None
    }
    stands = standings(views, workspace.heads())
    inside = {name: [p for p in above if p in chosen] for name, above in parents.items()}
    return Dag(inside, sources, {name: str(stands[name].state) for name in chosen})


def _dot(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _box(name: str, spot: tuple[int, int], is_view: bool) -> str:
    x, y = spot
    dashes = "" if is_view else ' stroke-dasharray="4"'
    return (
        f'<rect x="{x}" y="{y}" width="220" height="28" fill="white" stroke="black"{dashes}/>'
        f'<text x="{x + 8}" y="{y + 18}">{escape(name)}</text>'
    )


def _arrow(above: tuple[int, int], below: tuple[int, int]) -> str:
    return (
        f'<line x1="{above[0] + 220}" y1="{above[1] + 14}" x2="{below[0]}" y2="{below[1] + 14}"'
        ' stroke="grey"/>'
    )


FORMS: Mapping[str, Callable[[Dag], str]] = {
    "tree": Dag.tree,
    "dot": Dag.dot,
    "mermaid": Dag.mermaid,
    "json": lambda dag: json.dumps(dag.to_dict(), indent=2),
}
