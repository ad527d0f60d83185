"""The steps that a refresh is made of."""

from __future__ import annotations

from dataclasses import dataclass

from grebe.compiler.nodes import Node
from grebe.sql_text import made

COPIES = made("copies")
"""The column of rows to merge that says how many stored rows each must match."""


@dataclass(frozen=True, slots=True)
class Compute:
    """A relation that later steps read by its name."""

    name: str
    node: Node


@dataclass(frozen=True, slots=True)
class Check:
    """A query that must give no row; otherwise stored rows contradict the change."""

    name: str
    node: Node
    message: str


@dataclass(frozen=True, slots=True)
class Merge:
    """Rows with `ACTION` and `COPIES`, matched null-safely on ``on``; all rows match on ()."""

    node: Node
    on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """Rows to add."""

    node: Node


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Rows that become the whole content."""

    node: Node


Write = Append | Merge | Overwrite
Step = Compute | Check | Append | Merge | Overwrite
