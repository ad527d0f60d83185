"""How tables belong together, declared once for a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """A named way from a row to rows of another table: where ``column`` equals its ``key``."""

    to: str
    column: str
    key: str
    many: bool = False
    """There may be several rows at the other end."""


Links = Mapping[str, Mapping[str, Link]]
"""For a table (or `table.array` for the elements of an array column), its links by name."""
