"""The steps that a refresh is made of."""

from __future__ import annotations

from dataclasses import dataclass

from grebe.compiler.algebra.nodes import Node
from grebe.sql_text import made

COPIES = made("copies")
"""The column of rows to merge that says how many stored rows each must match."""


@dataclass(frozen=True, slots=True)
class Compute:
    """A relation that later steps read by its name."""

    name: str
    node: Node


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


@dataclass(frozen=True, slots=True)
class AppendStep:
    """Rows to add."""

    node: Node


@dataclass(frozen=True, slots=True)
class OverwriteStep:
    """Rows that become the whole content."""

    node: Node


Write = AppendStep | MergeStep | OverwriteStep
Step = Compute | CheckStep | AppendStep | MergeStep | OverwriteStep
