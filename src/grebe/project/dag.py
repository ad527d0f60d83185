"""The graph of views in the forms that people and programs read: tree, dot, mermaid, JSON, SVG."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from grebe.project.dag_picture import draw
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

    def tree(self, say: Callable[[str], str] = str, shown: Callable[[str], str] = str) -> str:
        """Every view below what it reads first.

        Args:
            say: how a name is said.
            shown: how a state is said.
        """
        lines: list[str] = []
        for level, names in enumerate(levels(self.parents)):
            for name in names:
                read = [say(item) for item in (*self.parents[name], *self.sources.get(name, ()))]
                state = f"  [{shown(self.states[name])}]" if name in self.states else ""
                lines.append(f"{'  ' * level}{say(name)}{state}  <- {', '.join(read) or 'nothing'}")
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

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """The graph as text and as a picture, for a notebook; it never fails."""
        try:
            return {"text/plain": self.tree(), "image/svg+xml": self.svg()}
        except Exception as error:  # a repr that raises would hide the cell's own result
            return {"text/plain": f"Dag: {error}"}

    def svg(self) -> str:
        """The graph as a picture, without any program to draw it; colours say states, words too."""
        columns = [self._tables(), *levels(self.parents)]
        return draw(columns, self._edges(), self.states, set(self.parents))

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


FORMS: Mapping[str, Callable[[Dag], str]] = {
    "tree": Dag.tree,
    "dot": Dag.dot,
    "mermaid": Dag.mermaid,
    "svg": Dag.svg,
    "json": lambda dag: json.dumps(dag.to_dict(), indent=2),
}
