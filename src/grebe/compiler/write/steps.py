"""The steps that a refresh is made of."""

from __future__ import annotations

from dataclasses import dataclass

from grebe.compiler.algebra.nodes import At, Named, Node
from grebe.sql_text import made

COPIES = made("copies")
"""The column of rows to merge that says how many stored rows each must match."""


@dataclass(frozen=True, slots=True)
class Compute:
    """A relation that later steps read by its name."""

    name: str
    node: Node


@dataclass(frozen=True, slots=True)
class ReadBoth:
    """Rows of both versions from one read: later steps know the two by `side`.

    The rows of ``node`` have a side and a weight: 0 are those of the new version, 1 what changed.
    """

    name: str
    node: Node
    columns: tuple[str, ...]

    def side(self, at: At) -> Named:
        """The rows of one version."""
        return Named(f"{self.name}_{at}", self.columns)


@dataclass(frozen=True, slots=True)
class CheckStep:
    """A query that must give no row; otherwise stored rows contradict the change."""

    name: str
    node: Node
    message: str


@dataclass(frozen=True, slots=True)
class MergeStep:
    """Rows with `ACTION` and `COPIES`, matched null-safely on ``on``; all rows match on ()."""

    node: Node
    on: tuple[str, ...]
    signed: tuple[str, ...] = ()
    """Those of ``on`` whose values must not only be equal, but the same (`signed_zeros`)."""


@dataclass(frozen=True, slots=True)
class AppendStep:
    """Rows to add."""

    node: Node


@dataclass(frozen=True, slots=True)
class OverwriteStep:
    """Rows that become the whole content."""

    node: Node


Write = AppendStep | MergeStep | OverwriteStep
Step = Compute | ReadBoth | CheckStep | AppendStep | MergeStep | OverwriteStep


@dataclass(frozen=True, slots=True)
class Shape:
    """What is stored: a definition whose columns are the storage table's, some of them hidden."""

    node: Node
    hidden: tuple[str, ...]
    scope: tuple[str, ...] = ()
    """The columns by which stored rows are found again: group keys or replaced keys."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.node.columns
